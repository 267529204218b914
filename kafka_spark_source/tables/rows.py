"""The columns of a table that a topic's records become: names, and expressions for them. Pure.

A value that is a struct becomes a column for each field; any other value is the column `value`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from pyspark.sql import types as T

from kafka_formats.options.settings import ERROR_COLUMN, RAW_COLUMNS
from kafka_spark_source.changes.sql import quoted
from kafka_spark_source.tables.errors import TableError

METADATA: Final[Mapping[str, str]] = {
    "_kafka_topic": "topic",
    "_kafka_partition": "partition",
    "_kafka_offset": "offset",
    "_kafka_timestamp": "timestamp",
    "_kafka_timestamp_type": "timestampType",
    "_kafka_key": "key",
    "_kafka_headers": "headers",
}
"""Columns that a table may have beside the values' -> the columns of a read.

Iceberg reserves `_partition`.
"""
KEY_COLUMN: Final = "_kafka_key"
PREFIX: Final = "__kafka_"
"""Before the names of columns that `apply_changes` needs and the table does not get."""
UPSERT_COLUMNS: Final[Mapping[str, str]] = {
    "op": "CASE WHEN value IS NULL THEN 'd' ELSE 'u' END",
    **{each: quoted(each) for each in ("topic", "partition", "offset", "topicId", "timestamp")},
}
"""Columns that `apply_changes` needs -> expressions over the columns of a read."""
_OF_CHANGES: Final = ("_unavailable", ERROR_COLUMN, *RAW_COLUMNS)
"""Columns that mean something to `apply_changes`, so that no field may have such a name."""

Columns = dict[str, str]
"""Name -> expression of SQL over the columns of a read."""


def read_columns(metadata: Sequence[str]) -> list[str]:
    """The columns of a read that rows of `appended` are made of."""
    return ["value", *(METADATA[each] for each in metadata), ERROR_COLUMN, *RAW_COLUMNS]


def appended(schema: T.StructType, metadata: Sequence[str], topic: str) -> Columns:
    """The columns of a table that has a row for each record.

    Args:
        schema: The columns of the read.
        metadata: The columns of METADATA to have.
        topic: For errors.

    Raises:
        TableError: A field of the value has the name of another column.
    """
    columns = _fields(quoted("value"), schema["value"].dataType, "value")
    added = {each: quoted(METADATA[each]) for each in metadata}
    # With the mode PERMISSIVE: why a value is null, and its bytes.
    added |= {each: quoted(each) for each in (ERROR_COLUMN, *RAW_COLUMNS) if each in schema.names}
    _check_no_clash(columns, added, topic, "leave it out of `metadata`, or set another mode")
    return columns | added


def of_record_type(
    schema: T.StructType, member: str, metadata: Sequence[str], source: str
) -> Columns:
    """The columns of a table that has a row for each record of one type.

    Args:
        schema: The columns of the read: its value has the member, if the type has fields.
        member: The field of the value that records of the type have.
        metadata: The columns of METADATA to have.
        source: For errors.

    Raises:
        TableError: As from `appended`, or there is no column.
    """
    value: Any = schema["value"].dataType
    columns: Columns = {}
    if member in value.names:
        columns = _fields(f"value.{quoted(member)}", value[member].dataType, "value")
    added = {each: quoted(METADATA[each]) for each in metadata}
    _check_no_clash(columns, added, source, "leave it out of `metadata`")
    if not columns | added:
        raise TableError(
            f"the record type of {source} has no fields, and `metadata` is empty: its table would "
            "have no column"
        )
    return columns | added


def upserted(schema: T.StructType, topic: str) -> tuple[tuple[str, ...], Columns]:
    """The columns of a table with the newest row of each key: names of the key's, and all.

    A key that is a struct becomes a column for each field, also if the value has the field, too:
    a deleted row has its key only. Any other key is the column `_kafka_key`. Beside the columns of
    the table are UPSERT_COLUMNS, with PREFIX before their names.

    Raises:
        TableError: A field has the name of another column, or is in key and value with two types.
    """
    key, value = schema["key"].dataType, schema["value"].dataType
    keys = _fields(quoted("key"), key, KEY_COLUMN)
    values = _fields(quoted("value"), value, "value")
    in_values = _types(value)
    for name, there in _types(key).values():
        other = in_values.get(name.lower())
        if other is None:
            continue
        if there.simpleString() != other.type.simpleString():
            raise TableError(
                f"the field {name} is {there.simpleString()} in the keys of topic {topic} and "
                f"{other.type.simpleString()} in its values: one column cannot be both"
            )
        del values[other.name]
    _check_no_clash(values, keys, topic, "rename one of them in its schema")
    added = {f"{PREFIX}{name}": value for name, value in UPSERT_COLUMNS.items()}
    taken = added | dict.fromkeys(_OF_CHANGES, "")
    _check_no_clash(keys | values, taken, topic, "rename it in the schema")
    return tuple(keys), keys | values | added


def keys_of_changes(schema: T.StructType, prefix: str, topic: str) -> tuple[str, ...]:
    """The columns of the key of a database's table: the fields of the records' keys.

    Raises:
        TableError: The keys are not structs, so that their columns are not known.
    """
    name = f"{prefix}key"
    key = schema[name].dataType if name in schema.names else None
    if not isinstance(key, T.StructType):
        raise TableError(
            f"the columns of the key of topic {topic} are not known, because its keys are not "
            "decoded as a struct: set key.format (for JSON also key.schema), or give `keys`"
        )
    return tuple(key.names)


def _fields(value: str, type_: T.DataType, name: str) -> Columns:
    """A column for each field of a struct; one with the name for any other value.

    Args:
        value: An expression of SQL.
        type_: Its type.
        name: The name.
    """
    if not isinstance(type_, T.StructType):
        return {name: value}
    return {each.name: f"{value}.{quoted(each.name)}" for each in type_}


class _Field(NamedTuple):
    name: str
    type: T.DataType


def _types(type_: T.DataType) -> dict[str, _Field]:
    """The fields of a struct by their names in lower case; nothing of another type."""
    fields = type_.fields if isinstance(type_, T.StructType) else ()
    return {each.name.lower(): _Field(each.name, each.dataType) for each in fields}


def _check_no_clash(columns: Columns, added: Columns, topic: str, cure: str) -> None:
    names = {each.lower() for each in added}
    clash = [each for each in columns if each.lower() in names]
    if clash:
        raise TableError(
            f"the values of topic {topic} have a field {clash[0]}, which is also the name of a "
            f"column that the table gets in addition: {cure}"
        )
