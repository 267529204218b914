"""The limit before compression that gives sent batches of the wanted size."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.writing.batch_limit import BatchLimit
from kafka_protocol.columnar.writing.encode import (
    EncodedBatch,
    RecordColumns,
    SizeLimits,
    encode_batches,
)
from kafka_protocol.records.compression import CompressionCodec

WANTED = 20_000
MAX = 1_000_000


def batch(sent_bytes: int, estimated_bytes: int) -> EncodedBatch:
    return EncodedBatch(bytes(sent_bytes), 1, estimated_bytes)


def records(count: int, noise_bytes: int, same_bytes: int) -> RecordColumns:
    chance = random.Random(1)
    values = [chance.randbytes(noise_bytes) + bytes(same_bytes) for _ in range(count)]
    return RecordColumns(pa.nulls(count, pa.binary()), pa.array(values), np.zeros(count, np.int64))


def test_initial_limit_is_the_wanted_size() -> None:
    assert BatchLimit(WANTED, MAX).sizes == SizeLimits(WANTED, MAX)


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [CompressionCodec.NONE, CompressionCodec.LZ4])
def test_sent_batches_are_close_to_the_wanted_size(codec: CompressionCodec, magic: int) -> None:
    limit = BatchLimit(WANTED, MAX)
    rows = records(5_000, noise_bytes=20, same_bytes=60)
    for _ in range(10):
        sizes = []
        for encoded in encode_batches(rows, codec, limit.sizes.estimated_bytes, magic=magic):
            assert encoded.sent_bytes == len(encoded.data)
            sizes.append(encoded.sent_bytes)
            limit.note(encoded)
    assert all(0.85 * WANTED < size < 1.1 * WANTED for size in sizes[:-1])


@given(st.lists(st.tuples(st.integers(1, 2 * MAX), st.integers(1, 2 * MAX))))
def test_the_limit_is_at_least_the_wanted_size(pairs: list[tuple[int, int]]) -> None:
    limit = BatchLimit(WANTED, MAX)
    for pair in pairs:
        limit.note(batch(*pair))
        assert WANTED <= limit.sizes.estimated_bytes <= 4 * MAX
        assert limit.sizes.sent_bytes == MAX


def test_a_wanted_size_above_the_brokers_limit_is_kept() -> None:
    limit = BatchLimit(8_000_000, 16_000_000)
    limit.note(batch(1, 1_000))
    assert limit.sizes == SizeLimits(8_000_000, 8_000_000)


def test_requests_may_be_smaller_than_the_brokers_limit() -> None:
    assert BatchLimit(1_000, 2_000).sizes == SizeLimits(1_000, 2_000)


def test_the_limit_falls_at_once_and_grows_by_steps() -> None:
    limit = BatchLimit(WANTED, MAX)
    grown = []
    for _ in range(18):
        before = limit.sizes.estimated_bytes
        limit.note(batch(before // 10, before))
        grown.append(limit.sizes.estimated_bytes)
    assert grown == sorted(grown)
    assert grown[0] < 1.1 * WANTED
    assert grown[-1] > 9 * WANTED
    limit.note(batch(WANTED, WANTED))
    assert limit.sizes.estimated_bytes == WANTED


def test_small_batches_do_not_count() -> None:
    limit = BatchLimit(WANTED, MAX)
    limit.note(batch(WANTED // 2, WANTED))
    before = limit.sizes
    limit.note(batch(WANTED // 2 - 1, WANTED // 2 - 1))
    assert limit.sizes == before


def test_batches_of_the_default_size_may_be_larger_before_compression() -> None:
    limit = BatchLimit(MAX, 16_000_000)
    rows = records(30_000, noise_bytes=50, same_bytes=450)
    for _ in range(3):
        encoded = [*encode_batches(rows, CompressionCodec.LZ4, limit.sizes.estimated_bytes)]
        for each in encoded:
            limit.note(each)
    assert all(each.estimated_bytes > 3 * MAX for each in encoded[:-1])
    assert all(each.sent_bytes <= MAX for each in encoded)
