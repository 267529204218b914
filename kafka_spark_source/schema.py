"""The columns of the source and of the sink, and checks of users' schemas.

Never reads data. Sources: `KafkaRecordToRowConverter` and `KafkaWriter` of Spark's
connector, which has no projection by schema.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from pyspark.sql import types as T

from kafka_formats.options.envelope import OP_COLUMN, EnvelopeOptions
from kafka_formats.options.formats import FormatOptions
from kafka_formats.options.settings import ERROR_COLUMN, RAW_COLUMNS, Mode
from kafka_protocol.columnar.writing.sink_columns import SinkColumns
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.nearest_name import did_you_mean

_NO_ENVELOPE: Final = EnvelopeOptions()
_HEADER: Final = T.StructType(
    [T.StructField("key", T.StringType()), T.StructField("value", T.BinaryType())]
)
_HEADERS: Final = T.StructField("headers", T.ArrayType(_HEADER))
# Types that `.schema(...)` may name in place of the source's.
_OTHER_TYPES: Final[Mapping[str, tuple[T.DataType, ...]]] = {
    "key": (T.StringType(),),
    "value": (T.StringType(),),
    "headers": (
        T.MapType(T.StringType(), T.BinaryType()),
        T.MapType(T.StringType(), T.StringType()),
    ),
}
_TOPIC_ID: Final = T.StructField("topicId", T.StringType())
_COLUMNS: Final = (
    T.StructField("key", T.BinaryType()),
    T.StructField("value", T.BinaryType()),
    T.StructField("topic", T.StringType()),
    T.StructField("partition", T.IntegerType()),
    T.StructField("offset", T.LongType()),
    T.StructField("timestamp", T.TimestampType()),
    T.StructField("timestampType", T.IntegerType()),
)


def source_schema(
    *,
    include_headers: bool,
    include_topic_id: bool = False,
    formats: Mapping[str, T.DataType] | None = None,
) -> T.StructType:
    """The columns of a read, all nullable.

    Args:
        include_headers: Whether the column `headers` exists.
        include_topic_id: Whether the column `topicId` exists.
        formats: The types of columns that formats change or add.
    """
    columns = [*_COLUMNS]
    columns += [_HEADERS] if include_headers else []
    columns += [_TOPIC_ID] if include_topic_id else []
    types = {column.name: column.dataType for column in columns} | dict(formats or {})
    return T.StructType([T.StructField(name, each) for name, each in types.items()])


def added_columns(
    formats: FormatOptions | None,
    envelope: EnvelopeOptions = _NO_ENVELOPE,
    mode: Mode | None = None,
) -> dict[str, T.DataType]:
    """The types of the columns that an envelope and a mode add.

    Without formats, a mode is for columns of text.
    """
    # point: op-column
    added: dict[str, T.DataType] = {OP_COLUMN: T.StringType()} if envelope.is_upsert else {}
    if formats is not None:
        errors, raws = formats.error_columns, formats.raw_columns
    else:
        errors, raws = ([ERROR_COLUMN], [*RAW_COLUMNS]) if mode is Mode.PERMISSIVE else ([], [])
    added |= dict.fromkeys(errors, T.StringType())
    added |= dict.fromkeys(raws, T.BinaryType())
    return added


def text_columns(schema: T.StructType, formats: FormatOptions | None) -> list[str]:
    """The keys and values that are bytes, and wanted as text."""
    decoded = [] if formats is None else formats.decoded_columns
    return [
        field.name
        for field in schema
        if field.name in ("key", "value")
        and field.name not in decoded
        and field.dataType == T.StringType()
    ]


def is_as_it_comes(schema: T.StructType) -> bool:
    """Whether the columns of the source have its types."""
    known = {column.name: column.dataType for column in (*_COLUMNS, _HEADERS)}
    return all(known.get(field.name, field.dataType) == field.dataType for field in schema)


def check_projection(
    schema: T.StructType,
    *,
    include_headers: bool,
    formats: FormatOptions | None = None,
    envelope: EnvelopeOptions = _NO_ENVELOPE,
    mode: Mode | None = None,
) -> None:
    """Check a user's `.schema(...)`: any of the source's columns, in any order.

    It may have the column `topicId` also without the option includeTopicId.

    Args:
        schema: The user's schema.
        include_headers: Whether the option includeHeaders is set.
        formats: The formats of decoded columns. Their types follow from schemas, and are not
            checked here.
        envelope: The envelope of changes, which may add columns.
        mode: How to treat text that is not UTF-8; None not to check it.

    Raises:
        KafkaConfigError: The schema has no column; a column is unknown, repeated, NOT NULL or of
            another type; or it has `headers` without the option includeHeaders.
    """
    if not schema.fields:
        raise KafkaConfigError("The schema names no column: name at least one, or leave it out.")
    known = {column.name: column for column in (*_COLUMNS, _HEADERS, _TOPIC_ID)}
    added = added_columns(formats, envelope, mode)
    known |= {name: T.StructField(name, each) for name, each in added.items()}
    decoded = [] if formats is None else formats.decoded_columns
    seen: set[str] = set()
    for column in schema.fields:
        if column.name not in known:
            raise _unknown_column(column.name, known)
        expected = known[column.name].dataType.simpleString()
        if column.name in seen:
            raise KafkaConfigError(f"Column '{column.name}' ({expected}) is in the schema twice.")
        seen.add(column.name)
        if column.name == _HEADERS.name and not include_headers:
            raise KafkaConfigError(
                f"Column 'headers' ({expected}) needs the option includeHeaders: set it to true, "
                "or leave the column out."
            )
        types = (known[column.name].dataType, *_OTHER_TYPES.get(column.name, ()))
        if column.name not in decoded and column.dataType not in types:
            listed = " or ".join(each.simpleString() for each in types)
            raise KafkaConfigError(
                f"Column '{column.name}' must be of type {listed}, with all parts nullable, but "
                f"the schema has {column.dataType.simpleString()}: read that type, then cast it."
            )
        if not column.nullable:
            raise KafkaConfigError(
                f"Column '{column.name}' ({expected}) must be nullable, like all columns of the "
                "source: leave NOT NULL out of the schema."
            )


def _unknown_column(name: str, known: dict[str, T.StructField]) -> KafkaConfigError:
    by_lower = {column.lower(): column for column in known}
    hint = did_you_mean(name.lower(), by_lower, before="; ", otherwise=".")
    columns = ", ".join(
        f"{column.name} {column.dataType.simpleString()}" for column in known.values()
    )
    return KafkaConfigError(f"Column '{name}' is not a column of the source ({columns}){hint}")


# The types that each column of the sink can have. Parts of `headers` may be nullable or not.
_TEXT_OR_BYTES: Final[tuple[T.DataType, ...]] = (T.StringType(), T.BinaryType())
_SINK_TYPES: Final[dict[str, tuple[T.DataType, ...]]] = {
    "topic": (T.StringType(),),
    "key": _TEXT_OR_BYTES,
    "value": _TEXT_OR_BYTES,
    "headers": (_HEADERS.dataType, *_OTHER_TYPES["headers"]),
    "partition": (T.IntegerType(),),
    "timestamp": (T.TimestampType(), T.TimestampNTZType()),
}


def check_sink_schema(
    schema: T.StructType,
    topic_option: str | None,
    encoded: Collection[str] = (),
    argument: str | None = None,
) -> SinkColumns:
    """Find the columns to write by their exact names; other columns are ignored.

    The types of `encoded` columns follow from schemas, and are not checked here.

    `argument` is the argument of save() or start(). It has no effect here: if there is no topic,
    the error names the option to set to it.

    A column `timestamp` (ignored by Spark's own connector) sets the timestamps of the records. A
    timestamp without a time zone is taken as UTC. Without the column, records get the time of
    writing.

    Raises:
        KafkaConfigError: There is no `value` or no topic, or a column has a wrong type or exists
            twice.
    """
    if topic_option == "":
        raise KafkaConfigError(
            "Option 'topic' is empty: name a topic, or remove it and add a column 'topic'."
        )
    is_misplaced = topic_option is None and argument is not None and "topic" not in schema.names
    if is_misplaced:
        raise KafkaConfigError(
            f"{_MISSING['topic']} The argument of save() and start() has no effect: set topic to "
            f"{argument!r}."
        )
    # In the order of the checks of Spark's connector.
    return SinkColumns(
        topic=None if topic_option is not None else _required("topic", schema),
        key=_optional("key", schema, encoded),
        value=_required("value", schema, encoded),
        headers=_optional("headers", schema),
        partition=_optional("partition", schema),
        timestamp=_optional("timestamp", schema),
    )


_MISSING: Final = {
    "topic": (
        "topic option required when no 'topic' attribute is present. Use the topic option for "
        "setting a topic."
    ),
    "value": (
        "Required attribute 'value' not found: rename the column to write, or make one, for "
        "example with to_json(struct('*')).alias('value')."
    ),
}


def _required(name: str, schema: T.StructType, encoded: Collection[str] = ()) -> int:
    index = _optional(name, schema, encoded)
    if index is None:
        raise KafkaConfigError(_MISSING[name])
    return index


def _optional(name: str, schema: T.StructType, encoded: Collection[str] = ()) -> int | None:
    indices = [index for index, column in enumerate(schema.names) if column == name]
    if len(indices) > 1:
        raise KafkaConfigError(
            f"Attribute '{name}' exists {len(indices)} times: keep one of these columns."
        )
    if not indices:
        return None
    if name not in encoded:
        _check_sink_type(name, schema.fields[indices[0]].dataType)
    return indices[0]


def _check_sink_type(name: str, data_type: T.DataType) -> None:
    accepted = [expected.simpleString() for expected in _SINK_TYPES[name]]
    # simpleString() leaves out nullability, which does not matter here.
    if data_type.simpleString() not in accepted:
        raise KafkaConfigError(
            f"{name} attribute unsupported type {data_type.simpleString()}. {name} must be a(n) "
            f"{' or '.join(accepted)}: cast the column before writing it."
        )
