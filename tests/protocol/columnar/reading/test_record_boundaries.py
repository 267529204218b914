"""Record boundaries: the table and the runs give the same ends as the sizes of the records."""

from __future__ import annotations

from array import array
from itertools import accumulate, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.reading import record_boundaries
from kafka_protocol.columnar.reading.record_boundaries import append_record_boundaries
from kafka_protocol.errors import DecodeError
from kafka_protocol.wire import primitives
from kafka_protocol.wire.primitives import Out


def record(size: int) -> bytes:
    out: Out = []
    primitives.write_varint(out, size)
    return bytes(out[0]) + bytes([0xFF]) * size


def boundaries_of(data: bytes, pos: int, stop: int, count: int) -> list[int]:
    ends = array("q")
    append_record_boundaries(data, pos, stop, count, ends)
    return ends.tolist()


def test_the_table_has_all_lengths_of_one_or_two_bytes() -> None:
    table = record_boundaries._steps.__wrapped__()  # a test before may have filled the cache
    for first, second in product(range(256), repeat=2):
        try:
            length, size = primitives.read_varint(memoryview(bytes([first, second])), 0)
        except DecodeError:
            length, size = -1, 0  # it has more bytes
        assert table[first][second] == (size + length if length >= 0 else 0)


# Runs of equal lengths, also around the sizes where the length field gets one byte more.
SIZE = st.sampled_from([1, 6, 62, 63, 64, 65, 100, 8190, 8191, 8192, 8193, 20_000])
RUN = st.tuples(SIZE, st.sampled_from([1, 1, 2, 3, 63, 64, 65, 66, 255, 256, 257]))


@given(runs=st.lists(RUN, min_size=1, max_size=6), before=st.integers(0, 3))
def test_equals_the_sizes(runs: list[tuple[int, int]], before: int) -> None:
    records = [record(size) for size, count in runs for _ in range(count)]
    data = b"\x02" * before + b"".join(records) + b"\x02" * before
    stop = len(data) - before
    expected = [*accumulate(map(len, records), initial=before)][1:]
    assert boundaries_of(data, before, stop, len(records)) == expected


@pytest.mark.parametrize("count", [8191, 8192, 8193, 20_000])
def test_long_runs(count: int) -> None:
    data = record(70) * count + record(71)
    ends = boundaries_of(data, 0, len(data), count + 1)
    assert ends == [*range(72, 72 * count + 1, 72), len(data)]


@pytest.mark.parametrize("size", [8_192, 2**20 - 1, 2**20])
def test_large_records(size: int) -> None:
    data = record(size) * 3 + record(5)
    each = len(record(size))
    assert boundaries_of(data, 0, len(data), 4) == [each, 2 * each, 3 * each, len(data)]


def test_length_with_more_bytes_than_needed() -> None:
    data = b"\x82\x00x" + b"\x82\x80\x00x" + b"\x02x"
    assert boundaries_of(data, 0, len(data), 3) == [3, 7, 9]


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (record(5) * 3, 2),  # one record too many
        (record(5) * 3, 4),  # one record too few
        (record(70) * 300, 299),
        (record(70) * 300, 301),
        (record(5) + b"\x0b" + bytes(9), 3),  # a negative length
        (b"\x0b" + bytes(9), 1),
        (record(5) + b"\xff\xff\xff\xff\x0f" + bytes(9), 3),
        (record(5) + b"\xff\xff\xff\xff\xff\x0f" + bytes(9), 3),  # an endless length
        (record(5) + b"\x80", 2),  # a truncated length
        (record(5)[:-1], 1),
        (record(9_000) * 2 + record(9_000)[:-1], 3),
        (record(9_000) * 2, 3),
        (record(9_000) + b"\x81\x80\x01" + bytes(9), 2),  # a negative length
        (record(70) * 200 + record(70)[:-1], 201),
        (b"", 1),
    ],
)
def test_fault_32_lengths_that_do_not_match_the_batch(data: bytes, count: int) -> None:
    for next_batch in (b"", record(5) * 400):
        with pytest.raises(DecodeError):
            boundaries_of(data + next_batch, 0, len(data), count)


@given(data=st.binary(max_size=100), count=st.integers(1, 12))
def test_fault_32_garbage_gives_valid_ends_or_an_error(data: bytes, count: int) -> None:
    try:
        ends = boundaries_of(data + b"\x04\x04\x04", 0, len(data), count)
    except DecodeError:
        return
    assert len(ends) == count
    assert ends == sorted(set(ends))
    assert ends[-1] == len(data)
