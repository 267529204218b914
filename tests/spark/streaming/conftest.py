"""Fixtures for the tests of streams: shorter times."""

from __future__ import annotations

import pytest

from kafka_spark_source.streaming import logs as stream_logs


@pytest.fixture(autouse=True)
def _recreated_topics_are_accepted_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another topic id is accepted after 100 ms; normally after a second."""
    monkeypatch.setattr(stream_logs, "_RECREATED_AFTER_MS", 100)
