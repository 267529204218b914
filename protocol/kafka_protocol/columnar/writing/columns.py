"""The input and output types of the encoders of all message formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from kafka_protocol.columnar.arrays.varints import Longs
from kafka_protocol.records.batch import BatchContents

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
