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
from kafka_spark_source.changes.rows import with_known_values
from kafka_spark_source.changes.statement import MOVED, UNKNOWN, failure, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

_IS_NEW: Final = "_pykafka_is_new"


def all_versions(
    changes: DataFrame,
    target: DataFrame,
    keys: Sequence[str],
    columns: Sequence[str],
    *,
    by_position: bool,
) -> DataFrame:
    """The versions of the keys that changed, with the time in which each is valid.

    Args:
        changes: The changes of a micro-batch, with VALID_FROM.
        target: The rows of the target.
        keys: The columns of the key.
        columns: The columns of the table, keys first.
        by_position: Whether the sequence is a record's position, which orders a partition only.
    """
    ordered = _with_those_of(target, changes, keys, columns)
    if UNAVAILABLE in changes.columns:
        ordered = _complete(with_known_values(ordered, keys, columns), keys, columns)
    in_order = Window.partitionBy(*_columns(keys)).orderBy(F.col(SEQUENCE))
    end = F.lead(VALID_FROM).over(in_order)
    if by_position:
        place = F.struct(f"{SEQUENCE}.topic", f"{SEQUENCE}.partition")
        moved = F.lead(place).over(in_order) != place
        end = F.when(moved, F.expr(failure("the change of ", MOVED, quoted(PLACE)))).otherwise(end)
    is_last = F.lead(F.lit(True)).over(in_order).isNull()
    return ordered.withColumns({VALID_TO: end, CURRENT: is_last & ~F.col(TOMBSTONE)})


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
