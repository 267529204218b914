"""The target, a table of Delta or Iceberg by name or by path: checks, and columns that it lacks."""

from __future__ import annotations

import hashlib
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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

_FORMATS: Final = ("delta", "iceberg")
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
            f"the target {target} cannot be described: {_first_line(error)}"
        ) from error
    providers = [row["data_type"] for row in description if row["col_name"] == "Provider"]
    if not providers or providers[-1].lower() not in _FORMATS:
        found = providers[-1] if providers else "of no known format"
        raise ChangeError(
            f"the target {target} is {found}, but MERGE needs a table of Delta or Iceberg"
        )
    return target


def missing_columns(
    target: T.StructType, rows: T.StructType, arguments: Arguments
) -> list[T.StructField]:
    """The columns that the target lacks; there are some only with `evolve`.

    Args:
        target: The columns of the target.
        rows: The columns of the changes that the table gets, with SEQUENCE, and with VALID_FROM
            if there is a history.
        arguments: The arguments of `apply_changes`.

    Raises:
        ChangeError: The target lacks a key, or any column without `evolve`; a column that a
            deleted row leaves empty is NOT NULL; or its sequence has another type.
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
    if missing and not arguments.evolve:
        raise ChangeError(
            f"the target {arguments.target} lacks columns: {_listed(missing)}. Let apply_changes "
            "add them with evolve=True, add them yourself, or choose others with `columns`"
        )
    _check_sequence(present.get(SEQUENCE), rows[SEQUENCE], arguments)
    if arguments.tombstones:
        _check_nullable(present, rows, arguments)
    return missing


def add_columns(spark: SparkSession, table: str, fields: Sequence[T.StructField]) -> None:
    """Add columns to the table, all at once, with nulls in its rows.

    Raises:
        ChangeError: The table does not take them, as Delta names with blanks.
    """
    nullable = [T.StructField(each.name, each.dataType) for each in fields]
    try:
        spark.sql(f"ALTER TABLE {table} ADD COLUMNS ({T.StructType(nullable).toDDL()})")
    except PySparkException as error:
        raise ChangeError(
            f"the target {table} does not take the columns {_listed(fields)}: {_first_line(error)}"
        ) from error


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
    there, ours = (each.dataType.simpleString() for each in (present, given))
    if there != ours:
        raise ChangeError(
            f"the sequences in {arguments.target} are {there}, and the new ones {ours}: "
            "they cannot be compared. Use the `sequence_by` that the table was filled with, or a "
            "new table"
        )


def _check_nullable(
    present: dict[str, T.StructField], rows: T.StructType, arguments: Arguments
) -> None:
    keys = {each.lower() for each in arguments.keys}
    strict = [
        field.name
        for field in rows
        if field.name.lower() not in keys | {SEQUENCE, *HISTORY}
        and not present.get(field.name.lower(), field).nullable
    ]
    strict = [each for each in strict if each.lower() in present]
    if strict:
        raise ChangeError(
            f"the target {arguments.target} has columns that are NOT NULL: {', '.join(strict)}. A "
            "deleted row keeps only its keys: drop NOT NULL, or let deletes remove rows, with "
            "tombstones=False"
        )


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
            f"the target {path} is not a table of Delta ({_first_line(not_delta)}), and not one of "
            f"Iceberg ({_first_line(error)})"
        ) from error
    folder, _, name = path.rpartition("/")
    catalog = f"pykafka_{hashlib.sha256(folder.encode()).hexdigest()[:16]}"
    settings = {"": _ICEBERG_CATALOG, ".type": "hadoop", ".warehouse": folder or "/"}
    for key, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.{catalog}{key}", value)
    return f"{catalog}.{quoted(name)}"


def _listed(fields: Sequence[T.StructField]) -> str:
    return ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in fields)


def _first_line(error: Exception) -> str:
    """The first line that says what is wrong; Py4J has one about itself before it."""
    lines = str(error).strip().split("\n")
    return next((each[2:] for each in lines if each.startswith(": ")), lines[0])
