"""The input and output types of the encoders of all message formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_protocol.columnar.slices import combined
from kafka_protocol.columnar.varints import Longs
from kafka_protocol.records.batch import BatchContents

# From so many bytes of a record on, a copy less takes less time than a loop over its fields.
_LARGE_BYTES: Final = 256

# A batch of magic 2 without its header, or a complete message set.
Contents: TypeAlias = BatchContents | bytes


class RecordColumns(NamedTuple):
    """Records to write. `key`, `value`: binary, one array or several; `timestamp`: ms, int64."""

    key: pa.Array | pa.ChunkedArray
    value: pa.Array | pa.ChunkedArray
    timestamp: Longs
    headers: pa.Array | None = None  # list<struct<key: string, value: binary>>


class Encoder(NamedTuple):
    """Writes given records in one message format and order."""

    max_record_bytes: Longs  # the upper limit of each record's size before compression
    # Writes batches, from the index of each batch's first record and the final end.
    encode: Callable[[Longs], Iterator[Contents]]


class Field(NamedTuple):
    """A binary column, and the index in it of each record's field."""

    column: pa.Array | pa.ChunkedArray
    rows: Longs | int


class JoinedRecords(NamedTuple):
    """The bytes of records, one after the other; the start of each and the end of the last."""

    data: memoryview
    starts: npt.NDArray[np.int32]


def join_fields(count: int, fields: Sequence[Field]) -> JoinedRecords:
    """Join the fields of each of `count` records, one after the other; null has no bytes.

    C++ copies all bytes twice, or large records once, if no column is in another order.
    """
    if 0 < count * _LARGE_BYTES <= sum(column.nbytes for column, _ in fields):
        runs = [_run(field, count) for field in fields]
        if None not in runs:
            return _join_runs(runs)
    return _join_picked(count, fields)


def _run(field: Field, count: int) -> pa.Array | pa.ChunkedArray | pa.Scalar | None:
    """The field of all records as a slice of its column, or as one value. None if it is neither."""
    column, rows = field
    if isinstance(rows, int):
        return column[rows]
    first = int(rows[0])
    in_order = np.array_equal(rows, np.arange(first, first + count))
    return column.slice(first, count) if in_order else None


def _join_runs(runs: Sequence[pa.Array | pa.ChunkedArray | pa.Scalar]) -> JoinedRecords:
    joined = pc.binary_join_element_wise(*runs, b"", null_handling="replace", null_replacement=b"")
    return _joined(combined(joined), fields=1)


def _join_picked(count: int, fields: Sequence[Field]) -> JoinedRecords:
    """Copy the columns to one array, and from it each field to its position."""
    picked = np.empty((count, len(fields)), dtype=np.int32)
    first = 0
    for i, (column, rows) in enumerate(fields):
        np.add(rows, first, out=picked[:, i], casting="same_kind")
        first += len(column)
    arrays = [array for column, _ in fields for array in _arrays(column)]
    taken = pa.concat_arrays(arrays).take(pa.array(picked.ravel()))
    return _joined(taken, fields=len(fields))


def _arrays(column: pa.Array | pa.ChunkedArray) -> Sequence[pa.Array]:
    return [column] if isinstance(column, pa.Array) else column.chunks


def _joined(values: pa.Array, fields: int) -> JoinedRecords:
    """So many values in a row are a record."""
    ends = np.frombuffer(values.buffers()[1], dtype=np.int32)[values.offset :]
    return JoinedRecords(memoryview(values.buffers()[2]), ends[: len(values) + 1 : fields])
