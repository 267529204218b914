"""Records as rows: the positions of their fields in one buffer, for any message format.

`record_rows` and `message_rows` find the positions; `decode` makes columns of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_protocol.columnar.arrays.varints import Bools, Longs
from kafka_protocol.records.compression import Buffer
from kafka_protocol.wire.primitives import MAX_INT32


class Slices(NamedTuple):
    """Parts of a buffer, one per row; a length of -1 is null."""

    start: Longs
    length: Longs

    @property
    def stop(self) -> Longs:
        """The end of each slice."""
        return self.start + np.maximum(self.length, 0)

    def where(self, wanted: Bools) -> Slices:
        """The wanted slices."""
        return Slices(self.start[wanted], self.length[wanted])


class HeaderRows(NamedTuple):
    """The columns that the headers of batches determine without reading records."""

    offset: Longs
    timestamp_type: Longs

    def where(self, wanted: Bools) -> HeaderRows:
        """The wanted rows."""
        return HeaderRows(self.offset[wanted], self.timestamp_type[wanted])


class Rows(Protocol):
    """One row per record.

    A property may read its field on access, and raise CorruptRecordError or DecodeError.
    """

    @property
    def data(self) -> Buffer:
        """The buffer of the slices."""

    @property
    def offset(self) -> Longs:
        """Offsets."""

    @property
    def timestamp(self) -> Longs:
        """Timestamps in ms."""

    @property
    def timestamp_type(self) -> Longs:
        """-1 without a timestamp, 0 for CREATE_TIME, 1 for LOG_APPEND_TIME."""

    @property
    def key(self) -> Slices:
        """Keys."""

    @property
    def value(self) -> Slices:
        """Values."""

    @property
    def headers(self) -> Slices | None:
        """From the header count to the record's end; None if the format has no headers."""

    def where(self, wanted: Bools) -> Rows:
        """The wanted rows."""


def join_payloads(
    payloads: Sequence[Buffer], max_frame_bytes: int = MAX_INT32
) -> tuple[Buffer, list[int]]:
    """One buffer with all payloads in their order, and the start of each in it.

    Payloads of uncompressed batches of one frame are not copied: the buffer is a view of the frame.
    A larger frame is none for Arrow, whose offsets have 32 bits.
    """
    frame = _exporter(payloads[0])
    if memoryview(frame).nbytes <= max_frame_bytes and all(
        _exporter(payload) is frame for payload in payloads
    ):
        base = _address(frame)
        begins = [_address(payload) - base for payload in payloads]
        ends = map(int.__add__, begins, map(len, payloads))
        if all(end <= begin for end, begin in zip(ends, begins[1:], strict=False)):
            return memoryview(frame), begins
    *begins, _ = accumulate(map(len, payloads), initial=0)
    return b"".join(payloads), begins


def _exporter(payload: Buffer) -> Any:
    return payload.obj if isinstance(payload, memoryview) else payload


def _address(payload: Buffer) -> int:
    address: int = pa.py_buffer(payload).address
    return address


def at_each_byte(buffer: Any, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The value that begins at each byte; none is copied before it is picked."""
    kind = np.dtype(dtype)
    count = max(0, len(buffer) - kind.itemsize + 1)
    values: npt.NDArray[Any] = np.ndarray(count, kind, buffer, strides=(1,))
    return values


class RowRanges(NamedTuple):
    """The range of rows of each batch; one element per batch."""

    counts: Longs  # at least 1
    firsts: Longs
    lasts: Longs

    @property
    def total(self) -> int:
        """The number of rows."""
        return int(self.lasts[-1]) + 1

    @classmethod
    def of(cls, counts: Longs) -> RowRanges:
        """The ranges of batches with these numbers of rows."""
        ends = np.cumsum(counts)
        return cls(counts, ends - counts, ends - 1)

    def repeat(self, values: npt.NDArray[Any]) -> Any:
        """For each row, the value of its batch."""
        return np.repeat(values, self.counts)

    def batch_of(self, row: np.integer[Any]) -> int:
        """The number of a row's batch."""
        return int(np.searchsorted(self.lasts, row))

    def first_disorder(self, offset: Longs) -> np.integer[Any] | None:
        """The first row whose offset is not above that of the row before, in the same batch."""
        disorder = offset[1:] <= offset[:-1]
        disorder[self.firsts[1:] - 1] = False  # from one batch to the next
        return np.argmax(disorder) + 1 if disorder.any() else None
