"""Which of two changes of a key is newer, as expressions of SQL. Pure.

By default the place in Kafka orders changes. Offsets order the records of one partition. A topic
that was deleted and created again is another topic of the same name, with other offsets; only the
user knows that it goes on with the same rows, and says so with the ids of both.

With `sequence_by` its values order changes. The place in Kafka orders changes with equal values. If
neither orders two changes, that is an error with the places of both records.

Expressions are null, and fail for nothing, where a sequence is: Delta computes conditions for rows
without a change, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from kafka_spark_source.changes.sql import message, text

POSITION_TYPE: Final = (
    "struct<topic: string, partition: int, offset: bigint, topicId: string, ts_ms: bigint>"
)
"""A record's position, and the time of the change in the database."""
MOVED: Final = (
    "the key has changes in another partition: offsets do not show which is newer, so give "
    "`sequence_by`, e.g. the position in the database's log"
)
RECREATED: Final = (
    "the topic was deleted and created again, or is another one: offsets do not show which change "
    "is newer. If the new topic has the newer changes, give `topic_ids`: all its ids, the oldest "
    "first. The ids are "
)
UNORDERED: Final = (
    "the key has two different changes with this sequence: give `sequence_by` one more expression "
    'that differs between them, e.g. sequence_by=["changed_at", "offset"]'
)
TEXTS: Final = (
    "`sequence_by` compares texts, and as texts these two may not be in the order of the numbers "
    "in them, or are of two servers: give numbers, e.g. "
    "CAST(split_part(source.file, '.', -1) AS BIGINT), and the server before them. The texts are "
)
BACKWARDS: Final = (
    "by `sequence_by` the change is older than the other one, but it is later in Kafka and in the "
    "database's time. Was the database moved or restored, so that positions in its log begin "
    "again? Then fill a new table, and order by the server first. If only the clock was set back, "
    "set _position to NULL in the row"
)
OTHER: Final = "; the other change: "

# `mysql-bin.000001`: a name, and a number that counts files.
_NUMBERED: Final = "^[^0-9]*[0-9]+$"


class Change(NamedTuple):
    """Expressions for a change.

    Attributes:
        sequence: The sequence that orders it.
        position: A struct with its place in Kafka; without `sequence_by` the sequence.
        place: Its place as errors show it.
    """

    sequence: str
    position: str
    place: str


Refusal: TypeAlias = tuple[str, str]
"""A condition under which two changes are in no order, and the text of the error."""
TextPart: TypeAlias = tuple[str, ...]
"""Fields of a sequence, `.first` and so on: the last one is a text, the others are before it.

The field of a sequence that is a text itself has no name.
"""


def of_row(sequence: str, position: str) -> Change:
    """The change that a row of the target has."""
    place = f"concat({position}.topic, '-', {position}.partition, ' at offset ', {position}.offset)"
    return Change(sequence, position, f"coalesce({place}, 'a row without a position')")


def raised(refusals: Sequence[Refusal]) -> str:
    """The branches of a CASE that fail."""
    return " ".join(f"WHEN {condition} THEN raise_error({what})" for condition, what in refusals)


def told(refusals: Sequence[Refusal]) -> str:
    """The text of the error; null if the two changes are in order."""
    branches = " ".join(f"WHEN {condition} THEN {what}" for condition, what in refusals)
    return f"CASE {branches} END" if branches else "CAST(NULL AS STRING)"


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


def by_offsets(ours: Change, theirs: Change, topic_ids: Sequence[str]) -> list[Refusal]:
    """When offsets do not order two changes of a key; `topic_ids` has the oldest topic first."""
    new, old = ours.position, theirs.position
    ids = f"{old}.topicId", "', '", f"{new}.topicId"
    return [
        (is_recreated(new, old, topic_ids), _text(ours, theirs, RECREATED, *ids)),
        (is_moved(new, old, topic_ids), _text(ours, theirs, MOVED)),
    ]


def by_values(ours: Change, theirs: Change, texts: Sequence[TextPart]) -> list[Refusal]:
    """When the values of `sequence_by` do not order two changes of a key, although they differ."""
    numbers = [
        (
            _has_other_numbers(ours.sequence, theirs.sequence, each),
            _text(
                *(ours, theirs, TEXTS),
                *(f"{theirs.sequence}{each[-1]}", "', '", f"{ours.sequence}{each[-1]}"),
            ),
        )
        for each in texts
    ]
    return [*numbers, (_is_backwards(ours, theirs), _text(ours, theirs, BACKWARDS))]


