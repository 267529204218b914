"""Batches that are as large as asked for when they are sent, whatever compression makes of them."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.batch_limit import BatchLimit
from kafka_protocol.columnar.encode import EncodedBatch, RecordColumns, encode_batches
from kafka_protocol.records.compression import CompressionCodec

ASKED = 20_000
MOST = 1_000_000


def batch(sent_bytes: int, most_bytes: int) -> EncodedBatch:
    return EncodedBatch(bytes(sent_bytes), 1, most_bytes)


def records(count: int, noise_bytes: int, same_bytes: int) -> RecordColumns:
    chance = random.Random(1)
    values = [chance.randbytes(noise_bytes) + bytes(same_bytes) for _ in range(count)]
    return RecordColumns(pa.nulls(count, pa.binary()), pa.array(values), np.zeros(count, np.int64))


def test_before_anything_is_known_it_is_the_size_itself() -> None:
    assert BatchLimit(ASKED, MOST).bytes == ASKED


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [CompressionCodec.NONE, CompressionCodec.LZ4])
def test_batches_come_near_to_the_size(codec: CompressionCodec, magic: int) -> None:
    limit = BatchLimit(ASKED, MOST)
    rows = records(5_000, noise_bytes=20, same_bytes=60)
    for _ in range(10):
        sizes = []
        for encoded in encode_batches(rows, codec, limit.bytes, magic=magic):
            assert encoded.sent_bytes == len(encoded.data)
            sizes.append(encoded.sent_bytes)
            limit.note(encoded)
    assert all(0.85 * ASKED < size < 1.1 * ASKED for size in sizes[:-1])


@given(st.lists(st.tuples(st.integers(1, 2 * MOST), st.integers(1, 2 * MOST))))
def test_it_is_never_below_the_size_nor_above_what_may_be(pairs: list[tuple[int, int]]) -> None:
    limit = BatchLimit(ASKED, MOST)
    for pair in pairs:
        limit.note(batch(*pair))
        assert ASKED <= limit.bytes <= MOST


def test_a_size_above_what_brokers_take_stays_as_it_is() -> None:
    limit = BatchLimit(3_000_000, 16_000_000)
    limit.note(batch(1, 1_000))
    assert limit.bytes == 3_000_000


def test_it_gets_smaller_at_once_and_larger_by_steps() -> None:
    limit = BatchLimit(ASKED, MOST)
    grown = []
    for _ in range(18):
        limit.note(batch(limit.bytes // 10, limit.bytes))
        grown.append(limit.bytes)
    assert grown == sorted(grown)
    assert grown[0] < 1.1 * ASKED
    assert grown[-1] > 9 * ASKED
    limit.note(batch(limit.bytes, limit.bytes))
    assert limit.bytes == ASKED


def test_a_small_rest_says_nothing() -> None:
    limit = BatchLimit(ASKED, MOST)
    limit.note(batch(ASKED // 2, ASKED))
    before = limit.bytes
    limit.note(batch(100, 100))
    assert limit.bytes == before
