"""The upper limit of a Python data source: it yields ready-made Arrow batches.

It reads no topic. Columns, row sizes and batch sizes are the same as in a benchmark's topic. Code
that runs for each row must not enter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
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


# Also once in each worker.
@cache
def batch_of(file: str) -> pa.RecordBatch:
    """The only batch of an Arrow file."""
    with pa.OSFile(file) as source, pa.ipc.open_file(source) as reader:
        return reader.get_batch(0)


def repeated(batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    """Repeat the batch up to a number of rows."""
    whole, rest = divmod(rows, batch.num_rows)
    yield from repeat(batch, whole)
    if rest:
        yield batch.slice(0, rest)


class Ceiling(DataSource):
    """A source with these options.

    rows, partitions: Of the whole read.
    valueBytes: The size of a value.
    includeHeaders: As of a topic.
    batch: An Arrow file with a batch of the columns, instead of those of a topic.
    """

    @classmethod
    def name(cls) -> str:
        """The name for `format()`."""
        return "ceiling"

    def schema(self) -> StructType:
        """The columns of a topic."""
        return source_schema(include_headers=self.options.get("includeHeaders") == "true")

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in the schema."""
        options = self.options
        rows, partitions = int(options["rows"]), int(options["partitions"])
        batch = (
            partial(batch_of, options["batch"])
            if "batch" in options
            else partial(ready_made, tuple(schema.names), int(options["valueBytes"]))
        )
        return _Reader(batch, rows // partitions, partitions)


class _Reader(DataSourceReader):
    def __init__(self, batch: Callable[[], pa.RecordBatch], rows: int, partitions: int) -> None:
        self._batch = batch
        self._rows = rows
        self._partitions = partitions

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(self._partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        yield from repeated(self._batch(), self._rows)