def unordered(ours: Change, theirs: Change) -> str:
    """The text of the error for changes with equal values of `sequence_by`."""
    return _text(ours, theirs, UNORDERED)


def is_newer(ours: Change, theirs: Change, topic_ids: Sequence[str], differs: str) -> str:
    """The SQL condition that a change is newer than the row's last change, by their positions.

    A row without a sequence has no change yet. The row's last change is applied again if that
    alters the row, as for a column that was added later.

    Args:
        ours: The change.
        theirs: The row's last change.
        topic_ids: The ids of topics, the oldest first.
        differs: Whether the row has other values than the change.
    """
    new, old = ours.position, theirs.position
    ages = [age(each, topic_ids) for each in (new, old)]
    by_age = f" WHEN {ages[0]} <> {ages[1]} THEN {ages[0]} > {ages[1]}" if topic_ids else ""
    # Not `new IS NULL`: the source's column is never null, so Spark takes it for false.
    return (
        f"CASE WHEN {old} IS NULL THEN true {raised(by_offsets(ours, theirs, topic_ids))}{by_age} "
        f"WHEN {new}.offset > {old}.offset THEN true "
        f"WHEN {new}.offset = {old}.offset THEN {differs} ELSE false END"
    )


def is_newer_by_values(
    ours: Change, theirs: Change, texts: Sequence[TextPart], differs: str
) -> str:
    """The same by `sequence_by`, and for equal values by their positions.

    A row without a position was written before positions were kept: it has the first one of the
    changes with its sequence, because later ones were not applied then.
    """
    new, old = ours.position, theirs.position
    return (
        f"CASE WHEN {theirs.sequence} IS NULL THEN true {raised(by_values(ours, theirs, texts))} "
        f"WHEN {ours.sequence} > {theirs.sequence} THEN true "
        f"WHEN {ours.sequence} < {theirs.sequence} THEN false "
        f"WHEN {old}.offset IS NULL AND {new}.offset IS NOT NULL THEN true "
        f"WHEN {in_one_partition(new, old)} AND {new}.offset <> {old}.offset "
        f"THEN {new}.offset > {old}.offset "
        f"WHEN {in_one_partition(new, old)} THEN {differs} "
        # Null for a row without a change.
        f"WHEN {ours.sequence} = {theirs.sequence} AND {differs} "
        f"THEN raise_error({unordered(ours, theirs)}) ELSE false END"
    )


def in_one_partition(ours: str, theirs: str) -> str:
    """The SQL condition that two positions are in one partition, so that offsets order them."""
    return (
        f"({ours}.topic = {theirs}.topic AND {ours}.partition = {theirs}.partition "
        f"AND coalesce({ours}.topicId = {theirs}.topicId, true))"
    )


def _is_backwards(ours: Change, theirs: Change) -> str:
    """Whether the place in Kafka and the database's time contradict `sequence_by`.

    Debezium writes changes again after a restart: later in Kafka, but with their old time.
    """
    new, old = ours.position, theirs.position
    return (
        f"({ours.sequence} < {theirs.sequence} AND {in_one_partition(new, old)} "
        f"AND {new}.offset > {old}.offset AND {new}.ts_ms > {old}.ts_ms)"
    )


def _has_other_numbers(ours: str, theirs: str, part: TextPart) -> str:
    """Whether two sequences are equal up to a text, and their texts have numbers out of order."""
    *before, last = part
    equal = "".join(f"{ours}{each} = {theirs}{each} AND " for each in before)
    new, old = f"{ours}{last}", f"{theirs}{last}"

    def both(pattern: str) -> str:
        return " AND ".join(f"regexp_like({each}, '{pattern}')" for each in (new, old))

    names = [f"regexp_replace({each}, '[0-9]+$', '')" for each in (new, old)]
    return (
        f"({equal}{new} <> {old} AND {both('[0-9]')} AND (length({new}) <> length({old}) "
        f"OR {both(_NUMBERED)} AND {names[0]} <> {names[1]}))"
    )


def _text(ours: Change, theirs: Change, reason: str, *more: str) -> str:
    return message("the change of ", reason, ours.place, *more, text(OTHER), theirs.place)


def _rank(sequence: str, topic_ids: Sequence[str]) -> str:
    """From 1 on; 0 for a topic that is not named, null without an id."""
    return f"array_position(array({', '.join(map(text, topic_ids))}), {sequence}.topicId)"
