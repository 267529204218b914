"""The upper limit of a Python data source: it yields ready-made Arrow batches.

It reads no topic. Columns, row sizes and batch sizes are the same as in a benchmark's topic. Code
that runs for each row must not enter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import repeat
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kafka_spark_source.schema import source_schema

BATCH_BYTES: Final = 4 * 1024 * 1024
_KEY_BYTES: Final = 7
HEADERS: Final = [("trace", b"0123456789abcdef"), ("kind", b"order")]
HEADER_TYPE: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def _binary(count: int, width: int) -> pa.Array:
    offsets = np.arange(count + 1, dtype=np.int32) * width
    noise = np.random.default_rng(1).integers(0, 256, count * width, dtype=np.uint8)
    return pa.Array.from_buffers(
        pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(noise)]
    )


_MAKERS: Final[dict[str, Callable[[int, int], pa.Array]]] = {
    "key": lambda count, _: _binary(count, _KEY_BYTES),
    "value": _binary,
    "topic": lambda count, _: pa.array(["read-1"] * count, pa.string()),
    "partition": lambda count, _: pa.array(np.zeros(count, dtype=np.int32)),
    "offset": lambda count, _: pa.array(np.arange(count, dtype=np.int64)),
    "timestamp": lambda count, _: pa.array(
        np.full(count, 1_760_000_000_000_000), pa.timestamp("us", "UTC")
    ),
    "timestampType": lambda count, _: pa.array(np.zeros(count, dtype=np.int32)),
    "headers": lambda count, _: pa.array([HEADERS] * count, HEADER_TYPE),
}


# Built once in each worker; Spark reuses workers in later rounds.
@cache
def ready_made(columns: tuple[str, ...], value_bytes: int) -> pa.RecordBatch:
    """A batch of about `BATCH_BYTES`, whatever its columns."""
    first = _batch(columns, value_bytes, 1_000)
    return _batch(columns, value_bytes, max(1, BATCH_BYTES * 1_000 // first.nbytes))


def _batch(columns: tuple[str, ...], value_bytes: int, count: int) -> pa.RecordBatch:
    return pa.record_batch([_MAKERS[name](count, value_bytes) for name in columns], [*columns])


def repeated(batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    """Repeat the batch up to a number of rows."""
    whole, rest = divmod(rows, batch.num_rows)
    yield from repeat(batch, whole)
    if rest:
        yield batch.slice(0, rest)


class Ceiling(DataSource):
    """Options: rows, partitions, valueBytes, includeHeaders."""

    @classmethod
    def name(cls) -> str:
        """The name for `format()`."""
        return "ceiling"

    def schema(self) -> StructType:
        """The columns of a topic."""
        return source_schema(include_headers=self.options.get("includeHeaders") == "true")

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in the schema."""
        rows, partitions = int(self.options["rows"]), int(self.options["partitions"])
        return _Reader(
            tuple(schema.names), int(self.options["valueBytes"]), rows // partitions, partitions
        )


class _Reader(DataSourceReader):
    def __init__(
        self, columns: tuple[str, ...], value_bytes: int, rows: int, partitions: int
    ) -> None:
        self._columns = columns
        self._value_bytes = value_bytes
        self._rows = rows
        self._partitions = partitions

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(self._partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        yield from repeated(ready_made(self._columns, self._value_bytes), self._rows)
