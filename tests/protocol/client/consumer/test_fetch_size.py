"""How many bytes Fetches request: enough, and not much more than the range has."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.fetch_request import OVERHEAD_BYTES
from kafka_protocol.client.consumer.fetch_size import FetchSize
from kafka_protocol.records.batch import BatchHeader, RecordBatch, read_batches
from kafka_protocol.records.fetch_response import TakenBatches
from tests.fakes.log import batch_of

MARGIN = 65_536
MEBIBYTE = 1024 * 1024
LIMIT = 8 * MEBIBYTE
(BATCH,) = read_batches(memoryview(batch_of(b"a")))
HEADER = cast("BatchHeader", BATCH.header)


def new_size(**config: Any) -> FetchSize:
    return FetchSize(ClientConfig(**config))


def taken(position: int, size: int, begin: int, batches: int = 1) -> TakenBatches:
    """So many batches, of which the first one begins at an offset."""
    first = RecordBatch(HEADER._replace(base_offset=begin), memoryview(b""))
    return TakenBatches([first] * batches, position, 0, is_empty=False, size=size)


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        (1, 1024 + MARGIN),
        (100, 102_400 + MARGIN),
        (10_000, MEBIBYTE + MARGIN),
        (2**62, MEBIBYTE + MARGIN),
    ],
)
def test_the_first_fetch_is_small(offsets: int, expected: int) -> None:
    assert new_size().for_offsets(offsets) == expected


def test_the_next_ones_are_for_the_rest() -> None:
    size = new_size()
    size.note(taken(110, 20_000, 10, batches=10), 10)
    assert repr(size) == "<FetchSize: 20,000 bytes in 100 offsets>"
    assert [size.for_offsets(offsets) for offsets in (1, 1_000, 2**62)] == [
        220 + MARGIN,
        220_000 + MARGIN,
        LIMIT,
    ]


def test_limits() -> None:
    assert new_size(max_partition_fetch_bytes=1_000).for_offsets(10) == 1_000
    size = new_size(max_response_bytes=5_000)
    assert size.for_offsets(10) == size.most == 5_000 - OVERHEAD_BYTES
    assert new_size(max_response_bytes=OVERHEAD_BYTES).for_offsets(10) == 1


def test_enlarged() -> None:
    size = new_size(max_partition_fetch_bytes=1_000, max_response_bytes=2_500 + OVERHEAD_BYTES)
    size.enlarge(size.for_offsets(10))
    assert size.for_offsets(10) == 2_000
    size.enlarge(size.for_offsets(10))
    assert size.for_offsets(10) == size.most == 2_500


def test_a_margin_of_one_batch() -> None:
    """The limit of a partition that is not the first of a response applies to its first batch."""
    size = new_size()
    size.note(taken(100_000, 2 * 500_000, 0, batches=2), 0)
    assert size.for_offsets(0) == 500_000
    # In the old formats all that has come counts as one batch.
    size.note(taken(200_000, 4 * MEBIBYTE, 100_000), 100_000)
    assert size.for_offsets(0) == MEBIBYTE


def test_a_range_that_begins_within_a_batch() -> None:
    size = new_size()
    size.note(taken(1_000, 10_000, 0), 990)
    assert size.for_offsets(100) == 1_100 + MARGIN


def test_hidden_batches_alone() -> None:
    size = new_size()
    size.note(taken(2_000, 1_000_000, 0, batches=0), 1_000)
    assert size.for_offsets(10) == 11_000 + MARGIN


@given(
    batch_bytes=st.integers(100, 2 * MEBIBYTE),
    batch_offsets=st.integers(1, 5_000),
    start=st.integers(0, 10_000),
    offsets=st.integers(1, 1_000_000),
)
def test_ranges_of_even_batches(
    batch_bytes: int, batch_offsets: int, start: int, offsets: int
) -> None:
    """With few Fetches, and without many bytes behind the range."""
    size, position, until = new_size(), start, start + offsets
    behind = -(-until // batch_offsets)  # the first batch behind the range
    of_range = (behind - start // batch_offsets) * batch_bytes
    fetches = 0
    while position < until:
        limit = size.for_offsets(until - position)
        assert 1 <= limit <= LIMIT
        fetches += 1
        first = position // batch_offsets
        count = min(max(1, limit // batch_bytes), behind - first)
        begin, end = first * batch_offsets, (first + count) * batch_offsets
        size.note(taken(end, count * batch_bytes, begin, count), position)
        position = end
    assert limit - count * batch_bytes <= 0.1 * of_range + MEBIBYTE + MARGIN
    assert fetches <= 3 + of_range / (LIMIT / 2)
