"""The text of the MERGE of a micro-batch. Pure: nothing here knows Spark.

Both statements are idempotent. `latest_rows` compares sequences, so a change that is not newer than
the row changes nothing. `versions` matches a version by its keys and its sequence, so a change
that the table has is found again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kafka_spark_source.changes.arguments import (
    CURRENT,
    PLACE,
    SEQUENCE,
    TOMBSTONE,
    UNAVAILABLE,
    VALID_TO,
)
from kafka_spark_source.changes.order import is_newer
from kafka_spark_source.changes.sql import failure, quoted, text

_TARGET: Final = "t"
_SOURCE: Final = "s"
UNKNOWN: Final = (
    "the database did not send its value (TOAST), and no change before it has it: read the topic "
    "from a snapshot on, or set REPLICA IDENTITY FULL"
)


@dataclass(frozen=True, slots=True)
class Merge:
    """A MERGE.

    Attributes:
        target: The table, as SQL names it.
        source: The view with the changes.
        columns: The columns of the rows, with the keys.
        by_position: Whether the sequence is a record's position.
        topic_ids: The ids of topics whose order is known, the oldest first.
        with_unavailable: Whether rows tell which values the database did not send.
        tombstones: Whether deleted rows are kept.
    """

    target: str
    source: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    by_position: bool
    topic_ids: tuple[str, ...]
    with_unavailable: bool
    tombstones: bool


def latest_rows(merge: Merge) -> str:
    """The statement for a table with the latest row of each key.

    The source has one row for each key, with the sequence, and TOMBSTONE, which is true for
    a delete.
    """
    newer = _newer(merge)
    own = (SEQUENCE, TOMBSTONE) if merge.tombstones else (SEQUENCE,)
    updated = {
        **{each: _kept_or_sent(merge, each) for each in merge.columns if each not in merge.keys},
        **{each: _of_source(each) for each in own},
    }
    inserted = {
        **{each: _sent(merge, each) for each in merge.columns},
        **{each: _of_source(each) for each in own},
    }
    is_deleted = _of_source(TOMBSTONE)
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
    `history` are the columns of the target that tell when a version is valid.
    """
    ends = (VALID_TO, CURRENT)
    same = " AND ".join(f"{_of_target(each)} <=> {_of_source(each)}" for each in ends)
    updated = {each: _of_source(each) for each in ends}
    inserted = [*merge.columns, SEQUENCE, TOMBSTONE, *history]
    return "\n".join(
        [
            f"{_head(merge)} AND {_of_target(SEQUENCE)} <=> {_of_source(SEQUENCE)}",
            f"WHEN MATCHED AND NOT ({same}) THEN UPDATE SET {_assignments(updated)}",
            f"WHEN NOT MATCHED THEN {_insert({each: _of_source(each) for each in inserted})}",
        ]
    )


def _head(merge: Merge) -> str:
    same_key = " AND ".join(f"{_of_target(each)} = {_of_source(each)}" for each in merge.keys)
    return (
        f"MERGE INTO {merge.target} AS {_TARGET}\n"
        f"USING {quoted(merge.source)} AS {_SOURCE}\n"
        f"ON {same_key}"
    )


def _newer(merge: Merge) -> str:
    """Whether the change is newer than the row; a row without a sequence came another way."""
    ours, theirs = _of_source(SEQUENCE), _of_target(SEQUENCE)
    if not merge.by_position:
        return f"{theirs} IS NULL OR {ours} > {theirs}"
    return is_newer(ours, theirs, merge.topic_ids, _of_source(PLACE))


def _kept_or_sent(merge: Merge, column: str) -> str:
    """The value of an update: that of the row, where the database did not send one."""
    if not merge.with_unavailable:
        return _of_source(column)
    kept = _of_target(column)
    if merge.tombstones:
        kept = f"CASE WHEN {_of_target(TOMBSTONE)} THEN {_unknown(column)} ELSE {kept} END"
    return f"CASE WHEN {_is_unavailable(column)} THEN {kept} ELSE {_of_source(column)} END"


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
    return f"array_contains({_of_source(UNAVAILABLE)}, {text(column)})"


def _insert(values: dict[str, str]) -> str:
    names = ", ".join(map(quoted, values))
    return f"INSERT ({names}) VALUES ({', '.join(values.values())})"  # noqa: S608 - names are quoted


def _assignments(values: dict[str, str]) -> str:
    return ", ".join(f"{_of_target(name)} = {value}" for name, value in values.items())


def _of_target(column: str) -> str:
    return f"{_TARGET}.{quoted(column)}"


def _of_source(column: str) -> str:
    return f"{_SOURCE}.{quoted(column)}"
