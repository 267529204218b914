"""One buffer for many payloads: in place where they lie in one frame, else copied."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_protocol.columnar import rows
from kafka_protocol.columnar.rows import RowRanges, lay_out
from kafka_protocol.records.compression import Buffer

FRAME = b"0123456789"
VIEW = memoryview(FRAME)


def test_payloads_of_one_frame_stay_where_they_are() -> None:
    data, begins = lay_out([VIEW[2:4], VIEW[4:4], VIEW[5:9]])
    assert data is FRAME
    assert begins == [2, 4, 5]


def test_payloads_of_a_frame_in_a_buffer_that_is_used_again_stay_where_they_are() -> None:
    """It is not used again while a payload of it is looked at (`framing.FrameBuffer`)."""
    frame = bytearray(FRAME)
    data, begins = lay_out([memoryview(frame)[1:3], memoryview(frame).toreadonly()[4:5]])
    assert data is frame
    assert begins == [1, 4]


def test_one_payload_is_not_copied() -> None:
    assert lay_out([FRAME]) == (FRAME, [0])
    assert lay_out([FRAME])[0] is FRAME


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
)
def test_others_are_copied(payloads: list[Buffer]) -> None:
    data, begins = lay_out(payloads)
    assert data == b"".join(payloads)
    for begin, payload in zip(begins, payloads, strict=True):
        assert data[begin : begin + len(payload)] == payload


def test_a_frame_too_large_for_arrow_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MAX_INT32", len(FRAME) - 1)
    assert lay_out([VIEW[2:4], VIEW[4:5]]) == (b"234", [0, 2])


def test_rows_of_batches() -> None:
    ranges = RowRanges.of([1, 3, 2])
    assert ranges.firsts.tolist() == [0, 1, 4]
    assert ranges.lasts.tolist() == [0, 3, 5]
    assert ranges.repeat([7, 8, 9]).tolist() == [7, 8, 8, 8, 9, 9]
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
def test_disorder_within_a_batch(offsets: list[int], row: int | None) -> None:
    assert RowRanges.of([1, 3, 2]).first_disorder(np.array(offsets, dtype=np.int64)) == row
