"""Checks the arguments of `apply_changes`, and chooses the columns of the table. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kafka_protocol.errors import KafkaConfigError, KafkaError
from kafka_protocol.options.nearest_name import did_you_mean

SEQUENCE: Final = "_sequence"
"""The column of the target with the position of the change that a row has."""
TOMBSTONE: Final = "_tombstone"
"""The column of the target that is true for a deleted row, of which only the keys are left."""
AT: Final = "_position"
"""The column of the target with the place in Kafka of the change that a row has.

Only with `sequence_by`: without it, the place is the sequence.
"""
VALID_FROM: Final = "valid_from"
VALID_TO: Final = "valid_to"
CURRENT: Final = "current"
HISTORY: Final = (VALID_FROM, VALID_TO, CURRENT)
"""The columns of a target with history."""
UNAVAILABLE: Final = "_unavailable"
"""The column of rows with the names of the columns whose values the database did not send."""
PLACE: Final = "_pykafka_place"
"""A column of the MERGE's source: where a change is in Kafka, as errors show it."""
LOST: Final = "_pykafka_lost"
"""A column of the MERGE's source: columns that are unknown, because the row was deleted before."""
LOST_AT: Final = "_pykafka_lost_at"
"""A column of the MERGE's source: SEQUENCE, PLACE, and AT if there is one, of that delete."""
POSITION: Final = ("topic", "partition", "offset")
"""The columns of a record's position."""
TOPIC_ID: Final = "topicId"
"""The column of the id of a record's topic; the sequence is by default it and the position."""

BEFORE: Final = "before"
"""The column of rows with the row before the change; it is the table's unless it has the keys."""

# What rows have beside the table's columns: of the envelope and of records, and of broken payloads.
_OF_CHANGES: Final = (
    *("op", "ts_ms", "source", "key"),
    *(*POSITION, TOPIC_ID, "timestamp", "timestampType", "headers"),
)
_OF_READS: Final = (UNAVAILABLE, "_error", "_raw", "_raw_key")


class ChangeError(KafkaError, ValueError):
    """A change that cannot be applied, or a target that cannot take it. Nothing was applied."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The checked arguments of `apply_changes`, which describes them.

    Attributes:
        sequence_by: Expressions of SQL; none for the record's position.
        topic_ids: The ids of topics whose order is known, the oldest first.
        delete: An expression of SQL; None for `op = 'd'`.
        columns: None for all.
        history: Whether each version of a row is kept.
        time: An expression of SQL for the time of a change; None for that of the rows.
        prefix: Before the names of columns that are not the table's.
    """

    target: str
    keys: tuple[str, ...]
    sequence_by: tuple[str, ...]
    topic_ids: tuple[str, ...]
    delete: str | None
    columns: tuple[str, ...] | None
    evolve: bool
    history: bool
    time: str | None
    tombstones: bool
    prefix: str

    @property
    def named(self) -> tuple[str, ...]:
        """The columns of the rows that the arguments name for the table; keys may be twice."""
        return (*self.keys, *(self.columns or ()))

    @property
    def own_columns(self) -> tuple[str, ...]:
        """The columns of the target that are not the rows'."""
        position = (AT,) if self.sequence_by else ()
        tombstone = (TOMBSTONE,) if self.tombstones else ()
        history = HISTORY if self.history else ()
        return (SEQUENCE, *position, *tombstone, *history)


