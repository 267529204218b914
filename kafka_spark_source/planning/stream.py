"""Two offsets of a stream -> the ranges of a micro-batch, and what is missing between them.

Pure: what the cluster holds comes in as arguments; what is lost goes out as values, for one place
to raise or to warn about. Source: `KafkaOffsetReader.getOffsetRangesFromResolvedOffsets` and
`KafkaMicroBatchStream` of Spark's connector, whose condition names the errors carry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from kafka_protocol.errors import DataLossError, KafkaError
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.planning.offsets_json import join_partitions
from kafka_spark_source.planning.rate_limits import Offsets


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """What a micro-batch reads.

    Attributes:
        ranges: One for each partition with something to read, sorted.
        losses: What cannot be read, each an error or a warning, as failOnDataLoss says.
    """

    ranges: tuple[OffsetRange, ...]
    losses: tuple[DataLossError, ...]


def plan_stream(start: Offsets, end: Offsets, earliest: Offsets) -> StreamPlan:
    """Plan the micro-batch between two offsets.

    Args:
        start: Up to where everything was read; a partition that is not in it is new.
        end: Up to where to read; a partition that is not in it is gone.
        earliest: Where the logs of new partitions begin; one that is not in it does not exist.
    """
    new = end.keys() - start.keys()
    begin = {**start, **{tp: earliest[tp] for tp in new & earliest.keys()}}
    ranges = [
        OffsetRange(tp, begin[tp], until)
        for tp, until in sorted(end.items())
        if tp in begin and begin[tp] < until
    ]
    return StreamPlan(tuple(ranges), (*_losses(start, end, earliest),))


def deleted(partitions: Collection[TopicPartition], what_else: str = "") -> DataLossError:
    """What was read before, and is not there any more."""
    return DataLossError(
        "PARTITIONS_DELETED",
        f"Partitions {join_partitions(partitions)} have been deleted{what_else}.",
    )


def _losses(start: Offsets, end: Offsets, earliest: Offsets) -> Iterator[DataLossError]:
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
    if missing := start.keys() - end.keys():
        yield deleted(missing)
    for tp in sorted(start.keys() & end.keys()):
        if end[tp] < start[tp]:
            yield DataLossError(
                "PARTITION_OFFSET_CHANGED",
                f"Partition {tp} offset was changed from {start[tp]} to {end[tp]}.",
            )


class Ends(NamedTuple):
    """Where logs end.

    Attributes:
        latest: The latest offset of each partition that exists.
        recreated: Topics that are others than before, of the same name.
    """

    latest: Offsets
    recreated: Collection[str]


class AvailableNowError(KafkaError):
    """What was there when a query with Trigger.AvailableNow began is not there any more.

    Whatever failOnDataLoss says: such a query must read exactly that, or say that it cannot.
    """


def check_available_now(end: Offsets, target: Offsets, now: Ends) -> None:
    """Check, before each micro-batch under Trigger.AvailableNow, what the run still has to read.

    Args:
        end: Up to where it reads.
        target: Where the logs ended when the query began.
        now: Where they end now.

    Raises:
        AvailableNowError: Partitions are gone, a log became shorter, or a topic is another one.
    """
    lost = "have been lost"
    if target.keys() != end.keys():
        raise _lost(
            "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED",
            lost,
            f"there were {join_partitions(target)}, and {join_partitions(end)} are to be read",
        )
    if missing := end.keys() - now.latest.keys():
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
            now.latest
        ),
    }
    for condition, known in shorter.items():
        if too_far := [tp for tp, offset in sorted(end.items()) if offset > known[tp]]:
            what = (f"{tp} is to be read up to {end[tp]} and ends at {known[tp]}" for tp in too_far)
            raise _lost(condition, _LESS_THAN_END, ", ".join(what))


_LESS_THAN_END: Final = "report available offset which is less than end offset"


def _lost(condition: str, what: str, details: str) -> AvailableNowError:
    return AvailableNowError(
        f"[{condition}] Some of partitions in Kafka topic(s) {what} during running query with "
        f"Trigger.AvailableNow. The error could be transient - restart your query: {details}."
    )
