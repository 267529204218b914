"""The text of the MERGE of a micro-batch. Pure: nothing here knows Spark's sessions.

Both statements are idempotent. `latest_rows` compares sequences, so a change that is not newer than
the row changes nothing. `versions` matches a version by its keys, its sequence and its place in
Kafka, so a change that the table has is found again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kafka_spark_source.changes.arguments import (
    AT,
    CURRENT,
    LOST,
    LOST_AT,
    PLACE,
    SEQUENCE,
    TOMBSTONE,
    UNAVAILABLE,
    VALID_TO,
)
from kafka_spark_source.changes.order import (
    POSITION_TYPE,
    Change,
    TextPart,
    is_newer,
    is_newer_by_values,
    of_row,
)
from kafka_spark_source.changes.sql import failure, quoted, text

TARGET: Final = "t"
SOURCE: Final = "s"
UNKNOWN: Final = (
    "the database did not send its value (TOAST), and no change before it in this micro-batch and "
    "no row of the table has it: apply the topic once from a snapshot on, in one call with a batch "
    "read, or set REPLICA IDENTITY FULL"
)


@dataclass(frozen=True, slots=True)
class Merge:
    """A MERGE.

    Attributes:
        target: The table, as SQL names it.
        source: The view with the changes.
        keys: The columns of the key.
        columns: The columns of the rows, keys first.
        same: Column, except keys -> whether the source and the target have equal values.
        others: Columns of the target that are neither of the rows nor of `apply_changes`.
        by_position: Whether the sequence is a record's position.
        topic_ids: The ids of topics whose order is known, the oldest first.
        texts: The texts in the sequence.
        with_position: Whether the target has AT.
        with_unavailable: Whether the source has UNAVAILABLE and LOST.
        with_tombstones: Whether the target has TOMBSTONE.
        tombstones: Whether deleted rows are kept.
    """

    target: str
    source: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    same: Mapping[str, str]
    others: tuple[str, ...]
    by_position: bool
    topic_ids: tuple[str, ...]
    texts: tuple[TextPart, ...]
    with_position: bool
    with_unavailable: bool
    with_tombstones: bool
    tombstones: bool

    @property
    def own(self) -> tuple[str, ...]:
        """The columns that a change sets in addition to the columns of the rows."""
        position = (AT,) if self.with_position else ()
        return (SEQUENCE, *position, *((TOMBSTONE,) if self.with_tombstones else ()))


def latest_rows(merge: Merge) -> str:
    """The statement for a table with the latest row of each key.

    The source has one row for each key, with the sequence, and TOMBSTONE, which is true for
    a delete.
    """
    newer = _newer(merge)
    is_deleted = _of_source(TOMBSTONE)
    updated = {
        **{each: _kept_or_sent(merge, each) for each in merge.columns if each not in merge.keys},
        **{each: _unless_deleted(merge, each) for each in merge.others},
        **{each: _of_source(each) for each in merge.own},
    }
    inserted = {
        **{each: _sent(merge, each) for each in merge.columns},
        **{each: _of_source(each) for each in merge.own},
    }
    removed = f"WHEN MATCHED AND ({newer}) AND {is_deleted} THEN DELETE"
    only_rows = f" AND NOT {is_deleted}"
    return "\n".join(
        [
            _head(merge),
            *([] if merge.tombstones else [removed]),
            f"WHEN MATCHED AND ({newer}) THEN UPDATE SET {_assignments(updated)}",
            f"WHEN NOT MATCHED{'' if merge.tombstones else only_rows} THEN {_insert(inserted)}",
        ]
    )


def versions(merge: Merge, history: Iterable[str]) -> str:
    """The statement for a table with all versions of each key.

    The source has all versions of the keys of the micro-batch, also the versions in the table.
    `history` names the columns of the target that show when a version is valid.
    """
    ends = (VALID_TO, CURRENT)
    same = " AND ".join(f"{_of_target(each)} <=> {_of_source(each)}" for each in ends)
    others = [each for each in merge.columns if each not in merge.keys]
    updated = {each: _of_source(each) for each in (*others, *ends)}
    inserted = [*merge.columns, *merge.own, *history]
    identity = " AND ".join(
        f"{_of_target(each)} <=> {_of_source(each)}" for each in merge.own if each != TOMBSTONE
    )
    is_other = f"NOT ({same}) OR {_differs(merge)}"
    return "\n".join(
        [
            f"{_head(merge)} AND {identity}",
            f"WHEN MATCHED AND ({is_other}) THEN UPDATE SET {_assignments(updated)}",
            f"WHEN NOT MATCHED THEN {_insert({each: _of_source(each) for each in inserted})}",
        ]
    )


def _head(merge: Merge) -> str:
    same_key = " AND ".join(f"{_of_target(each)} = {_of_source(each)}" for each in merge.keys)
    return (
        f"MERGE INTO {merge.target} AS {TARGET}\n"
        f"USING {quoted(merge.source)} AS {SOURCE}\n"
        f"ON {same_key}"
    )


def _newer(merge: Merge) -> str:
    """Whether the change is newer than the row; a row without a sequence came another way."""
    return _newer_than_row(merge, SOURCE, _differs(merge))


def _newer_than_row(merge: Merge, within: str, differs: str) -> str:
    """Whether a change is newer than the row; `within` has its columns."""
    at = SEQUENCE if merge.by_position else AT
    names = [quoted(each) for each in (SEQUENCE, at, PLACE)]
    ours = Change(*(f"{within}.{each}" for each in names))
    theirs = _change_of_row(merge, at)
    if merge.by_position:
        return is_newer(ours, theirs, merge.topic_ids, differs)
    return is_newer_by_values(ours, theirs, merge.texts, differs)


def _change_of_row(merge: Merge, at: str) -> Change:
    if merge.by_position or merge.with_position:
        return of_row(_of_target(SEQUENCE), _of_target(at))
    nowhere = f"CAST(NULL AS {POSITION_TYPE})"
    return Change(_of_target(SEQUENCE), nowhere, "'a row without a position'")


def _differs(merge: Merge) -> str:
    """Whether the row has other values than the change, except for values that were not sent."""
    same = [_is_same(merge, each) for each in merge.columns if each not in merge.keys]
    if merge.with_tombstones:
        same.append(f"coalesce({_of_target(TOMBSTONE)}, false) = {_of_source(TOMBSTONE)}")
    else:
        same.append(f"NOT {_of_source(TOMBSTONE)}")
    return f"NOT ({' AND '.join(same)})"


def _is_same(merge: Merge, column: str) -> str:
    same = merge.same[column]
    return f"({_is_unavailable(column)} OR {same})" if merge.with_unavailable else f"({same})"


def _kept_or_sent(merge: Merge, column: str) -> str:
    """The value of an update: that of the row, where the database did not send one."""
    if not merge.with_unavailable:
        return _of_source(column)
    is_lost = f"array_contains({_of_source(LOST)}, {text(column)})"
    is_gone = f"{is_lost} AND coalesce({_newer_than_row(merge, _of_source(LOST_AT), 'true')}, true)"
    if merge.with_tombstones:
        is_gone = f"{is_gone} OR {_of_target(TOMBSTONE)}"
    kept = f"CASE WHEN {is_gone} THEN {_unknown(column)} ELSE {_of_target(column)} END"
    return f"CASE WHEN {_is_unavailable(column)} THEN {kept} ELSE {_of_source(column)} END"


def _unless_deleted(merge: Merge, column: str) -> str:
    """The value of a column that the rows lack: a deleted row keeps none, and gets none back."""
    is_gone = _of_source(TOMBSTONE)
    if merge.with_tombstones:
        is_gone = f"{is_gone} OR {_of_target(TOMBSTONE)}"
    return f"CASE WHEN {is_gone} THEN NULL ELSE {_of_target(column)} END"


def _sent(merge: Merge, column: str) -> str:
    """The value of an insert, which fails where the database did not send one."""
    if not merge.with_unavailable or column in merge.keys:
        return _of_source(column)
    return (
        f"CASE WHEN {_is_unavailable(column)} THEN {_unknown(column)} ELSE {_of_source(column)} END"
    )


def _unknown(column: str) -> str:
    return failure(f"column {column} of the change of ", UNKNOWN, _of_source(PLACE))


def _is_unavailable(column: str) -> str:
    return f"coalesce(array_contains({_of_source(UNAVAILABLE)}, {text(column)}), false)"


def _insert(values: dict[str, str]) -> str:
    names = ", ".join(map(quoted, values))
    return f"INSERT ({names}) VALUES ({', '.join(values.values())})"  # noqa: S608 - names are quoted


def _assignments(values: dict[str, str]) -> str:
    return ", ".join(f"{_of_target(name)} = {value}" for name, value in values.items())


def _of_target(column: str) -> str:
    return f"{TARGET}.{quoted(column)}"


def _of_source(column: str) -> str:
    return f"{SOURCE}.{quoted(column)}"
