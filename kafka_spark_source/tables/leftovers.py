"""What a killed driver leaves of a table of Delta that it was about to create.

Delta writes a table's first version into its folder, and only then names the table in the catalog.
A driver that is killed in between leaves a folder that CREATE TABLE refuses, because it is not
empty: without a version, which is removed, or with one, which gets its name.
"""

from __future__ import annotations

import re
from typing import Final

from pyspark.sql import SparkSession

from kafka_spark_source.changes.sql import quoted, text
from kafka_spark_source.tables.files import listed, remove

_REFUSED: Final = re.compile(
    r"\[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION\].*?location \('(.+?)'\) is not empty", re.S
)
# What Delta makes before a version: no other file may be removed.
_UNFINISHED: Final = re.compile(r"_delta_log(?:/[^/]+)*/\.\d{20}\.json\.[^/]+\.tmp")
_FIRST_VERSION: Final = "_delta_log/00000000000000000000.json"


def create_again(
    spark: SparkSession, statement: str, table: str, mark: tuple[str, str], error: Exception
) -> str | None:
    """The statement that creates a table after CREATE TABLE was refused; None to give up.

    Args:
        spark: The session.
        statement: The refused statement.
        table: The table, as SQL spells it.
        mark: The property, and its value, of tables that are created so.
        error: The refusal, which names the folder.
    """
    refused = _REFUSED.search(str(error))
    if refused is None:
        return None
    location = refused[1]
    files, folders = listed(spark, location)
    is_log = all(each == "_delta_log" or each.startswith("_delta_log/") for each in folders)
    if is_log and all(map(_UNFINISHED.fullmatch, files)):
        remove(spark, location, [*files, *reversed(folders), ""])
        return statement
    if _FIRST_VERSION in files and _has(spark, location, mark):
        return f"CREATE TABLE IF NOT EXISTS {table} USING delta LOCATION {text(location)}"
    return None


def _has(spark: SparkSession, location: str, mark: tuple[str, str]) -> bool:
    """Whether the table in a folder has a property."""
    rows = spark.sql(f"SHOW TBLPROPERTIES delta.{quoted(location)}").collect()
    return mark in {(row["key"], row["value"]) for row in rows}
