"""Parallel search for record boundaries: the same result as record by record, or None."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.reading.record_boundaries import append_record_boundaries
from kafka_protocol.columnar.reading.record_boundaries_parallel import find_record_boundaries
from kafka_protocol.errors import DecodeError
from kafka_protocol.wire import primitives
from kafka_protocol.wire.primitives import Out

BETWEEN = bytes(61)  # the header of the next batch


@cache
def record(size: int, filling: bytes) -> bytes:
    """A record of `size` bytes after its length; the first one is the attributes."""
    out: Out = []
    primitives.write_varint(out, size)
    return bytes(out[0]) + (b"\x00" + filling * (size // len(filling) + 1))[:size]


def check(batches: Sequence[Sequence[bytes]], between: bytes = BETWEEN) -> bool:
    """Whether there is a result, which must be the ends by the sizes of the records."""
    starts, stops, ends, pos = [], [], [], len(between)
    for batch in batches:
        starts.append(pos)
        ends += [*accumulate(map(len, batch), initial=pos)][1:]
        stops.append(ends[-1])
        pos = ends[-1] + len(between)
    data = between + between.join(map(b"".join, batches)) + between
    counts = [*map(len, batches)]
    result = find_record_boundaries(data, np.array(starts), np.array(stops), np.array(counts))
    assert result is None or result.tolist() == ends
    return result is not None


NOISE = np.random.default_rng(7).integers(0, 256, 4_000, dtype=np.uint8).tobytes()
FILLINGS = {
    "text": b"Kafka",
    "noise": NOISE,
    "zeros": b"\x00",
    "ones": b"\xff",
    "UTF-16": "Kafka".encode("utf-16-le"),
    "looks like records": record(20, b"\x00") * 3 + b"x",
}
# Fillings that look like the begin of a record, so that guesses are wrong.
MISLEADING = {"UTF-16", "looks like records", "ones"}


@pytest.mark.many_inputs
@pytest.mark.parametrize("filling", FILLINGS)
@pytest.mark.parametrize("between", [BETWEEN, b""], ids=["in a frame", "joined"])
@pytest.mark.parametrize("counts", [[20_000], [100] * 100, [1] * 2_000, [7_000, 1, 60, 8_000]])
@pytest.mark.parametrize("sizes", [range(90, 91), range(40, 140), range(7, 40)])
def test_finds_all_ends(counts: list[int], sizes: range, filling: str, between: bytes) -> None:
    random = np.random.default_rng(1)
    batches = [
        [record(int(size), FILLINGS[filling]) for size in random.choice(sizes, count)]
        for count in counts
    ]
    assert check(batches, between) or filling in MISLEADING


SIZES = st.sampled_from([6, 7, 20, 62, 63, 64, 65, 100, 300, 8190, 8191, 8192, 20_000])
BATCH = st.tuples(st.lists(SIZES, min_size=1, max_size=3), st.integers(1, 700))


@given(
    batches=st.lists(BATCH, min_size=1, max_size=4),
    copies=st.integers(1, 40),
    filling=st.binary(min_size=1, max_size=30),
    between=st.sampled_from([BETWEEN, b"", b"\x0c\x00"]),
)
def test_is_never_wrong(
    batches: list[tuple[list[int], int]], copies: int, filling: bytes, between: bytes
) -> None:
    made = [
        ([record(size, filling) for size in sizes] * (1 + count // len(sizes)))[:count]
        for sizes, count in batches
    ]
    check(made * (copies if sum(map(len, map(b"".join, made))) < 50_000 else 1), between)


VARYING = [record(50 + number % 30, NOISE[number:]) for number in range(3_000)]
BOTH = b"".join(VARYING)
BORDER = len(b"".join(VARYING[:1_400]))


def ends_one_by_one(data: bytes, counts: Sequence[int], stops: Sequence[int]) -> list[int] | None:
    ends = array("q")
    try:
        for begin, stop, count in zip([0, *stops], stops, counts, strict=False):
            append_record_boundaries(data, begin, stop, count, ends)
    except DecodeError:
        return None
    return ends.tolist()


@given(pos=st.integers(0, 199_999), byte=st.integers(0, 255), extra=st.sampled_from([-1, 0, 0, 1]))
def test_fault_32_a_changed_byte_is_detected_or_harmless(pos: int, byte: int, extra: int) -> None:
    """Two adjacent batches, so that one may run into the other."""
    data = bytearray(BOTH)
    stops = [BORDER, len(data)]
    counts = [1_400 + extra, 1_600 - extra]
    data[pos % len(data)] = byte
    result = find_record_boundaries(
        bytes(data), np.array([0, stops[0]]), np.array(stops), np.array(counts)
    )
    expected = ends_one_by_one(bytes(data), counts, stops)
    assert (result is None) or (result.tolist() == expected)
    assert expected is not None or result is None


def test_fault_32_more_records_than_bytes() -> None:
    assert (
        find_record_boundaries(bytes(10), np.array([0]), np.array([10]), np.array([2_000])) is None
    )


def test_fault_32_record_that_runs_into_the_next_batch() -> None:
    one, two = [record(50, b"a")] * 2_000, [record(50, b"a")] * 2_000
    data = bytearray(b"".join(one + two))
    stop = len(data) // 2
    last = stop - len(one[0])
    data[last] = 2 * 101  # the last record includes the first one of the next batch
    result = find_record_boundaries(
        bytes(data), np.array([0, stop]), np.array([stop, len(data)]), np.array([2_000, 2_000])
    )
    assert result is None
