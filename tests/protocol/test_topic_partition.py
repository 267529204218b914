"""Bounds of a log, from what ListOffsets returned."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafka_protocol.topic_partition import LogBounds


@pytest.mark.parametrize(
    ("earliest", "offsets", "bounds"),
    [
        pytest.param(5, [10], (5, 10), id="a log"),
        pytest.param(5, [5, 10, -1], (5, 10), id="no record of a time"),
        pytest.param(5, [10, 11], (5, 11), id="grew after its end was listed"),
        pytest.param(9, [7], (9, 9), id="lost its records after its end was listed"),
        pytest.param(0, [], (0, 0), id="nothing but its start"),
    ],
)
def test_the_largest_offset_is_the_end(
    earliest: int, offsets: Sequence[int], bounds: tuple[int, int]
) -> None:
    assert LogBounds.of(earliest, offsets) == bounds