def parse(  # noqa: PLR0913 - each is an argument of apply_changes
    target: str,
    keys: str | Sequence[str],
    sequence_by: str | Sequence[str] | None,
    delete: str | None,
    columns: Sequence[str] | None,
    *,
    topic_ids: Sequence[str] | None,
    evolve: bool,
    history: bool | str,
    tombstones: bool,
    prefix: str,
) -> Arguments:
    """Check the arguments.

    Raises:
        KafkaConfigError: An argument is wrong; the text names it.
    """
    if not isinstance(prefix, str):
        raise KafkaConfigError(f"prefix must be a text, not {prefix!r}")
    for name, value in {"evolve": evolve, "tombstones": tombstones}.items():
        if not isinstance(value, bool):
            raise KafkaConfigError(f"{name} must be True or False, not {value!r}")
    for name, given in {"columns": columns, "topic_ids": topic_ids}.items():
        if isinstance(given, str):
            raise KafkaConfigError(f"{name} must be a list of texts, not the text {given!r}")
    if topic_ids is not None and sequence_by is not None:
        raise KafkaConfigError(
            "topic_ids is for the order by offsets, and sequence_by gives another one: remove one"
        )
    if history and not tombstones:
        raise KafkaConfigError(
            "tombstones=False is not possible with history: a deleted row is a version, too"
        )
    parsed = Arguments(
        target=_texts("target", target)[0],
        keys=_texts("keys", keys),
        sequence_by=() if sequence_by is None else _texts("sequence_by", sequence_by),
        topic_ids=() if topic_ids is None else _texts("topic_ids", topic_ids),
        delete=None if delete is None else _texts("delete", delete)[0],
        columns=None if columns is None else _texts("columns", columns),
        evolve=evolve,
        history=bool(history),
        time=_texts("history", history)[0] if isinstance(history, str) else None,
        tombstones=tombstones,
        prefix=prefix,
    )
    _refuse_own_columns(parsed, parsed.named)
    return parsed


def table_columns(
    arguments: Arguments, rows: Sequence[str], more: Iterable[str] = ()
) -> tuple[str, ...]:
    """The columns of rows that the table gets, keys first.

    Args:
        arguments: The arguments of `apply_changes`.
        rows: The names of the columns of the rows.
        more: Columns of the rows that are not the table's, in addition to a read's own columns.

    Raises:
        ChangeError: The rows lack a key or a column of the arguments, have two columns whose names
            differ in their case only, or a column that `apply_changes` itself writes.
    """
    by_name = {each.lower(): each for each in rows}
    if len(by_name) < len(rows):
        twice = [each for each in rows if by_name[each.lower()] != each or rows.count(each) > 1]
        raise ChangeError(
            f"the rows have two columns {twice[0]}: names that differ in their case only are one "
            "for a table, so give one of them another name, with withColumnRenamed"
        )
    missing = [each for each in arguments.named if each.lower() not in by_name]
    if missing:
        meant = did_you_mean(missing[0], by_name, before="; ")
        raise ChangeError(
            f"the rows have no column {', '.join(missing)}, only {', '.join(rows)}{meant}"
        )
    keys = [by_name[each.lower()] for each in arguments.keys]
    others = arguments.columns
    if others is None:
        left_out = {f"{arguments.prefix}{each}".lower() for each in _OF_CHANGES}
        left_out |= {*_OF_READS, *(each.lower() for each in more)}
        others = tuple(each for each in rows if each.lower() not in left_out)
    chosen = tuple(dict.fromkeys([*keys, *(by_name[each.lower()] for each in others)]))
    _refuse_own_columns(arguments, chosen)
    return chosen


def usual_names(arguments: Arguments, rows: Sequence[str]) -> dict[str, str]:
    """Columns of the envelope and of reads whose names have another case -> their usual names.

    To Spark they are the same columns. A column that the arguments name is the table's.
    """
    own = {each.lower() for each in arguments.named}
    usual = [*(f"{arguments.prefix}{each}" for each in (*_OF_CHANGES, BEFORE)), *_OF_READS]
    by_name = {each.lower(): each for each in usual if each.lower() not in own}
    usual_of = {each: by_name.get(each.lower(), each) for each in rows}
    return {given: name for given, name in usual_of.items() if given != name and name not in rows}


def _refuse_own_columns(arguments: Arguments, names: Iterable[str]) -> None:
    own = {*arguments.own_columns, UNAVAILABLE, PLACE, LOST, LOST_AT}
    clash = [each for each in names if each.lower() in own]
    if clash:
        raise KafkaConfigError(
            f"apply_changes writes a column {clash[0]} of its own: give the column of the rows "
            "another name, with withColumnRenamed, or leave it out of `columns`"
        )


def _texts(name: str, given: object) -> tuple[str, ...]:
    """The texts of an argument, which is one text or a list; checked for callers without types."""
    texts = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    if not texts or not all(isinstance(each, str) and each.strip() for each in texts):
        raise KafkaConfigError(f"{name} must be a text or texts that are not empty, not {given!r}")
    if len({each if name == "topic_ids" else each.lower() for each in texts}) < len(texts):
        raise KafkaConfigError(f"{name} has a name twice: {', '.join(texts)}")
    return texts
