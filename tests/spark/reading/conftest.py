"""Fixtures of the tests of tasks that read."""

from __future__ import annotations

import pytest

from kafka_protocol.columnar.reading import decode


@pytest.fixture(params=[False, True], ids=["alone", "in a group"])
def beside(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether tasks read another topic beside t."""
    # Rows are yielded as they come, as they are from a single range.
    monkeypatch.setattr(decode, "target_bytes_of", lambda _fetch_bytes: 1)
    is_beside: bool = request.param
    return is_beside
