"""Topics as Arrow without Spark, with keys and values decoded: for pandas, Polars, DuckDB, scripts.

    from kafka_formats.topic import read_topic

    formats = {"value.format": "avro", "schema.registry.url": "http://localhost:8081"}
    reader = read_topic("orders", {"bootstrap.servers": "localhost:9092"}, formats)
    orders = reader.read_all()  # a pyarrow.Table; or loop over its batches

`kafka_protocol.arrow_io.topic` fetches the records; this module finds schemas and decodes payloads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict, overload

import pyarrow as pa

from kafka_formats.arrow.types import as_nullable
from kafka_formats.debezium.query import DebeziumQuery
from kafka_formats.options.alone import AloneOptions, parse_alone
from kafka_formats.options.envelope import ENVELOPE, OP_COLUMN, Envelope
from kafka_formats.options.settings import RAW_COLUMNS, Mode
from kafka_formats.options.table import KEY, MODE, VALUE
from kafka_formats.payload.raw_columns import RAW_TYPES
from kafka_formats.query.query_formats import QueryFormats, decoder_of
from kafka_formats.query.stage import Stage, through
from kafka_formats.read_stages import ordered_stages
from kafka_protocol.arrow_io import topic as raw
from kafka_protocol.client.config.option import check_texts
from kafka_protocol.columnar.arrays.schema import RECORD_SCHEMA
from kafka_protocol.errors import KafkaConfigError

if TYPE_CHECKING:
    from typing_extensions import Unpack


class _FormatArguments(TypedDict, total=False):
    """The arguments of `read_topic` that do not decide what it returns."""

    start: raw.Position
    end: raw.Position
    partitions: Collection[int] | None
    columns: Sequence[str] | None
    types: Mapping[str, pa.DataType] | None
    progress: raw.Progress | None


@overload
def read_topic(
    topic: str | Sequence[str],
    kafka: Mapping[str, str],
    formats: Mapping[str, str],
    *,
    group_id: None = ...,
    follow: Literal[False] = ...,
    **arguments: Unpack[_FormatArguments],
) -> pa.RecordBatchReader: ...


@overload
def read_topic(
    topic: str | Sequence[str],
    kafka: Mapping[str, str],
    formats: Mapping[str, str],
    *,
    group_id: str | None = ...,
    follow: bool = ...,
    **arguments: Unpack[_FormatArguments],
) -> pa.RecordBatchReader | raw.TopicReader: ...


def read_topic(  # noqa: PLR0913 - each is an option of the user
    topic: str | Sequence[str],
    kafka: Mapping[str, str],
    formats: Mapping[str, str],
    *,
    start: raw.Position = "earliest",
    end: raw.Position = "latest",
    partitions: Collection[int] | None = None,
    columns: Sequence[str] | None = None,
    types: Mapping[str, pa.DataType] | None = None,
    progress: raw.Progress | None = None,
    group_id: str | None = None,
    follow: bool = False,
) -> pa.RecordBatchReader | raw.TopicReader:
    """Read a range of a topic, partition by partition, each in offset order, and decode it.

    This call finds schemas. The reader asks the registry only for unknown schemas of payloads.

    Args:
        topic: The topic's name, or the names of several.
        kafka: Kafka's options, for example `bootstrap.servers`; see `ClientConfig`.
        formats: The options of formats of the Spark source: `value.format`, `key.format`,
            `value.schema`, `schema.registry.url`, `mode` and so on, in any case; and of envelopes:
            `envelope=upsert` reads the newest record of each key, `envelope=debezium` the changed
            rows of a table.
        start: The first record to read.
        end: The record to stop before.
        partitions: The partitions to read; by default all.
        columns: Names of `RECORD_SCHEMA`, with `envelope` `op`, and with `mode=PERMISSIVE`
            `_error`, `_raw` and `_raw_key`, in the wanted order; by default all. Other columns are
            not decoded. With `envelope=debezium` also the columns of the table and of changes.
        types: Column -> the type to read it as. For a column with a format, a struct with some
            of the fields decodes only these; by default it has the type of the schema. Required
            for JSON without a schema, with `envelope=debezium` for the columns of the table. A
            column without a format may have one of `RAW_TYPES` of
            `kafka_formats.payload.raw_columns`: text has the bytes of the payload, and with the
            option `mode` bytes that are not UTF-8 are broken.
        progress: Called after a Fetch with the number of offsets read so far, and of all.
        group_id: A consumer group, as for `kafka_protocol.arrow_io.topic.read_topic`.
        follow: Whether to continue with later records.

    Returns:
        A reader of Arrow batches, for one pass, without empty ones; a `TopicReader` with a group or
        with `follow`.

    Raises:
        KafkaConfigError: An option, a column, a type or a position is wrong.
        FormatError: A schema is invalid or not in the registry, or the registry cannot be reached.
        BrokerError: The topic or a partition does not exist, or reading is not permitted.
        KafkaError: No broker is reachable; from the reader: records are damaged or deleted.
        MalformedRecordError: From the reader: a payload is broken, and the mode is FAILFAST.
    """
    check_texts(formats)
    options = parse_alone(formats)
    if follow and options.envelope.is_upsert:
        raise KafkaConfigError("envelope=upsert needs an end: leave out follow.")
    topics = [topic] if isinstance(topic, str) else [*topic]
    wanted, stages = _stages(options, topics, columns, types or {})
    records = raw.read_topic(
        topic,
        kafka,
        start=start,
        end=end,
        partitions=partitions,
        columns=stages[0].source_columns,
        progress=progress,
        group_id=group_id,
        follow=follow,
    )
    rows = through(stages, records)
    if isinstance(records, raw.TopicReader):
        return records.with_rows(wanted, rows, is_whole=options.envelope.is_upsert)
    return pa.RecordBatchReader.from_batches(wanted, rows)


def _stages(
    read: AloneOptions,
    topics: Sequence[str],
    columns: Sequence[str] | None,
    types: Mapping[str, pa.DataType],
) -> tuple[pa.Schema, tuple[Stage, ...]]:
    """The columns of the result, and the stages that make them."""
    if read.envelope.kind is Envelope.DEBEZIUM:
        changes = DebeziumQuery(read.formats, read.envelope.debezium, topics, has_headers=True)
        wanted = changes.wanted(columns, types)
        return wanted, changes.stages(wanted)
    query = QueryFormats(read.formats, topics)
    _check_types(read, types)
    wanted = _wanted(read, query, columns, types)
    decoder = decoder_of(
        wanted,
        query,
        checked_text=[] if read.mode is None else _text_columns(read, types),
        mode=read.formats.mode,
    )
    return wanted, ordered_stages(wanted.names, decoder, query, read.envelope)


def _text_columns(read: AloneOptions, types: Mapping[str, pa.DataType]) -> list[str]:
    """The keys and values that are bytes, and wanted as text."""
    decoded = read.formats.decoded_columns
    return [
        name
        for name in RAW_COLUMNS.values()
        if name not in decoded and types.get(name) == pa.string()
    ]


def _check_types(read: AloneOptions, types: Mapping[str, pa.DataType]) -> None:
    """Refuse types of raw columns that do not exist, and options that nothing uses."""
    decoded = read.formats.decoded_columns
    for name, to in types.items():
        if name in decoded:
            continue
        if name not in RAW_TYPES:
            raise KafkaConfigError(
                f"the type of {name!r} cannot be chosen: types are for {', '.join(RAW_TYPES)}"
            )
        if to not in RAW_TYPES[name]:
            listed = " or ".join(map(str, RAW_TYPES[name]))
            other = f", or set {name}.format" if name in RAW_COLUMNS.values() else ""
            raise KafkaConfigError(f"{name!r} cannot be read as {to}: name {listed}{other}")
    if decoded:
        return
    if read.mode is not None and not _text_columns(read, types):
        raise KafkaConfigError(
            f"Option '{MODE.name}' needs a column that is decoded: set value.format or key.format, "
            "name the column as string in types, or remove it."
        )
    if read.envelope.kind is Envelope.NONE and not types:
        raise KafkaConfigError(
            f"No column has a format: set {VALUE.format.name} or {KEY.format.name}, or "
            f"{ENVELOPE.name}, or name other types of columns in types."
        )


def _raw_columns(read: AloneOptions, types: Mapping[str, pa.DataType]) -> list[str]:
    """The columns that the mode adds for payloads as they are."""
    if read.formats.mode is not Mode.PERMISSIVE:
        return []
    checked = {"value", *read.formats.decoded_columns, *_text_columns(read, types)}
    return [name for name, column in RAW_COLUMNS.items() if column in checked]


def _wanted(
    options: AloneOptions,
    query: QueryFormats,
    columns: Sequence[str] | None,
    types: Mapping[str, pa.DataType],
) -> pa.Schema:
    """The columns of the result."""
    formats = options.formats
    added = {OP_COLUMN: pa.string()} if options.envelope.is_upsert else {}
    added |= dict.fromkeys(formats.error_columns, pa.string())
    added |= dict.fromkeys(_raw_columns(options, types), pa.binary())
    known = dict(zip(RECORD_SCHEMA.names, RECORD_SCHEMA.types, strict=True)) | added
    names = [*known] if columns is None else [*columns]
    for name in names:
        if name not in known:
            raise KafkaConfigError(f"there is no column {name!r}; there are {', '.join(known)}")
        if names.count(name) > 1:
            raise KafkaConfigError(f"column {name!r} is wanted twice: name it once")
    decoded = [name for name in formats.decoded_columns if name in names]
    known |= query.columns([name for name in decoded if name not in types])
    is_permissive = formats.mode is Mode.PERMISSIVE
    known |= {name: as_nullable(each) if is_permissive else each for name, each in types.items()}
    return pa.schema([pa.field(name, known[name]) for name in names])
