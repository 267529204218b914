"""The columns of the source and of the sink, and the checks of schemas that users bring.

Nothing here reads options or data. Sources: `KafkaRecordToRowConverter` and `KafkaWriter` of
Spark's connector; that a schema of the user's is a projection is ours.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from kafka_protocol.errors import KafkaConfigError

_HEADER: Final = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_HEADERS: Final = StructField("headers", ArrayType(_HEADER))
_COLUMNS: Final = (
    StructField("key", BinaryType()),
    StructField("value", BinaryType()),
    StructField("topic", StringType()),
    StructField("partition", IntegerType()),
    StructField("offset", LongType()),
    StructField("timestamp", TimestampType()),
    StructField("timestampType", IntegerType()),
)


def source_schema(include_headers: bool) -> StructType:
    """The columns that reading yields, all nullable; with `headers` where the option asks so."""
    return StructType([*_COLUMNS, _HEADERS] if include_headers else [*_COLUMNS])


def check_projection(schema: StructType, include_headers: bool) -> None:
    """Accept what a user gave to `.schema(...)`: any of the source's columns, in any order.

    Raises:
        KafkaConfigError: A column is unknown, repeated, NOT NULL or of another type; `headers` is
            asked for without the option includeHeaders; or there is no column at all.
    """
    if not schema.fields:
        raise KafkaConfigError("The schema names no column: name at least one, or leave it out.")
    known = {column.name: column for column in (*_COLUMNS, _HEADERS)}
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
                f"Column 'headers' ({expected}) is there only with the option includeHeaders: set "
                "it to true, or leave the column out."
            )
        if column.dataType != known[column.name].dataType:
            raise KafkaConfigError(
                f"Column '{column.name}' must be of type {expected}, with all parts nullable, but "
                f"the schema has {column.dataType.simpleString()}: read it so, and cast it then."
            )
        if not column.nullable:
            raise KafkaConfigError(
                f"Column '{column.name}' ({expected}) must be nullable, like all columns of the "
                "source: leave NOT NULL out of the schema."
            )


def _unknown_column(name: str, known: dict[str, StructField]) -> KafkaConfigError:
    by_lower = {column.lower(): column for column in known}
    nearest = difflib.get_close_matches(name.lower(), by_lower, n=1)
    hint = f"; did you mean '{by_lower[nearest[0]]}'?" if nearest else "."
    columns = ", ".join(
        f"{column.name} {column.dataType.simpleString()}" for column in known.values()
    )
    return KafkaConfigError(
        f"Column '{name}' is not one that Kafka's records have ({columns}){hint}"
    )


@dataclass(frozen=True, slots=True)
class SinkColumns:
    """Where the columns of a record are in a written DataFrame; None for one that is not used.

    Attributes:
        value: The index of the column in the schema.
        key: The same of `key`.
        topic: The same of `topic`; None where the option gives the topic.
        partition: The same of `partition`.
        headers: The same of `headers`.
        timestamp: The same of `timestamp`, the record's time. Spark's own connector ignores a
            column of that name.
    """

    value: int
    key: int | None
    topic: int | None
    partition: int | None
    headers: int | None
    timestamp: int | None


# The types that each column of the sink can have. Parts of `headers` may be nullable or not.
_TEXT_OR_BYTES: Final[tuple[DataType, ...]] = (StringType(), BinaryType())
_SINK_TYPES: Final[dict[str, tuple[DataType, ...]]] = {
    "topic": (StringType(),),
    "key": _TEXT_OR_BYTES,
    "value": _TEXT_OR_BYTES,
    "headers": (_HEADERS.dataType,),
    "partition": (IntegerType(),),
    "timestamp": (TimestampType(), TimestampNTZType()),
}


def check_sink_schema(schema: StructType, topic_option: str | None) -> SinkColumns:
    """Find the columns to write, by their exact names; others are ignored.

    A column `timestamp`, which Spark's own connector ignores, is the records' time: an instant, or
    without a time zone the time of UTC. Drop it where the time of writing is wanted.

    Args:
        schema: Of the DataFrame that is written.
        topic_option: The option `topic`, trimmed; None where it is not given.

    Raises:
        KafkaConfigError: `value` is missing, there is no topic, a column is of a type that cannot
            be written, or is there twice.
    """
    if topic_option == "":
        raise KafkaConfigError(
            "Option 'topic' is empty: name a topic, or leave it out and have a column 'topic'."
        )
    # In the order in which Spark's connector checks them.
    return SinkColumns(
        topic=None if topic_option is not None else _required("topic", schema),
        key=_optional("key", schema),
        value=_required("value", schema),
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


def _required(name: str, schema: StructType) -> int:
    index = _optional(name, schema)
    if index is None:
        raise KafkaConfigError(_MISSING[name])
    return index


def _optional(name: str, schema: StructType) -> int | None:
    indices = [index for index, column in enumerate(schema.names) if column == name]
    if len(indices) > 1:
        raise KafkaConfigError(
            f"Attribute '{name}' is there {len(indices)} times: keep one of these columns."
        )
    if not indices:
        return None
    _check_sink_type(name, schema.fields[indices[0]].dataType)
    return indices[0]


def _check_sink_type(name: str, data_type: DataType) -> None:
    accepted = [expected.simpleString() for expected in _SINK_TYPES[name]]
    # simpleString() shows no nullability, which does not matter here.
    if data_type.simpleString() not in accepted:
        raise KafkaConfigError(
            f"{name} attribute unsupported type {data_type.simpleString()}. {name} must be a(n) "
            f"{' or '.join(accepted)}: cast the column before writing it."
        )
