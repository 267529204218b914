"""Faults of delivery are found and named."""

from __future__ import annotations

import pytest

from tests.endurance.soak.delivery import faults_of, written
from tests.stream_records import Record


def test_what_was_written_is_in_the_order_of_offsets() -> None:
    records = [Record("t", 0, 10, "c"), Record("t", 0, 9, "b"), Record("t", 1, 0, "a")]
    assert written(records) == {0: ["b", "c"], 1: ["a"], 2: []}


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (["a", "b"], None),
        (["a"], "1 missing at the end, as 'b'"),
        (["b"], "1 lost, as 'a'"),
        (["a", "b", "b"], "1 twice, as 'b'"),
        (["a", "b", "x"], "1 unknown, as 'x'"),
    ],
)
def test_faults(found: list[str], fault: str | None) -> None:
    expected = [] if fault is None else [f"copy, partition 0: {fault}"]
    assert faults_of("copy", {0: found}, {0: ["a", "b"]}) == expected
