"""Plans a micro-batch: its start and end offsets -> offset ranges, and the losses between them.

Pure: offsets come in as arguments; losses go out as errors that `reading.data_loss` raises or
logs. Source: `KafkaOffsetReader.getOffsetRangesFromResolvedOffsets` and `KafkaMicroBatchStream` of
Spark's connector, whose condition names the errors carry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from kafka_protocol.errors import DataLossError, KafkaError
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.planning.offsets_json import join_partitions
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.planning.strategies import Strategy, selects


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """The ranges of a micro-batch, sorted, and the records and partitions that are lost."""

    ranges: tuple[OffsetRange, ...]
    losses: tuple[DataLossError, ...]


def plan_stream(start: Offsets, end: Offsets, earliest: Offsets, strategy: Strategy) -> StreamPlan:
    """Plan the micro-batch between two offsets.

    A partition without a `start` is new, and needs its log start offset in `earliest`, unless it no
    longer exists. One without an `end` was deleted, or the strategy no longer selects it.
    """
    new = end.keys() - start.keys()
    begin = {**start, **{tp: earliest[tp] for tp in new & earliest.keys()}}
    ranges = [
        OffsetRange(tp, begin[tp], until)
        for tp, until in sorted(end.items())
        if tp in begin and begin[tp] < until
    ]
    return StreamPlan(tuple(ranges), (*losses_between(start, end, earliest, strategy),))


def deleted(partitions: Collection[TopicPartition], what_else: str = "") -> DataLossError:
    """The error for partitions that were read before and no longer exist."""
    return DataLossError(
        "PARTITIONS_DELETED",
        f"Partitions {join_partitions(partitions)} have been deleted{what_else}.",
    )


def missing(partitions: Collection[TopicPartition], strategy: Strategy) -> Iterator[DataLossError]:
    """The errors for partitions of the checkpoint that a query does not find."""
    unselected = {tp for tp in partitions if not selects(strategy, tp)}
    if unselected:
        yield DataLossError(
            "PARTITIONS_NOT_SELECTED",
            f"The checkpoint contains the partitions {join_partitions(unselected)}, and the query "
            "no longer selects them by subscribe, subscribePattern or assign.",
            _SELECT_AGAIN,
        )
    if gone := set(partitions) - unselected:
        yield deleted(gone)


_SELECT_AGAIN: Final = (
    "Select them again. To go on without them, set the option failOnDataLoss to false until a "
    "micro-batch has ended; after that the checkpoint does not contain them, and a topic that is "
    "selected again later counts as new: it is read from its beginning."
)


def offset_changed(topic_partition: TopicPartition, start: int, end: int) -> DataLossError:
    """The error for a log that ends before the offset to start at."""
    return DataLossError(
        "PARTITION_OFFSET_CHANGED",
        f"Partition {topic_partition} offset was changed from {start} to {end}.",
    )


def losses_between(
    start: Offsets, end: Offsets, earliest: Offsets, strategy: Strategy
) -> Iterator[DataLossError]:
    """The losses of `plan_stream`, each looked for when it is asked for."""
    new = end.keys() - start.keys()
    if gone := new - earliest.keys():
        yield DataLossError(
            "INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS",
            f"Cannot find earliest offsets of {join_partitions(gone)}. They may have been deleted.",
        )
    if late := {tp: earliest[tp] for tp in new & earliest.keys() if earliest[tp] != 0}:
        starts = ", ".join(f"{tp} starts from {offset}" for tp, offset in sorted(late.items()))
        yield DataLossError(
            "ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
            f"Added partitions do not start from offset 0: {starts}.",
        )
    yield from missing(start.keys() - end.keys(), strategy)
    for tp in sorted(start.keys() & end.keys()):
        if end[tp] < start[tp]:
            yield offset_changed(tp, start[tp], end[tp])


class LogSnapshot(NamedTuple):
    """The logs of a query at one moment.

    Attributes:
        version: Two snapshots of a query with the same version have the same ends.
        ends: The ends of the logs that exist.
        recreated: The topics that were deleted and created again.
    """

    version: int
    ends: Offsets
    recreated: Collection[str]


class AvailableNowError(KafkaError):
    """Records are gone that existed when a query with Trigger.AvailableNow began.

    Raised even if failOnDataLoss is false: such a query must read exactly these records, or fail.
    """


def check_available_now(end: Offsets, target: Offsets, now: LogSnapshot) -> None:
    """Check, before each micro-batch under Trigger.AvailableNow, that the run can reach its target.

    Args:
        end: The end of the micro-batch without rate limits.
        target: The ends of the logs when the query began.
        now: The logs now.

    Raises:
        AvailableNowError: Partitions are gone, a log became shorter, or a topic was re-created.
    """
    lost = "have been lost"
    if target.keys() != end.keys():
        raise _lost(
            "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED",
            lost,
            f"the query began with {join_partitions(target)} and now has {join_partitions(end)}",
        )
    if missing := end.keys() - now.ends.keys():
        raise _lost(
            "LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW",
            lost,
            f"{join_partitions(missing)} do not exist any more",
        )
    if others := [tp for tp in end if tp.topic in now.recreated]:
        raise _lost(
            "LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW",
            lost,
            f"the topics of {join_partitions(others)} were deleted and re-created",
        )
    shorter = {
        "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED": target,
        "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_AVAILABLENOW": (
            now.ends
        ),
    }
    for condition, known in shorter.items():
        if too_far := [tp for tp, offset in sorted(end.items()) if offset > known[tp]]:
            what = (f"{tp} must be read up to {end[tp]} but ends at {known[tp]}" for tp in too_far)
            raise _lost(condition, _LESS_THAN_END, ", ".join(what))


_LESS_THAN_END: Final = "report available offset which is less than end offset"


def _lost(condition: str, what: str, details: str) -> AvailableNowError:
    return AvailableNowError(
        f"[{condition}] Some of partitions in Kafka topic(s) {what} during running query with "
        f"Trigger.AvailableNow. The error could be transient - restart your query: {details}."
    )
