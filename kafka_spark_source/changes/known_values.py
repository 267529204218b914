"""Values that the database did not send, from changes before, and from the row of an old key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql.window import Window

from kafka_spark_source.changes.arguments import (
    AT,
    LOST,
    LOST_AT,
    PLACE,
    SEQUENCE,
    TOMBSTONE,
    UNAVAILABLE,
    Arguments,
)
from kafka_spark_source.changes.checks import in_order
from kafka_spark_source.changes.expressions import any_of, quoted_column
from kafka_spark_source.changes.rows import CREATED, SOURCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.window import WindowSpec

# Between the delete of the old key and the insert of the new one are a tombstone, and the marker of
# a transaction.
_NEAR: Final = 3
_LINK: Final = "_pykafka_link"
_OLD_LINK: Final = "_pykafka_old_link"
_NUMBER: Final = "_pykafka_number"


def with_known_values(
    changes: DataFrame, arguments: Arguments, columns: Sequence[str]
) -> DataFrame:
    """Values that the database did not send, from the change of the key before, if it has them.

    UNAVAILABLE then names the columns whose values no change has; it is null if all are known. LOST
    names columns whose values were deleted with the row, by the delete LOST_AT: a deleted row has
    no values to keep. A row of the target that is newer than the delete has them.
    """
    keys, others = _parted(arguments, columns)
    upto = _of_key(arguments, keys).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    held = _with_holders(changes, others, upto)
    lost, unknown = [], []
    for number, each in enumerate(others):
        holder = F.col(_holder(number))
        is_lost = F.coalesce(holder["gone"] & ~F.col(TOMBSTONE), F.lit(False))
        lost.append(F.when(is_lost, F.lit(each)))
        unknown.append(F.when(holder.isNull() | is_lost, F.lit(each)))
    values = [F.col(_holder(number))["value"].alias(each) for number, each in enumerate(others)]
    kept = [quoted_column(each) for each in changes.columns if each not in {*others, UNAVAILABLE}]
    own = [SEQUENCE, *([AT] if arguments.sequence_by else []), PLACE]
    delete = F.when(F.col(TOMBSTONE), F.struct(*own))
    return held.select(
        *(*kept, *values),
        _names(unknown).alias(UNAVAILABLE),
        _names(lost).alias(LOST),
        F.last(delete, ignorenulls=True).over(upto).alias(LOST_AT),
    )


def with_values_of_old_keys(
    changes: DataFrame, rows: DataFrame | None, arguments: Arguments, columns: Sequence[str]
) -> DataFrame:
    """Values that an insert with a new key lacks, from the row of the old key before its delete.

    Debezium writes an update of the key as a delete and an insert, and a large value (TOAST) that
    the update leaves unchanged is in neither.

    Args:
        changes: The changes.
        rows: The rows of the target; None if the changes have them.
        arguments: The arguments of `apply_changes`.
        columns: The columns of the table, keys first.
    """
    linked = _with_links(changes, arguments)
    missing = _missing(linked)
    while missing:  # the row of an old key may have got its values from a still older one
        linked = _with_values_of_one(linked, rows, arguments, columns).localCheckpoint()
        before, missing = missing, _missing(linked)
        if missing == before:
            break
    return linked.drop(_LINK)


def _with_values_of_one(
    changes: DataFrame, rows: DataFrame | None, arguments: Arguments, columns: Sequence[str]
) -> DataFrame:
    keys, others = _parted(arguments, columns)
    deletes = changes.where(F.col(TOMBSTONE) & F.col(_LINK).isNotNull())
    wanted = changes.where(_lacks_values()).select(_LINK)
    deletes = deletes.join(wanted, _LINK, "left_semi")
    both = changes
    if rows is not None:
        at = [AT] if arguments.sequence_by else []
        known = rows.join(
            deletes.select(*map(quoted_column, keys)).distinct(), [*keys], "left_semi"
        )
        known = known.where(~F.coalesce(F.col(TOMBSTONE), F.lit(False)))
        known = known.select(*map(quoted_column, [*columns, SEQUENCE, *at]))
        known = known.withColumn(TOMBSTONE, F.lit(False))
        both = changes.unionByName(known, allowMissingColumns=True)
    before = _of_key(arguments, keys).rowsBetween(Window.unboundedPreceding, -1)
    # Debezium may write a delete again: before the first one the row was there.
    again = Window.partitionBy(_LINK, *map(quoted_column, keys)).orderBy(*in_order(arguments))
    # Deletes of several rows in one place of the log: it is unknown which of them is the one.
    count = F.count(F.lit(1)).over(Window.partitionBy(_LINK))
    states = (
        _with_holders(both, others, before)
        .where(F.col(TOMBSTONE) & F.col(_LINK).isNotNull())
        .withColumn(_NUMBER, F.row_number().over(again))
        .where(F.col(_NUMBER) == 1)
        .withColumn(_OLD_LINK, F.when(count == 1, F.col(_LINK)))
    )
    old = {each: f"_pykafka_old_{number}" for number, each in enumerate(keys)}
    states = states.select(
        _OLD_LINK,
        *(quoted_column(each).alias(name) for each, name in old.items()),
        *(_holder(number) for number in range(len(others))),
    )
    is_other = [~quoted_column(each).eqNullSafe(F.col(name)) for each, name in old.items()]
    is_linked = (F.col(_LINK) == F.col(_OLD_LINK)) & _lacks_values() & any_of(is_other)
    joined = changes.join(states, is_linked, "left")
    is_known = {
        each: F.col(_holder(number)).isNotNull()
        & ~F.col(_holder(number))["gone"]
        & F.array_contains(F.col(UNAVAILABLE), each)
        for number, each in enumerate(others)
    }
    values = {
        each: F.when(is_known[each], F.col(_holder(number))["value"]).otherwise(quoted_column(each))
        for number, each in enumerate(others)
    }
    known_now = _names([F.when(is_known[each], F.lit(each)) for each in others])
    left = F.when(known_now.isNull(), F.col(UNAVAILABLE)).otherwise(
        F.array_except(F.col(UNAVAILABLE), known_now)
    )
    return joined.withColumns({**values, UNAVAILABLE: left}).select(
        *map(quoted_column, changes.columns)
    )


def _with_links(changes: DataFrame, arguments: Arguments) -> DataFrame:
    """The changes with a text that a delete and the insert of the same row have in common."""
    at = F.col(AT if arguments.sequence_by else SEQUENCE)
    # Not the row before: a record may have two changes, and a micro-batch a record twice.
    records = Window.partitionBy(at["topic"], at["topicId"], at["partition"]).orderBy(at["offset"])
    change = F.struct(
        at["offset"].alias("offset"),
        (~F.col(TOMBSTONE)).alias("is_row"),
        F.col(PLACE).alias("place"),
    )
    before = F.max(change).over(records.rangeBetween(Window.unboundedPreceding, -1))
    is_deleted = F.max(TOMBSTONE).over(records.rangeBetween(0, 0))
    is_next = ~before["is_row"] & (at["offset"] - before["offset"] <= _NEAR)
    beside = F.when(F.col(TOMBSTONE) | (F.col(CREATED) & is_deleted), F.col(PLACE)).when(
        F.col(CREATED) & is_next, before["place"]
    )
    return changes.withColumn(_LINK, F.coalesce(F.col(SOURCE), beside))


def _lacks_values() -> Column:
    return F.coalesce(F.col(CREATED) & (F.size(UNAVAILABLE) > 0), F.lit(False))


def _missing(linked: DataFrame) -> int:
    lacking = linked.where(_lacks_values() & F.col(_LINK).isNotNull())
    return int(lacking.agg(F.coalesce(F.sum(F.size(UNAVAILABLE)), F.lit(0))).collect()[0][0])


def _with_holders(changes: DataFrame, others: Sequence[str], frame: WindowSpec) -> DataFrame:
    known = {
        _holder(number): F.last(_known(each), ignorenulls=True).over(frame)
        for number, each in enumerate(others)
    }
    return changes.select("*", *(each.alias(name) for name, each in known.items()))


def _known(column: str) -> Column:
    """The value and whether the row is gone; null where the database did not send the value."""
    is_sent = ~F.coalesce(F.array_contains(F.col(UNAVAILABLE), column), F.lit(False))
    is_known = F.col(TOMBSTONE) | is_sent
    value = F.struct(F.col(TOMBSTONE).alias("gone"), quoted_column(column).alias("value"))
    return F.when(is_known, value)


def _holder(number: int) -> str:
    return f"_pykafka_known_{number}"


def _names(names: Sequence[Column]) -> Column:
    """An array of the names that are not null; null if all names are null, as mostly.

    The array can be null, so Spark takes it for nullable in the outer join of a MERGE, too.
    """
    if not names:
        return F.lit(None).cast("array<string>")
    compact = F.array_compact(F.array(*names))
    return F.when(F.size(compact) > 0, compact)


def _of_key(arguments: Arguments, keys: Sequence[str]) -> WindowSpec:
    return Window.partitionBy(*map(quoted_column, keys)).orderBy(*in_order(arguments))


def _parted(
    arguments: Arguments, columns: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The keys, and the other columns."""
    count = len(arguments.keys)
    return tuple(columns[:count]), tuple(columns[count:])
