"""Arrow tables and data frames to topics, without Spark: for pandas, Polars, DuckDB, and scripts.

    from kafka_protocol.arrow_io.table import write_table

    write_table(orders, {"bootstrap.servers": "localhost:9092"}, topic="orders")

Delivery is at least once: after an error some rows are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafka_protocol.arrow_io.row_writer import CHUNK_BYTES, RowWriter, sliced
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE
from kafka_protocol.columnar.arrays.views import check_binary_size, is_view, shown_bytes
from kafka_protocol.columnar.writing.sink_columns import SinkColumns
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.partitioners import parse_partitioner

_TYPES: Final[Mapping[str, pa.DataType]] = {
    "value": pa.binary(),
    "key": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "headers": HEADERS_TYPE,
    "timestamp": pa.timestamp("us", tz="UTC"),
}
# Kafka keeps milliseconds, so fractions of a microsecond do not count.
_CASTS: Final = {
    name: pc.CastOptions(kind, allow_time_truncate=True) for name, kind in _TYPES.items()
}
# In the order of `SinkColumns`.
_OTHERS: Final = ("key", "topic", "partition", "headers", "timestamp")
_BYTES: Final = ("key", "value", "topic")  # Arrow would format numbers
_TEXT_OR_BYTES: Final[Sequence[Callable[[pa.DataType], bool]]] = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
    pa.types.is_null,
)


def write_table(
    data: Any,
    options: Mapping[str, str],
    *,
    topic: str | None = None,
    partitioner: str = "default",
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write rows to a topic, and return when brokers have acknowledged all of them.

    Rows are encoded 8 MB at a time, so a reader or an iterator of any length fits in memory.

    Args:
        data: A `pyarrow.Table` or `RecordBatchReader`, a data frame of pandas or Polars, a relation
            of DuckDB, or record batches. The column `value` is required; `key`, `topic`,
            `partition`, `headers` and `timestamp` are optional; other columns are ignored. Keys and
            values are strings or bytes. A timestamp without a zone is in UTC; a null means
            the time of writing.
        options: Kafka's names, for example `bootstrap.servers`; see `ClientConfig`.
        topic: The topic of all rows; None if the column `topic` names the topic of each row.
        partitioner: The partition of rows without one, by a name of `PARTITIONERS`.
        progress: Called with the number of rows handed to the producer so far.

    Returns:
        The number of records.

    Raises:
        KafkaConfigError: An option or a column is wrong; if the schema shows it, before the first
            row is written.
        KafkaError: A row cannot be written, or a broker refused it. Names topic and partition.
    """
    chosen = parse_partitioner("partitioner", partitioner)
    config = ClientConfig.from_options(options)
    batches, schema = _stream(data)
    writer = RowWriter(_columns(schema, topic), topic, chosen, config)
    rows = (_converted(piece) for batch in batches for piece in _pieces(batch))
    with closing(Cluster(config)) as cluster:
        producer = Producer(cluster)
        try:
            written = writer.add(rows if progress is None else _counted(rows, progress), producer)
            producer.flush()
        except BaseException:
            producer.abandon()
            raise
    return written


def _stream(data: Any) -> tuple[Iterable[pa.RecordBatch], pa.Schema]:
    """The batches, and their schema."""
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        return reader, reader.schema
    batches = map(_batch, data) if isinstance(data, Iterable) else iter([_batch(data)])
    first = next(batches, None)
    if first is None:
        return [], pa.schema([("value", pa.binary())])
    return _behind(first, batches), first.schema


def _batch(given: object) -> pa.RecordBatch:
    if not isinstance(given, pa.RecordBatch):
        raise KafkaConfigError(
            f"{type(given).__name__} cannot be written: give a data frame of pandas or Polars, a "
            "relation of DuckDB, a table or a reader of pyarrow, or record batches of pyarrow"
        )
    return given


def _behind(first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    columns = _written(first.schema)
    yield first
    for each in others:
        if _written(each.schema) != columns:
            raise KafkaConfigError(
                f"a record batch has the columns {', '.join(_written(each.schema))}, and the first "
                f"one has {', '.join(columns)}: give all batches the same"
            )
        yield each


def _written(schema: pa.Schema) -> list[str]:
    """The names of the columns that are written. A name is listed once for each of its columns."""
    return sorted(name for name in schema.names if name in _TYPES)


def _columns(schema: pa.Schema, topic: str | None) -> SinkColumns:
    """The columns to write, in the order of `_TYPES`.

    Raises:
        KafkaConfigError: One is missing, or has a type that cannot be written.
    """
    if "value" not in schema.names:
        raise KafkaConfigError(f"there is no column 'value'; there are {', '.join(schema.names)}")
    if topic is None and "topic" not in schema.names:
        raise KafkaConfigError("there is no column 'topic': give the topic as an argument")
    given = [name for name in _TYPES if name in schema.names]
    if twice := [name for name in given if schema.names.count(name) > 1]:
        raise KafkaConfigError(f"there are several columns {twice[0]!r}: leave one")
    _converted(
        pa.RecordBatch.from_arrays([pa.nulls(0, each.type) for each in schema], schema.names)
    )
    index = {name: number for number, name in enumerate(given)}
    return SinkColumns(index["value"], *map(index.get, _OTHERS))


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Slices of some MB: one array of a data frame may have more than a binary array can have."""
    return sliced(batch, sum(map(_size, batch.columns)), CHUNK_BYTES)


def _size(values: pa.Array) -> int:
    if pa.types.is_dictionary(values.type):
        values = values.indices  # each slice has all categories, and converts them
    return shown_bytes(values) if is_view(values.type) else int(values.nbytes)


def _converted(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns to write, with their types, in the order of `_TYPES`.

    Raises:
        KafkaConfigError: A key, a value or a topic is neither text nor bytes, or Arrow cannot
            convert a column.
    """
    names = [name for name in _TYPES if name in batch.schema.names]
    return pa.RecordBatch.from_arrays([_column(name, batch.column(name)) for name in names], names)


def _column(name: str, values: pa.Array) -> pa.Array:
    if name in _BYTES and not _is_text_or_bytes(values.type):
        raise KafkaConfigError(
            f"column {name!r} has the type {values.type}; it must be a string or binary"
        )
    if name == "timestamp" and pa.types.is_integer(_plain(values.type)):
        # Arrow would take it for microseconds.
        raise KafkaConfigError(
            f"column 'timestamp' has the type {values.type}, which does not name its unit: convert "
            "it to a timestamp"
        )
    try:
        if pa.types.is_dictionary(values.type):
            # Arrow cannot convert categories whose values are views.
            return _cast(name, values.dictionary).take(values.indices)
        return _cast(name, values)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise KafkaConfigError(f"column {name!r} cannot be {_TYPES[name]}: {error}") from error


def _cast(name: str, values: pa.Array) -> pa.Array:
    check_binary_size(values)
    return values.cast(options=_CASTS[name])


def _is_text_or_bytes(kind: pa.DataType) -> bool:
    """Whether Arrow converts a type to bytes without formatting it; also categories, and null."""
    return any(check(_plain(kind)) for check in _TEXT_OR_BYTES)


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of the values of a dictionary, or the type itself."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _counted(
    batches: Iterable[pa.RecordBatch], progress: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    rows = 0
    for batch in batches:
        yield batch
        rows += batch.num_rows
        progress(rows)
