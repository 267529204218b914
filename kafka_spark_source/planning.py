"""What was asked for, and what the cluster holds -> the offset ranges to read.

Pure: the cluster's answers come in as arguments, warnings go out as values. Both ends of a range
are fixed here, on the driver. Sources: `KafkaOffsetReaderAdmin` and `KafkaExceptions` of Spark's
connector, whose condition names the errors carry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from kafka_protocol.errors import DataLossError, KafkaConfigError
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.offsets import (
    EARLIEST,
    LATEST,
    Position,
    SpecificOffsets,
    join_partitions,
)


class NeededPositions(NamedTuple):
    """What to ask the brokers for, as ListOffsets takes it: partition -> EARLIEST or LATEST.

    Two mappings, because a request that names a partition twice is refused (INVALID_REQUEST).
    """

    earliest: Mapping[TopicPartition, int]
    latest: Mapping[TopicPartition, int]


class LogBounds(NamedTuple):
    """What a partition's log holds: offsets from `earliest` up to, not including, `latest`."""

    earliest: int
    latest: int


@dataclass(frozen=True, slots=True)
class DataLoss:
    """A range of which a part is not in the log: an error or a warning, as failOnDataLoss says.

    Attributes:
        asked: What was to be read.
        bounds: What is there.
    """

    asked: OffsetRange
    bounds: LogBounds

    @property
    def error(self) -> DataLossError:
        """What it is while failOnDataLoss is true."""
        return DataLossError("COULD_NOT_READ_OFFSET_RANGE", str(self))

    @property
    def warning(self) -> str:
        """What it is while failOnDataLoss is false."""
        return f"{self} Going on without them, since failOnDataLoss is false."

    def __str__(self) -> str:
        topic_partition, start, end = self.asked
        return (
            f"Could not read records in offset [{start}, {end}) for topic partition "
            f"{topic_partition}: the log holds [{self.bounds.earliest}, {self.bounds.latest})."
        )


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What a batch read will read, and what it will not.

    Attributes:
        ranges: One for each partition that exists, sorted by topic and number; some may be empty.
        missing: Partitions that were assigned and do not exist. Empty if failOnDataLoss is true.
        losses: Ranges that were cut to what the log holds. Empty if failOnDataLoss is true.
    """

    ranges: tuple[OffsetRange, ...]
    missing: tuple[TopicPartition, ...]
    losses: tuple[DataLoss, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence about each thing that was asked for and will not be read."""
        lost = [loss.warning for loss in self.losses]
        if self.missing:
            lost.insert(0, f"{_missing(self.missing)}: skipped, since failOnDataLoss is false.")
        return tuple(lost)


def needed_positions(partitions: Iterable[TopicPartition]) -> NeededPositions:
    """Say what `plan` has to know about partitions that exist.

    Both ends of every log: what is not itself asked for is what a given offset is checked against.
    """
    partitions = tuple(partitions)
    return NeededPositions(dict.fromkeys(partitions, EARLIEST), dict.fromkeys(partitions, LATEST))


def log_bounds(
    earliest: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]
) -> dict[TopicPartition, LogBounds]:
    """Join the brokers' answers to the two halves of `needed_positions`.

    They are not of the same moment: where a log lost its head in between, it counts as empty.
    """
    return {
        topic_partition: LogBounds(start, max(start, latest[topic_partition]))
        for topic_partition, start in earliest.items()
    }


