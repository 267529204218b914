"""The requested range of each partition, from the positions of a query.

Pure. Checks that a map of offsets or timestamps names exactly the assigned partitions. Offsets of
a cluster never enter here; `batch` resolves the bounds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple, TypeAlias

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST, join_partitions
from kafka_spark_source.planning.positions import (
    Ago,
    BeforeLatest,
    Bound,
    Committed,
    Everywhere,
    Position,
    SpecificOffsets,
    SpecificTimestamps,
    Timestamp,
)


class FirstAtOrAfter(NamedTuple):
    """The first record with a timestamp of `ms` or later; else an error, or the end."""

    ms: int
    fail_if_none: bool


# An offset, EARLIEST, LATEST, or one of these.
RequestedBound: TypeAlias = int | FirstAtOrAfter | BeforeLatest | Committed


class RequestedRange(NamedTuple):
    """The requested start and end of one partition."""

    start: RequestedBound
    end: RequestedBound

    @property
    def is_bound_late(self) -> bool:
        """Whether the range is the whole log, whose ends the task looks up."""
        return self == (EARLIEST, LATEST)

    @property
    def positions(self) -> set[int]:
        """The timestamps to send in ListOffsets to resolve the range."""
        times = {bound.ms for bound in self if isinstance(bound, FirstAtOrAfter)}
        return {EARLIEST, LATEST, *times}


def requested_ranges(
    assigned: Collection[TopicPartition],
    starting: Position,
    ending: Position,
    *,
    now_ms: int,
    fail_on_no_match: bool = True,
) -> dict[TopicPartition, RequestedRange]:
    """The requested range of each assigned partition.

    `now_ms`, in ms since 1970, is for positions such as "ten minutes ago". With `fail_on_no_match`
    a starting timestamp after all records is an error; an ending one means the end of the log.

    Raises:
        KafkaConfigError: A map of offsets or timestamps does not name exactly these partitions.
    """
    check_assigned(assigned, starting, ending)
    return {
        tp: RequestedRange(
            to_absolute(starting.bound_of(tp), now_ms, fail_if_none=fail_on_no_match),
            to_absolute(ending.bound_of(tp), now_ms, fail_if_none=False),
        )
        for tp in assigned
    }


def check_assigned(
    assigned: Collection[TopicPartition], starting: Position, ending: Position
) -> None:
    """Check that maps of offsets or timestamps name exactly these partitions.

    Raises:
        KafkaConfigError: A map does not.
    """
    _check_side(_START_SIDE, starting, assigned)
    _check_side(_END_SIDE, ending, assigned)


def to_absolute(bound: Bound, now_ms: int, *, fail_if_none: bool) -> RequestedBound:
    """The bound with "ago" replaced by a time since 1970."""
    match bound:
        case Timestamp(ms):
            return FirstAtOrAfter(ms, fail_if_none)
        case Ago(ms):
            return FirstAtOrAfter(max(0, now_ms - ms), fail_if_none=False)
        case _:
            return bound


class _Side(NamedTuple):
    """Texts for the errors of one end of a read: type of map -> (condition, noun, advice)."""

    noun: str
    texts: Mapping[type, tuple[str, str, str]]


def _side(noun: str, option: str, advice: str) -> _Side:
    return _Side(
        noun,
        {
            SpecificOffsets: (
                "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED",
                "offsets",
                f"If {option} contains specific offsets, you must specify all TopicPartitions. "
                f"{advice}, if you don't care.",
            ),
            SpecificTimestamps: (
                "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED",
                "timestamps",
                f"{option}ByTimestamp must name all TopicPartitions, and no others.",
            ),
        },
    )


_START_SIDE: Final = _side("start", "startingOffsets", "Use -2 for earliest")
_END_SIDE: Final = _side("end", "endingOffsets", "Use -1 for latest")


def _check_side(side: _Side, position: Position, assigned: Collection[TopicPartition]) -> None:
    if isinstance(position, Everywhere):
        return
    condition, kind, advice = side.texts[type(position)]
    named = {key for key in position.bounds if isinstance(key, TopicPartition)}
    topics = {key for key in position.bounds if isinstance(key, str)}
    unassigned = topics - {tp.topic for tp in assigned}
    if unassigned:
        raise KafkaConfigError(
            "[KAFKA_TOPIC_OFFSET_DOES_NOT_MATCH_ASSIGNED] Topics specified for Kafka "
            f"{side.noun} offsets have no partition that is assigned: "
            f"{', '.join(sorted(unassigned))}. Remove them from the option."
        )
    expected = {tp for tp in assigned if tp.topic not in topics}
    if named != expected:
        unread = sorted({tp.topic for tp in named} - {tp.topic for tp in assigned})
        cause = f"The query does not read {', '.join(map(repr, unread))}. " if unread else ""
        raise KafkaConfigError(
            f"[{condition}] Partitions specified for Kafka {side.noun} {kind} don't match what "
            f"are assigned. {cause}{advice} Specified: {join_partitions(named)} "
            f"Assigned: {join_partitions(expected)}"
        )
