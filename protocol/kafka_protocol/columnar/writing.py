"""The input and output types of the encoders of all message formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_protocol.columnar.varints import Longs
from kafka_protocol.records.batch import BatchContents

# A batch of magic 2 without its header, or a complete message set.
Contents: TypeAlias = BatchContents | bytes


class RecordColumns(NamedTuple):
    """Records to write. `key`, `value`: binary; `timestamp`: ms, int64."""

    key: pa.Array
    value: pa.Array
    timestamp: Longs
    headers: pa.Array | None = None  # list<struct<key: string, value: binary>>


class Encoder(NamedTuple):
    """Writes given records in one message format and order."""

    max_record_bytes: Longs  # the upper limit of each record's size before compression
    # Writes batches, from the index of each batch's first record and the final end.
    encode: Callable[[Longs], Iterator[Contents]]


class Field(NamedTuple):
    """A binary column, and the index in it of each record's field."""

    column: pa.Array
    rows: Longs | int


class JoinedRecords(NamedTuple):
    """The bytes of records, one after the other; the start of each and the end of the last."""

    data: memoryview
    starts: npt.NDArray[np.int32]


def join_fields(count: int, fields: Sequence[Field]) -> JoinedRecords:
    """Join the fields of each of `count` records, one after the other; null has no bytes.

    C++ copies all bytes twice: the columns to one array, and from it each field to its position.
    """
    picked = np.empty((count, len(fields)), dtype=np.int32)
    first = 0
    for i, (column, rows) in enumerate(fields):
        np.add(rows, first, out=picked[:, i], casting="same_kind")
        first += len(column)
    taken = pa.concat_arrays([column for column, _ in fields]).take(pa.array(picked.ravel()))
    ends = np.frombuffer(taken.buffers()[1], dtype=np.int32)[taken.offset :]
    return JoinedRecords(memoryview(taken.buffers()[2]), ends[: len(taken) + 1 : len(fields)])