def plan(
    assigned: Collection[TopicPartition],
    starting: Position,
    ending: Position,
    bounds: Mapping[TopicPartition, LogBounds],
    *,
    fail_on_data_loss: bool,
) -> BatchPlan:
    """Fix the offset ranges of a batch read.

    Args:
        assigned: The partitions that the query asks for, whether they exist or not.
        starting: Where to start.
        ending: Where to end, exclusive.
        bounds: What the log of each partition holds; a partition that is not in here does not
            exist.
        fail_on_data_loss: Whether partitions or records that are not there are an error. If not,
            partitions are left out, and ranges cut to what is there; the plan says which.

    Raises:
        KafkaConfigError: Specific offsets are not for exactly the assigned partitions, an assigned
            partition does not exist, or a range starts behind its end.
        DataLossError: A specific start has aged out, or a specific end has not been written yet.
    """
    _check_specific_offsets(_START_SIDE, starting, assigned)
    _check_specific_offsets(_END_SIDE, ending, assigned)
    missing = tuple(sorted(set(assigned) - bounds.keys()))
    if missing and fail_on_data_loss:
        raise KafkaConfigError(
            f"{_missing(missing)}: correct the options 'subscribe' or 'assign', or set "
            "failOnDataLoss to false to read without them."
        )
    existing = sorted(set(assigned) & bounds.keys())
    asked = [_resolve(tp, starting, ending, bounds[tp]) for tp in existing]
    losses = tuple(
        DataLoss(range_, bounds[range_.topic_partition])
        for range_ in asked
        if not _is_within(range_, bounds[range_.topic_partition])
    )
    if losses and fail_on_data_loss:
        raise losses[0].error
    ranges = tuple(_cut(range_, bounds[range_.topic_partition]) for range_ in asked)
    return BatchPlan(ranges, missing, losses)


class _Side(NamedTuple):
    """One end of a read, in the words of its errors."""

    noun: str
    option: str
    advice: str


_START_SIDE: Final = _Side("start", "startingOffsets", "Use -2 for earliest")
_END_SIDE: Final = _Side("end", "endingOffsets", "Use -1 for latest")


def _check_specific_offsets(
    side: _Side, position: Position, assigned: Collection[TopicPartition]
) -> None:
    if not isinstance(position, SpecificOffsets) or position.offsets.keys() == set(assigned):
        return
    raise KafkaConfigError(
        "[KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED] Partitions specified for Kafka "
        f"{side.noun} offsets don't match what are assigned. If {side.option} contains specific "
        f"offsets, you must specify all TopicPartitions. {side.advice}, if you don't care. "
        f"Specified: {join_partitions(position.offsets)} Assigned: {join_partitions(assigned)}"
    )


def _resolve(
    topic_partition: TopicPartition, starting: Position, ending: Position, bounds: LogBounds
) -> OffsetRange:
    """The range as asked for, with offsets in place of EARLIEST and LATEST."""
    named = {EARLIEST: bounds.earliest, LATEST: bounds.latest}
    start, end = starting.offset_of(topic_partition), ending.offset_of(topic_partition)
    resolved = OffsetRange(topic_partition, named.get(start, start), named.get(end, end))
    if resolved.from_offset > resolved.until_offset:
        raise KafkaConfigError(
            f"[RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET] The resolved start offset "
            f"{resolved.from_offset} is greater than the resolved end offset "
            f"{resolved.until_offset} for topic {topic_partition.topic} partition "
            f"{topic_partition.partition}, whose log holds [{bounds.earliest}, {bounds.latest}): "
            "correct startingOffsets or endingOffsets."
        )
    return resolved


def _is_within(asked: OffsetRange, bounds: LogBounds) -> bool:
    if asked.from_offset == asked.until_offset:  # nothing asked for, nothing lost
        return True
    return bounds.earliest <= asked.from_offset and asked.until_offset <= bounds.latest


def _cut(asked: OffsetRange, bounds: LogBounds) -> OffsetRange:
    """What of a range is in the log; an empty range where that is nothing."""
    until = min(asked.until_offset, bounds.latest)
    start = min(max(asked.from_offset, bounds.earliest), until)
    return OffsetRange(asked.topic_partition, start, until)


def _missing(partitions: Collection[TopicPartition]) -> str:
    one_or_more = "Partition" if len(partitions) == 1 else "Partitions"
    verb = "does" if len(partitions) == 1 else "do"
    return f"{one_or_more} {join_partitions(partitions)} {verb} not exist"
