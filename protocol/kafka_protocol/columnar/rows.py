"""Records as rows: where the fields of many records lie in one buffer, whatever their format.

`record_rows` and `message_rows` find them, each in its own format; `decode` makes columns of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from kafka_protocol.columnar.varints import Bools, Longs
from kafka_protocol.primitives import MAX_INT32
from kafka_protocol.records.compression import Buffer


class Slices(NamedTuple):
    """Parts of a buffer, one a row; a length of -1 is a null."""

    start: Longs
    length: Longs

    @property
    def stop(self) -> Longs:
        """Where each ends."""
        return self.start + np.maximum(self.length, 0)

    def where(self, wanted: Bools) -> Slices:
        """Some of them."""
        return Slices(self.start[wanted], self.length[wanted])


class HeaderRows(NamedTuple):
    """What the headers of batches tell about their records."""

    offset: Longs
    timestamp_type: Longs

    def where(self, wanted: Bools) -> HeaderRows:
        """Some of the rows."""
        return HeaderRows(self.offset[wanted], self.timestamp_type[wanted])


class Rows(Protocol):
    """One row a record.

    A field may be looked for when it is asked for, and raise CorruptRecordError or DecodeError.
    """

    @property
    def data(self) -> bytes:
        """What the slices are of."""

    @property
    def offset(self) -> Longs:
        """Offsets."""

    @property
    def timestamp(self) -> Longs:
        """Timestamps, in ms."""

    @property
    def timestamp_type(self) -> Longs:
        """-1 for none, 0 for CREATE_TIME, 1 for LOG_APPEND_TIME."""

    @property
    def key(self) -> Slices:
        """Keys."""

    @property
    def value(self) -> Slices:
        """Values."""

    @property
    def headers(self) -> Slices | None:
        """From the header count to the record's end; None where the format has no headers."""

    def where(self, wanted: Bools) -> Rows:
        """Some of the rows."""


def lay_out(payloads: Sequence[Buffer]) -> tuple[bytes, list[int]]:
    """One buffer that holds all payloads in their order, and where in it each begins.

    Batches that are not compressed lie in the frame that brought them, and stay there; others are
    copied together.
    """
    frame = _exporter(payloads[0])
    # Arrow's offsets are of 32 bits.
    fits = isinstance(frame, bytes | bytearray) and len(frame) <= MAX_INT32
    if fits and all(_exporter(payload) is frame for payload in payloads):
        base = _address(frame)
        begins = [_address(payload) - base for payload in payloads]
        ends = map(int.__add__, begins, map(len, payloads))
        if all(end <= begin for end, begin in zip(ends, begins[1:], strict=False)):
            return frame, begins
    *begins, _ = accumulate(map(len, payloads), initial=0)
    return b"".join(payloads), begins


def _exporter(payload: Buffer) -> Any:
    return payload.obj if isinstance(payload, memoryview) else payload


def _address(payload: Buffer) -> int:
    address: int = pa.py_buffer(payload).address
    return address


class RowRanges(NamedTuple):
    """Which rows are of which batch; one element a batch."""

    counts: Longs  # at least one each
    firsts: Longs
    lasts: Longs

    @property
    def total(self) -> int:
        """How many rows there are."""
        return int(self.lasts[-1]) + 1

    @classmethod
    def of(cls, counts: Iterable[int]) -> RowRanges:
        """The ranges of batches that lie one behind the other."""
        each = np.array([*counts], dtype=np.int64)
        behind = np.cumsum(each)
        return cls(each, behind - each, behind - 1)

    def repeat(self, values: Iterable[int]) -> Longs:
        """A value of each batch, for each of its rows."""
        return np.repeat(np.fromiter(values, dtype=np.int64, count=len(self.counts)), self.counts)

    def batch_of(self, row: np.integer[Any]) -> int:
        """The number of the batch that a row is of."""
        return int(np.searchsorted(self.lasts, row))

    def first_disorder(self, offset: Longs) -> np.integer[Any] | None:
        """The first row whose offset does not ascend within its batch, if there is one.

        It is refused: a range of offsets would be cut in the wrong place.
        """
        disorder = offset[1:] <= offset[:-1]
        disorder[self.firsts[1:] - 1] = False  # from one batch to the next
        return np.argmax(disorder) + 1 if disorder.any() else None
