"""The versions of rows, for a target with history: each change of a key is a version of its row.

A version is known by its key, its sequence and its place in Kafka. The target's versions of the
micro-batch's keys are put in order together with the new ones, so a change that comes late finds
its place, and one that comes again is there already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql.window import Window

from kafka_spark_source.changes.arguments import (
    AT,
    CURRENT,
    LOST,
    LOST_AT,
    PLACE,
    POSITION,
    SEQUENCE,
    TOMBSTONE,
    UNAVAILABLE,
    VALID_FROM,
    VALID_TO,
    Arguments,
)
from kafka_spark_source.changes.checks import in_order
from kafka_spark_source.changes.expressions import quoted_column
from kafka_spark_source.changes.known_values import with_known_values, with_values_of_old_keys
from kafka_spark_source.changes.order import (
    by_offsets,
    by_values,
    in_one_partition,
    of_row,
    raised,
    unordered,
)
from kafka_spark_source.changes.rows import change_at, text_parts
from kafka_spark_source.changes.sql import failure, quoted
from kafka_spark_source.changes.statement import UNKNOWN
from kafka_spark_source.changes.types import comparable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.window import WindowSpec

_IS_KNOWN: Final = "_pykafka_is_known"
_IS_OTHER: Final = "_pykafka_is_other"
_NEXT: Final = "_pykafka_next"
_REPEATS: Final = "_pykafka_repeats"
_VERSION: Final = "_pykafka_version"


def all_versions(
    changes: DataFrame,
    target: DataFrame,
    arguments: Arguments,
    columns: Sequence[str],
    new_keys: int = 0,
) -> DataFrame:
    """The versions of the keys that changed, with the time in which each is valid.

    Args:
        changes: The changes of a micro-batch, with VALID_FROM, and with AT if there is
            `sequence_by`.
        target: The rows of the target, with all columns.
        arguments: The arguments of `apply_changes`.
        columns: The columns of the table, keys first.
        new_keys: How many changes may give a row a new key, and lack values of the row.
    """
    keys = columns[: len(arguments.keys)]
    versions = _with_those_of(target, changes, arguments, columns)
    if UNAVAILABLE in changes.columns:
        if new_keys:
            versions = with_values_of_old_keys(versions, None, arguments, columns)
        versions = _complete(with_known_values(versions, arguments, columns), keys, columns)
    if arguments.sequence_by:
        versions = _without_repetitions(versions, arguments, columns)
    by_key = Window.partitionBy(*_columns(keys)).orderBy(*in_order(arguments))
    return _with_times(versions, arguments, by_key)


def _with_times(versions: DataFrame, arguments: Arguments, by_key: WindowSpec) -> DataFrame:
    ours, theirs = change_at(arguments, f"{_NEXT}."), change_at(arguments)
    if arguments.sequence_by:
        # The next one has the higher sequence, so this one may be backwards.
        refusals = by_values(theirs, ours, text_parts(versions.schema[SEQUENCE].dataType))
        equal = (
            f"{ours.sequence} = {theirs.sequence} AND {ours.position}.offset IS NOT NULL AND "
            f"{theirs.position}.offset IS NOT NULL AND "
            f"NOT {in_one_partition(ours.position, theirs.position)}"
        )
        refusals = [
            *refusals,
            (equal, unordered(ours, theirs)),
            (_IS_OTHER, unordered(theirs, theirs._replace(place="'a version of the table'"))),
        ]
    else:
        refusals = by_offsets(ours, theirs, arguments.topic_ids)
    position = [AT] if arguments.sequence_by else []
    following = F.struct(*_columns([SEQUENCE, *position, PLACE, VALID_FROM]))
    is_last = F.lead(F.lit(True)).over(by_key).isNull()
    ordered = versions.withColumns(
        {_NEXT: F.lead(following).over(by_key), CURRENT: is_last & ~F.col(TOMBSTONE)}
    )
    ends = F.expr(f"CASE {raised(refusals)} ELSE {_NEXT}.{VALID_FROM} END")
    return ordered.withColumn(VALID_TO, ends).drop(_NEXT, _IS_OTHER)


def _with_those_of(
    target: DataFrame, changes: DataFrame, arguments: Arguments, columns: Sequence[str]
) -> DataFrame:
    """The changes and the target's versions of their keys, each version once.

    A change that the target has gets the values that it sends, as for a column that was added
    later, and keeps the others of the version.
    """
    keys = columns[: len(arguments.keys)]
    position = [AT] if arguments.sequence_by else []
    changed_keys = changes.select(*_columns(keys)).distinct()
    known = target.join(changed_keys, [*keys], "left_semi").select(
        *_columns([*columns, SEQUENCE, *position, TOMBSTONE, VALID_FROM])
    )
    row = of_row(quoted(SEQUENCE), quoted(AT if position else SEQUENCE))
    known = known.withColumns(
        {
            TOMBSTONE: F.coalesce(F.col(TOMBSTONE), F.lit(False)),
            PLACE: F.expr(row.place),
            _IS_KNOWN: F.lit(True),
        }
    )
    both = changes.withColumn(_IS_KNOWN, F.lit(False)).unionByName(known, allowMissingColumns=True)
    identity = [*_columns([*keys, SEQUENCE])]
    identity += [F.col(AT)[each] for each in POSITION if position]
    same = Window.partitionBy(*identity)
    kept = [*columns, SEQUENCE, *position, TOMBSTONE, VALID_FROM]
    version = F.struct(*(quoted_column(each).alias(_held(at)) for at, each in enumerate(kept)))
    number = "_pykafka_number"
    numbered = both.withColumns(
        {
            number: F.row_number().over(same.orderBy(_IS_KNOWN)),
            _VERSION: F.first(F.when(F.col(_IS_KNOWN), version), ignorenulls=True).over(same),
        }
    ).where(F.col(number) == 1)
    return _with_values_of_version(numbered.drop(number), kept, arguments, columns).drop(_VERSION)


def _with_values_of_version(
    changes: DataFrame, kept: Sequence[str], arguments: Arguments, columns: Sequence[str]
) -> DataFrame:
    """The changes that the target has, as versions of it."""
    has_version = F.col(_VERSION).isNotNull()
    sent = columns[len(arguments.keys) :]
    values = {
        each: F.when(has_version, F.col(_VERSION)[_held(at)]).otherwise(quoted_column(each))
        for at, each in enumerate(kept)
        if each not in columns and each != TOMBSTONE
    }
    has_unavailable = UNAVAILABLE in changes.columns
    if has_unavailable:
        for at, each in enumerate(kept):
            if each in sent:
                is_kept = has_version & F.array_contains(F.col(UNAVAILABLE), each)
                held = F.col(_VERSION)[_held(at)]
                values[each] = F.when(is_kept, held).otherwise(quoted_column(each))
    new = changes.withColumns(values)
    if arguments.sequence_by:
        # Without a place in Kafka only equal contents are the same change.
        types = {each.name: each.dataType for each in new.schema}
        same = [
            F.expr(comparable(quoted(each), types[each])).eqNullSafe(
                F.expr(comparable(f"{_VERSION}.{_held(at)}", types[each]))
            )
            for at, each in enumerate(kept)
            if each in sent or each == TOMBSTONE
        ]
        is_same = F.lit(True)
        for condition in same:
            is_same &= condition
        new = new.withColumn(_IS_OTHER, has_version & F.col(AT)["offset"].isNull() & ~is_same)
    if has_unavailable:
        new = new.withColumn(UNAVAILABLE, F.when(~has_version, F.col(UNAVAILABLE)))
    return new.withColumn(_IS_KNOWN, has_version)


def _without_repetitions(
    versions: DataFrame, arguments: Arguments, columns: Sequence[str]
) -> DataFrame:
    """Without new versions that are equal to the one before, with the same sequence.

    Debezium writes changes again after a restart.
    """
    keys = columns[: len(arguments.keys)]
    by_key = Window.partitionBy(*_columns(keys)).orderBy(*in_order(arguments))
    compared = [each for each in versions.schema if each.name in {*columns, TOMBSTONE} - {*keys}]
    contents = F.struct(
        *(
            F.expr(comparable(quoted(each.name), each.dataType)).alias(_held(at))
            for at, each in enumerate(compared)
        )
    )
    previous = F.lag(F.struct(F.col(SEQUENCE).alias("by"), contents.alias("contents"))).over(by_key)
    is_repetition = (previous["by"] == F.col(SEQUENCE)) & previous["contents"].eqNullSafe(contents)
    marked = versions.withColumn(
        _REPEATS, F.coalesce(is_repetition & ~F.col(_IS_KNOWN), F.lit(False))
    )
    return marked.where(~F.col(_REPEATS)).drop(_REPEATS)


def _complete(versions: DataFrame, keys: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """The same versions; a value that no change has is an error when it is written."""
    values = {
        each: F.when(
            F.array_contains(F.col(UNAVAILABLE), each),
            F.expr(failure(f"column {each} of the change of ", UNKNOWN, quoted(PLACE))),
        ).otherwise(quoted_column(each))
        for each in columns
        if each not in keys
    }
    return versions.withColumns(values).drop(UNAVAILABLE, LOST, LOST_AT)


def _held(number: int) -> str:
    return f"v{number}"


def _columns(names: Sequence[str]) -> list[Column]:
    return [*map(quoted_column, names)]
