"""Records for tests of envelopes, and the rows that a plain dict makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE

NAMES = ("key", "value", "topic", "partition", "offset", "headers")


class Record(NamedTuple):
    """A record, with the columns of `NAMES`. The header is made of its value."""

    key: bytes | None
    value: bytes | None
    topic: str = "t"
    partition: int = 0
    offset: int = 0


def headers_of(record: Record) -> list[dict[str, object]] | None:
    """The headers of a record, null for a tombstone."""
    return None if record.value is None else [{"key": "h", "value": record.value}]


def batch_of(records: Sequence[Record]) -> pa.RecordBatch:
    """The records as columns."""
    keys, values, topics, partitions, offsets = zip(*records, strict=True) if records else [()] * 5
    headers = [headers_of(record) for record in records]
    arrays = [
        pa.array(keys, pa.binary()),
        pa.array(values, pa.binary()),
        pa.array(topics, pa.string()),
        pa.array(partitions, pa.int32()),
        pa.array(offsets, pa.int64()),
        pa.array(headers, HEADERS_TYPE),
    ]
    return pa.RecordBatch.from_arrays(arrays, NAMES)


def batches_of(records: Sequence[Record], sizes: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """The records in batches of these sizes, and one for the rest."""
    start = 0
    for size in sizes:
        yield batch_of(records[start : start + size])
        start += size
    yield batch_of(records[start:])


def newest(records: Iterable[Record]) -> list[Record]:
    """The newest record of each key in each partition, in order."""
    table: dict[tuple[str, int, bytes | None], Record] = {}
    for record in records:
        table.pop((record.topic, record.partition, record.key), None)
        table[record.topic, record.partition, record.key] = record
    return [*table.values()]
