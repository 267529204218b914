"""Both ways to read payloads: many at once, and one by one."""

from __future__ import annotations

import pytest

from kafka_formats.protobuf import decoder as protobuf_decoder


@pytest.fixture(params=[0, protobuf_decoder._MANY], ids=["at once", "one by one"])
def many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of payloads decides; tests of few of them could not choose otherwise."""
    monkeypatch.setattr(protobuf_decoder, "_MANY", request.param)
