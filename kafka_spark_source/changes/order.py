"""The order of the changes of a key by their positions in Kafka, as expressions of SQL. Pure.

Offsets order the records of one partition. A topic that was deleted and created again is another
topic of the same name, with other offsets; only the user knows that it goes on with the same rows,
and says so with the ids of both. Expressions are null, and fail for nothing, where a sequence is:
Delta computes conditions for rows without a change, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_spark_source.changes.sql import failure, text

MOVED: Final = (
    "the key has changes in another partition: offsets do not tell which is newer, so give "
    "`sequence_by`, e.g. the position in the database's log"
)
RECREATED: Final = (
    "the topic was deleted and created again, or is another one: offsets do not tell which change "
    "is newer. If the new topic has the newer changes, give `topic_ids`: all its ids, the oldest "
    "first. The ids are "
)


def age(sequence: str, topic_ids: Sequence[str]) -> str:
    """An expression by which the changes of older topics come first."""
    return f"coalesce({_rank(sequence, topic_ids)}, 0)" if topic_ids else "0"


def is_recreated(ours: str, theirs: str, topic_ids: Sequence[str]) -> str:
    """Whether two changes are of different topics whose order is not known."""
    differ = f"{ours}.topicId <> {theirs}.topicId"
    if not topic_ids:
        return f"{differ} AND {ours}.topic = {theirs}.topic"
    unknown = " OR ".join(f"{_rank(each, topic_ids)} = 0" for each in (ours, theirs))
    return f"{differ} AND ({unknown})"


def is_moved(ours: str, theirs: str, topic_ids: Sequence[str]) -> str:
    """Whether two changes are in different partitions, of topics whose order is not known."""
    other = " OR ".join(f"{ours}.{each} <> {theirs}.{each}" for each in ("topic", "partition"))
    if not topic_ids:
        return f"({other})"
    return f"{age(ours, topic_ids)} = {age(theirs, topic_ids)} AND ({other})"


def refusals(ours: str, theirs: str, topic_ids: Sequence[str], place: str) -> str:
    """The branches of a CASE that fail where two changes of a key are in no order.

    Args:
        ours: The sequence of a change.
        theirs: The sequence of the change before it.
        topic_ids: The ids of topics, the oldest first.
        place: Where `ours` is, for the error.
    """
    about = "the change of "
    ids = f"{theirs}.topicId", "', '", f"{ours}.topicId"
    return (
        f"WHEN {is_recreated(ours, theirs, topic_ids)} "
        f"THEN {failure(about, RECREATED, place, *ids)} "
        f"WHEN {is_moved(ours, theirs, topic_ids)} THEN {failure(about, MOVED, place)}"
    )


def is_newer(ours: str, theirs: str, topic_ids: Sequence[str], place: str) -> str:
    """Whether a change is newer than that of the row; a row without a sequence has none."""
    ages = [age(each, topic_ids) for each in (ours, theirs)]
    by_age = f" WHEN {ages[0]} <> {ages[1]} THEN {ages[0]} > {ages[1]}" if topic_ids else ""
    # Not `ours IS NULL`: the source's column is never null, so Spark takes it for false.
    return (
        f"CASE WHEN {theirs} IS NULL THEN true {refusals(ours, theirs, topic_ids, place)}{by_age} "
        f"WHEN {ours}.offset > {theirs}.offset THEN true ELSE false END"
    )


def _rank(sequence: str, topic_ids: Sequence[str]) -> str:
    """From 1 on; 0 for a topic that is not named, null without an id."""
    return f"array_position(array({', '.join(map(text, topic_ids))}), {sequence}.topicId)"
