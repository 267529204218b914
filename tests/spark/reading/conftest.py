"""Fixtures of the tests of tasks that read."""

from __future__ import annotations

import pytest

from kafka_protocol.columnar.decode import decode_batches
from tests.fakes import batch_reading


@pytest.fixture(params=[False, True], ids=["alone", "in a group"])
def alone_and_in_a_group(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether tasks read another topic beside t."""
    monkeypatch.setattr(batch_reading, "is_grouped", request.param)
    # Rows are yielded as they come, as they are from a single range.
    monkeypatch.setitem(decode_batches.__kwdefaults__ or {}, "target_bytes", 1)
