"""What each partition is asked for: the positions of a query, partition by partition.

Pure. A map of offsets or of timestamps must be for exactly the partitions that are assigned; here
that is checked. What an end comes to in the cluster's logs is `planning`'s business.
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


class Since(NamedTuple):
    """The first record that is as young as `ms`; where there is none, an error or the end."""

    ms: int
    fail_if_none: bool


# An offset, EARLIEST, LATEST, or one of these.
End: TypeAlias = int | Since | BeforeLatest | Committed


class Ends(NamedTuple):
    """What one partition is asked for."""

    start: End
    end: End

    @property
    def are_late(self) -> bool:
        """Whether nothing about it can be said before it is read."""
        return self == (EARLIEST, LATEST)

    @property
    def positions(self) -> set[int]:
        """What its leader has to be asked, as ListOffsets takes it, to say which offsets it is."""
        times = {bound.ms for bound in self if isinstance(bound, Since)}
        return {EARLIEST, LATEST, *times}


def ends_of(
    assigned: Collection[TopicPartition],
    starting: Position,
    ending: Position,
    *,
    now_ms: int,
    fail_on_no_match: bool = True,
) -> dict[TopicPartition, Ends]:
    """Say what each assigned partition is asked for.

    Args:
        assigned: The partitions that the query asks for, whether they exist or not.
        starting: Where to start.
        ending: Where to end, exclusive.
        now_ms: The time, in ms since 1970, that positions such as "ten minutes ago" count from.
        fail_on_no_match: Whether a starting timestamp that no record is as young as is an error.
            An ending one stands for the end of the log then.

    Raises:
        KafkaConfigError: A map of offsets or timestamps is not for exactly these partitions.
    """
    check_assigned(assigned, starting, ending)
    return {
        tp: Ends(
            timed(starting.bound_of(tp), now_ms, fail_if_none=fail_on_no_match),
            timed(ending.bound_of(tp), now_ms, fail_if_none=False),
        )
        for tp in assigned
    }


def check_assigned(
    assigned: Collection[TopicPartition], starting: Position, ending: Position
) -> None:
    """Refuse maps of offsets or timestamps that are not for exactly these partitions.

    Raises:
        KafkaConfigError: One is not.
    """
    _check_side(_START_SIDE, starting, assigned)
    _check_side(_END_SIDE, ending, assigned)


def timed(bound: Bound, now_ms: int, *, fail_if_none: bool) -> End:
    """A bound whose time, if it has one, is counted from 1970."""
    match bound:
        case Timestamp(ms):
            return Since(ms, fail_if_none)
        case Ago(ms):
            return Since(max(0, now_ms - ms), False)
        case _:
            return bound


class _Side(NamedTuple):
    """One end of a read, in the words of its errors: by kind of map, condition, noun, advice."""

    noun: str
    of: Mapping[type, tuple[str, str, str]]


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
    condition, kind, advice = side.of[type(position)]
    named = {key for key in position.bounds if isinstance(key, TopicPartition)}
    topics = {key for key in position.bounds if isinstance(key, str)}
    unassigned = topics - {tp.topic for tp in assigned}
    if unassigned:
        raise KafkaConfigError(
            "[KAFKA_TOPIC_OFFSET_DOES_NOT_MATCH_ASSIGNED] Topics specified for Kafka "
            f"{side.noun} offsets have no partition that is assigned: "
            f"{', '.join(sorted(unassigned))}. Take them out of the option."
        )
    expected = {tp for tp in assigned if tp.topic not in topics}
    if named != expected:
        raise KafkaConfigError(
            f"[{condition}] Partitions specified for Kafka {side.noun} {kind} don't match what "
            f"are assigned. {advice} Specified: {join_partitions(named)} "
            f"Assigned: {join_partitions(expected)}"
        )
