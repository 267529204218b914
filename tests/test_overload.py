"""Which errors of Spark come from a busy machine."""

from __future__ import annotations

from tests.overload import is_overload


def test_an_overload_is_told_from_other_errors() -> None:
    assert is_overload("terminated with exception: Python worker failed to connect back. SQL")
    assert not is_overload("KafkaError: partition t-0 has no leader")
