"""Shorter times for tests: new defaults of a client's configuration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_protocol.client.config.client import ClientConfig


def shorten(monkeypatch: pytest.MonkeyPatch, **times: int) -> None:
    """Change defaults of `Times`, until the test ends."""
    defaults = ClientConfig.__init__.__kwdefaults__ or {}
    monkeypatch.setitem(defaults, "times", replace(defaults["times"], **times))
