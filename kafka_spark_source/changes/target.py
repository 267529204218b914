"""The target, a table of Delta or Iceberg by name or by path: checks, and columns that it lacks."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.sql import types as T

from kafka_spark_source.changes.arguments import (
    CURRENT,
    HISTORY,
    SEQUENCE,
    TOMBSTONE,
    VALID_FROM,
    VALID_TO,
    Arguments,
    ChangeError,
)
from kafka_spark_source.changes.sql import quoted
from kafka_spark_source.changes.types import fits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Row, SparkSession

FORMATS: Final = ("delta", "iceberg")
MOMENTS: Final = "'delta.feature.timestampNtz' = 'supported'"
# Spark's schemas have `string` for it, and the text of the type beside.
_PADDED: Final = re.compile(r"\bchar\(")
_DECLARED: Final = "__CHAR_VARCHAR_TYPE_STRING"
_ICEBERG_CATALOG: Final = "org.apache.iceberg.spark.SparkCatalog"


def sql_name(spark: SparkSession, target: str) -> str:
    """The target as statements name it.

    Raises:
        ChangeError: The table does not exist, or it is neither of Delta nor of Iceberg.
    """
    if "/" in target and "`" not in target:
        return _at_path(spark, target.rstrip("/"))
    try:
        description = spark.sql(f"DESCRIBE TABLE EXTENDED {target}").collect()
    except PySparkException as error:
        raise ChangeError(
            f"the target {target} cannot be described: {first_line(error)}"
        ) from error
    provider = provider_of(description)
    if provider not in FORMATS:
        raise ChangeError(
            f"the target {target} is {provider or 'of no known format'}, but MERGE needs a table "
            "of Delta or Iceberg"
        )
    return target


def missing_columns(
    target: T.StructType, rows: T.StructType, arguments: Arguments
) -> list[T.StructField]:
    """The columns that the target lacks; there are some only with `evolve`.

    Args:
        target: The columns of the target.
        rows: The columns of the changes that the table gets, with SEQUENCE, with AT if rows have
            topic, partition and offset, and with VALID_FROM if there is a history.
        arguments: The arguments of `apply_changes`.

    Raises:
        ChangeError: The target lacks a key, or any column without `evolve`; a column that a
            deleted row leaves empty is NOT NULL; a column cannot have all values of the rows; or
            the target was filled in another way.
    """
    present = {field.name.lower(): field for field in target}
    wanted = [*rows, *_own_fields(rows, arguments)]
    missing = [field for field in wanted if field.name.lower() not in present]
    lacks = {field.name.lower() for field in missing}
    keys = [each for each in arguments.keys if each.lower() in lacks]
    if keys:
        raise ChangeError(
            f"the target {arguments.target} has no column {', '.join(keys)}, which is a key; its "
            f"columns are {', '.join(target.names)}"
        )
    _check_history(present, rows, arguments)
    if missing and not arguments.evolve:
        raise ChangeError(
            f"the target {arguments.target} lacks columns: {_listed(missing)}. Let apply_changes "
            "add them with evolve=True, add them yourself, or choose others with `columns`"
        )
    _check_sequence(present.get(SEQUENCE), rows[SEQUENCE], arguments)
    _check_types(present, wanted, arguments)
    _check_not_padded(target, arguments)
    if arguments.tombstones:
        _check_nullable(present, arguments)
    return missing


def add_columns(spark: SparkSession, table: str, fields: Sequence[T.StructField]) -> None:
    """Add columns to the table, all at once, with nulls in its rows.

    Raises:
        ChangeError: The table does not take them, as Delta names with blanks.
    """
    nullable = nullable_type(T.StructType([*fields]))
    try:
        if any(has_moments(each.dataType) for each in fields) and _is_delta(spark, table):
            spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({MOMENTS})")
        spark.sql(f"ALTER TABLE {table} ADD COLUMNS ({nullable.toDDL()})")
    except Exception as error:  # of Delta's features it is an error of Py4J
        raise ChangeError(
            f"the target {table} does not take the columns {_listed(fields)}: {first_line(error)}."
            " Add them yourself, e.g. with a property of the table that allows them, choose others "
            "with `columns`, or give them other names or types: withColumnRenamed, cast"
        ) from error


def nullable_type(type_: T.StructType) -> T.StructType:
    """The type with fields that can be null, in structs, too: formats add no others."""

    def nullable(inner: T.DataType) -> T.DataType:
        if isinstance(inner, T.StructType):
            return nullable_type(inner)
        if isinstance(inner, T.ArrayType):
            return T.ArrayType(nullable(inner.elementType))
        if isinstance(inner, T.MapType):
            return T.MapType(nullable(inner.keyType), nullable(inner.valueType))
        return inner

    return T.StructType([T.StructField(each.name, nullable(each.dataType)) for each in type_])


def _is_delta(spark: SparkSession, table: str) -> bool:
    return provider_of(spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()) == "delta"


def has_moments(type_: T.DataType) -> bool:
    """Whether a type has a TIMESTAMP_NTZ in it: a table of Delta needs a feature for it."""
    if isinstance(type_, T.StructType):
        return any(has_moments(each.dataType) for each in type_)
    if isinstance(type_, T.ArrayType):
        return has_moments(type_.elementType)
    if isinstance(type_, T.MapType):
        return has_moments(type_.keyType) or has_moments(type_.valueType)
    return isinstance(type_, T.TimestampNTZType)


def _own_fields(rows: T.StructType, arguments: Arguments) -> list[T.StructField]:
    """The columns that `apply_changes` writes, beside the columns in `rows`."""
    types: dict[str, T.DataType] = {TOMBSTONE: T.BooleanType()}
    if arguments.history:
        types |= {VALID_TO: rows[VALID_FROM].dataType, CURRENT: T.BooleanType()}
    return [T.StructField(name, types[name]) for name in arguments.own_columns if name in types]


def _check_sequence(
    present: T.StructField | None, given: T.StructField, arguments: Arguments
) -> None:
    if present is None:
        return
    if not fits(given.dataType, present.dataType):
        there, ours = (each.dataType.simpleString() for each in (present, given))
        raise ChangeError(
            f"the sequences in {arguments.target} are {there}, and the new ones {ours}: "
            "they cannot be compared. Use the `sequence_by` that the table was filled with, cast "
            "to its type, or a new table"
        )


def _check_types(
    present: dict[str, T.StructField], wanted: Sequence[T.StructField], arguments: Arguments
) -> None:
    """Check that the target can have all values of the rows: a MERGE would cast them."""
    keys = {each.lower() for each in arguments.keys}
    for field in wanted:
        there = present.get(field.name.lower(), field).dataType
        if fits(field.dataType, there) or field.name == SEQUENCE:
            continue
        what = "key" if field.name.lower() in keys else "column"
        raise ChangeError(
            f"the {what} {field.name} is {field.dataType.simpleString()} in the rows and "
            f"{there.simpleString()} in the target {arguments.target}, which cannot have all of "
            "its values. Widen the column of the target (ALTER TABLE ... ALTER COLUMN ... TYPE, if "
            "the table allows it), fill a new table, or cast the column of the rows"
        )


def _check_not_padded(target: T.StructType, arguments: Arguments) -> None:
    """Check that no column of the target is a CHAR, which has no text as it is given.

    Delta's MERGE fails for it, and a key without the blanks would be another one.
    """
    if padded := padded_columns(target):
        raise ChangeError(
            f"the target {arguments.target} has columns of the type CHAR: {', '.join(padded)}. It "
            "pads texts with blanks, so a row would differ from its change: fill a new table with "
            "string or varchar columns"
        )


def _check_history(
    present: dict[str, T.StructField], rows: T.StructType, arguments: Arguments
) -> None:
    """Check that a table with versions of rows stays one, and no other becomes one."""
    names = {each.name.lower() for each in rows}
    has_history = {*HISTORY, SEQUENCE} <= present.keys() and not names & {VALID_TO, CURRENT}
    if has_history and not arguments.history:
        raise ChangeError(
            f"the target {arguments.target} has versions of rows, with {', '.join(HISTORY)}, and "
            "each would be overwritten: give `history`, as when it was filled, or a new table"
        )
    if arguments.history and SEQUENCE in present and not {*HISTORY} <= present.keys():
        raise ChangeError(
            f"the target {arguments.target} was filled without `history`: leave it out, or give a "
            "new table, and fill it from the first offset on"
        )


def _check_nullable(present: dict[str, T.StructField], arguments: Arguments) -> None:
    kept = {each.lower() for each in arguments.keys} | {SEQUENCE, *HISTORY}
    strict = [
        field.name for name, field in present.items() if name not in kept and not field.nullable
    ]
    if strict:
        raise ChangeError(
            f"the target {arguments.target} has columns that are NOT NULL: {', '.join(strict)}. A "
            "deleted row keeps only its keys: drop NOT NULL, or let deletes remove rows, with "
            "tombstones=False"
        )


def padded_columns(columns: T.StructType) -> list[str]:
    """The columns of the type CHAR, which pads texts with blanks."""
    return [each.name for each in columns if _PADDED.search(each.metadata.get(_DECLARED, ""))]


def provider_of(description: Sequence[Row]) -> str:
    """The format of a table, in lower case, of the rows of DESCRIBE TABLE EXTENDED."""
    providers = [row["data_type"] for row in description if row["col_name"] == "Provider"]
    return str(providers[-1]).lower() if providers else ""


def _at_path(spark: SparkSession, path: str) -> str:
    table = f"delta.{quoted(path)}"
    try:
        spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    except PySparkException as not_delta:
        return _iceberg_at(spark, path, not_delta)
    return table


def _iceberg_at(spark: SparkSession, path: str, not_delta: PySparkException) -> str:
    """A table of Iceberg at a path, in a catalog of the folder: SQL has no other name for it."""
    try:
        spark.read.format("iceberg").load(path).schema  # noqa: B018 - it is loaded then
    except Exception as error:  # without Iceberg's jars it is an error of Py4J
        raise ChangeError(
            f"the target {path} is not a table of Delta ({first_line(not_delta)}), and not one of "
            f"Iceberg ({first_line(error)})"
        ) from error
    folder, _, name = path.rpartition("/")
    catalog = f"pykafka_{hashlib.sha256(folder.encode()).hexdigest()[:16]}"
    settings = {"": _ICEBERG_CATALOG, ".type": "hadoop", ".warehouse": folder or "/"}
    for key, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.{catalog}{key}", value)
    return f"{catalog}.{quoted(name)}"


def _listed(fields: Sequence[T.StructField]) -> str:
    return ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in fields)


def first_line(error: Exception) -> str:
    """The first line that says what is wrong; Py4J has one about itself before it."""
    lines = str(error).strip().split("\n")
    return next((each[2:] for each in lines if each.startswith(": ")), lines[0])
