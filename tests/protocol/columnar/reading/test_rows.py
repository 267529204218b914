"""One buffer for many payloads: the frame if all are in one, else a copy; rows by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kafka_protocol.columnar.reading.rows import RowRanges, join_payloads
from kafka_protocol.records.compression import Buffer

FRAME = b"0123456789"
VIEW = memoryview(FRAME)


def test_payloads_of_one_frame_are_not_copied() -> None:
    data, begins = join_payloads([VIEW[2:4], VIEW[4:4], VIEW[5:9]])
    assert isinstance(data, memoryview)
    assert data.obj is FRAME
    assert begins == [2, 4, 5]


def test_payloads_of_a_frame_in_a_bytearray_are_not_copied() -> None:
    """The frame cannot change its size while there is a memoryview of it."""
    frame: Any = bytearray(FRAME)
    data, begins = join_payloads([memoryview(frame)[1:3], memoryview(frame).toreadonly()[4:5]])
    assert data == FRAME
    assert begins == [1, 4]
    with pytest.raises(BufferError):
        frame.pop()
    del data
    frame.pop()


def test_payloads_of_a_frame_in_numpys_memory_are_not_copied() -> None:
    frame = np.frombuffer(FRAME, np.uint8).copy()
    data, begins = join_payloads([frame.data[1:3], frame.data.toreadonly()[4:5]])
    assert np.shares_memory(np.frombuffer(data, np.uint8), frame)
    assert begins == [1, 4]


def test_one_payload_is_not_copied() -> None:
    assert join_payloads([FRAME]) == (FRAME, [0])
    data, _ = join_payloads([FRAME])
    assert isinstance(data, memoryview)
    assert data.obj is FRAME


@pytest.mark.parametrize(
    "payloads",
    [
        [b"ab", b"", b"cd"],
        [VIEW[2:4], b"ab"],
        [VIEW[5:7], VIEW[2:4]],  # Arrow's offsets must ascend
        [VIEW[2:5], VIEW[4:6]],
        [VIEW[2:4], VIEW[2:4]],
        [bytearray(b"xy")],
    ],
    ids=["no frame", "one without the frame", "order", "overlap", "the same", "bytearray"],
)
def test_other_payloads_are_copied(payloads: list[Buffer]) -> None:
    data, begins = join_payloads(payloads)
    assert data == b"".join(payloads)
    for begin, payload in zip(begins, payloads, strict=True):
        assert data[begin : begin + len(payload)] == payload


def test_a_frame_too_large_for_arrow_is_copied() -> None:
    payloads = [VIEW[2:4], VIEW[4:5]]
    assert join_payloads(payloads, max_frame_bytes=len(FRAME) - 1) == (b"234", [0, 2])


def test_rows_of_batches() -> None:
    ranges = RowRanges.of(np.array([1, 3, 2]))
    assert ranges.firsts.tolist() == [0, 1, 4]
    assert ranges.lasts.tolist() == [0, 3, 5]
    assert ranges.repeat(np.array([7, 8, 9])).tolist() == [7, 8, 8, 8, 9, 9]
    assert [ranges.batch_of(np.int64(row)) for row in range(6)] == [0, 1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("offsets", "row"),
    [
        ([5, 1, 2, 3, 1, 2], None),
        ([5, 1, 2, 2, 1, 2], 3),
        ([5, 1, 3, 2, 2, 1], 3),
        ([5, 1, 2, 3, 2, 1], 5),
    ],
)
def test_first_disorder_within_a_batch(offsets: list[int], row: int | None) -> None:
    assert (
        RowRanges.of(np.array([1, 3, 2])).first_disorder(np.array(offsets, dtype=np.int64)) == row
    )
