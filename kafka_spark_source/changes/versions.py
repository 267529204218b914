"""The versions of rows, for a target with history: each change of a key is a version of its row.

A version is known by its key and its sequence. The versions of the micro-batch's keys that the
target has are put in order together with the new ones, so a change that comes late finds its
place, and one that comes again is there already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql.window import Window

from kafka_spark_source.changes.arguments import (
    CURRENT,
    PLACE,
    SEQUENCE,
    TOMBSTONE,
    UNAVAILABLE,
    VALID_FROM,
    VALID_TO,
)
from kafka_spark_source.changes.order import refusals
from kafka_spark_source.changes.rows import in_order, with_known_values
from kafka_spark_source.changes.sql import failure, quoted
from kafka_spark_source.changes.statement import UNKNOWN, Merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

_IS_NEW: Final = "_pykafka_is_new"
_NEXT: Final = "_pykafka_next"
_PLACES: Final = "_pykafka_places"


def all_versions(changes: DataFrame, target: DataFrame, merge: Merge) -> DataFrame:
    """The versions of the keys that changed, with the time in which each is valid.

    Args:
        changes: The changes of a micro-batch, with VALID_FROM.
        target: The rows of the target.
        merge: What will write them.
    """
    keys, columns, topic_ids = merge.keys, merge.columns, merge.topic_ids
    ordered = _with_those_of(target, changes, keys, columns)
    if merge.with_unavailable:
        ordered = _complete(with_known_values(ordered, keys, columns, topic_ids), keys, columns)
    by_key = Window.partitionBy(*_columns(keys)).orderBy(*in_order(topic_ids))
    is_last = F.lead(F.lit(True)).over(by_key).isNull()
    versions = ordered.withColumns(
        {
            VALID_TO: F.lead(VALID_FROM).over(by_key),
            CURRENT: is_last & ~F.col(TOMBSTONE),
            _NEXT: F.lead(SEQUENCE).over(by_key),
            _PLACES: F.concat(F.lead(PLACE).over(by_key), F.lit(" after "), F.col(PLACE)),
        }
    )
    if merge.by_position:
        wrong = refusals(_NEXT, SEQUENCE, topic_ids, _PLACES)
        versions = versions.withColumn(VALID_TO, F.expr(f"CASE {wrong} ELSE {VALID_TO} END"))
    return versions.drop(_NEXT, _PLACES)


def _with_those_of(
    target: DataFrame, changes: DataFrame, keys: Sequence[str], columns: Sequence[str]
) -> DataFrame:
    """The changes and the target's versions of their keys, each version once."""
    changed_keys = changes.select(*_columns(keys)).distinct()
    kept = [*columns, SEQUENCE, TOMBSTONE, VALID_FROM]
    known = target.join(changed_keys, [*keys], "left_semi").select(*_columns(kept))
    known = known.withColumns(
        {
            TOMBSTONE: F.coalesce(F.col(TOMBSTONE), F.lit(False)),
            PLACE: F.lit("a version of the target"),
            _IS_NEW: F.lit(False),
        }
    )
    both = changes.withColumn(_IS_NEW, F.lit(True)).unionByName(known, allowMissingColumns=True)
    same = Window.partitionBy(*_columns([*keys, SEQUENCE])).orderBy(F.col(_IS_NEW))
    number = "_pykafka_number"
    numbered = both.withColumn(number, F.row_number().over(same))
    return numbered.where(F.col(number) == 1).drop(number, _IS_NEW)


def _complete(versions: DataFrame, keys: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """The same versions; a value that no change has is an error when it is written."""
    values = {
        each: F.when(
            F.array_contains(F.col(UNAVAILABLE), each),
            F.expr(failure(f"column {each} of the change of ", UNKNOWN, quoted(PLACE))),
        ).otherwise(_column(each))
        for each in columns
        if each not in keys
    }
    return versions.withColumns(values).drop(UNAVAILABLE)


def _columns(names: Sequence[str]) -> list[Column]:
    return [*map(_column, names)]


def _column(name: str) -> Column:
    return F.col(quoted(name))
