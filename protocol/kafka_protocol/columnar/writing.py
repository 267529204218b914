"""What the writers of all message formats have in common: columns in, a way to write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_protocol.columnar.varints import Longs
from kafka_protocol.records.batch import BatchContents

# A batch of magic 2, whose header is still to be written, or a whole one of an older format.
Contents: TypeAlias = BatchContents | bytes


class RecordColumns(NamedTuple):
    """Records. `key`, `value`: binary; `timestamp`: ms, int64."""

    key: pa.Array
    value: pa.Array
    timestamp: Longs
    headers: pa.Array | None = None  # list<struct<key: string, value: binary>>


class Encoder(NamedTuple):
    """Records that are ready to be written in some format and order.

    Attributes:
        most_bytes: That each of them takes, before compression.
        encode: Given where batches begin, and at the end where the last one ends, writes them.
    """

    most_bytes: Longs
    encode: Callable[[Longs], Iterator[Contents]]


class Field(NamedTuple):
    """A field of records: binary, and which element of the column is each record's."""

    column: pa.Array
    rows: Longs | int


class Laid(NamedTuple):
    """Records one behind the other, and where each begins; at the end, where the last one ends."""

    data: memoryview
    starts: npt.NDArray[np.int32]


def laid_out(count: int, fields: Sequence[Field]) -> Laid:
    """The fields of each of `count` records one behind the other; null has no bytes.

    All bytes are copied in C++: the columns to one array, and from there each field to its place.
    """
    picked = np.empty((count, len(fields)), dtype=np.int32)
    first = 0
    for i, (column, rows) in enumerate(fields):
        np.add(rows, first, out=picked[:, i], casting="same_kind")
        first += len(column)
    taken = pa.concat_arrays([column for column, _ in fields]).take(pa.array(picked.ravel()))
    ends = np.frombuffer(taken.buffers()[1], dtype=np.int32)[taken.offset :]
    return Laid(memoryview(taken.buffers()[2]), ends[: len(taken) + 1 : len(fields)])
