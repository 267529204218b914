"""Plans a batch read: requested ranges and the offsets of the logs -> offset ranges to read.

Pure: offsets come in as arguments; losses go out as errors that `reading.data_loss` raises or
logs. A range that starts at "earliest" or ends at "latest" keeps EARLIEST or LATEST (it is bound
late): its task looks the offset up. Sources: `KafkaOffsetReaderAdmin` and `KafkaExceptions` of
Spark's connector, whose condition names the errors carry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from kafka_protocol.errors import DataLossError, KafkaConfigError
from kafka_protocol.topic_partition import LogBounds, OffsetRange, TopicPartition
from kafka_spark_source.planning.bounds import FirstAtOrAfter, RequestedBound, RequestedRange
from kafka_spark_source.planning.coalescing import HintsFor, Task, coalesce, no_hints
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST, join_partitions
from kafka_spark_source.planning.positions import BeforeLatest, Committed
from kafka_spark_source.planning.predicates import EVERYTHING, Predicates
from kafka_spark_source.planning.splitting import split

# Partition -> timestamp -> offset, as ListOffsets returns them.
Listed: TypeAlias = Mapping[TopicPartition, Mapping[int, int]]


class MissingPartitionsError(KafkaConfigError):
    """Partitions in the option `assign` do not exist."""

    def __init__(self, partitions: Collection[TopicPartition]) -> None:
        self.partitions = tuple(sorted(partitions))
        super().__init__(self.partitions)

    @property
    def reason(self) -> str:
        """One sentence with the partitions."""
        return f"{self._sentence}."

    def __str__(self) -> str:
        return (
            f"{self._sentence}: correct the options 'subscribe' or 'assign', or set "
            "failOnDataLoss to false to read without them."
        )

    @property
    def _sentence(self) -> str:
        is_one = len(self.partitions) == 1
        noun, verb = ("Partition", "does") if is_one else ("Partitions", "do")
        return f"{noun} {join_partitions(self.partitions)} {verb} not exist"


def unreadable(wanted: OffsetRange, log: LogBounds) -> DataLossError:
    """The error for a range that is not, or not completely, in the log."""
    topic_partition, start, until = wanted
    return DataLossError(
        "COULD_NOT_READ_OFFSET_RANGE",
        f"Could not read records in offset [{start}, {until}) for topic partition "
        f"{topic_partition}: the log holds [{log.earliest}, {log.latest}).",
    )


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The ranges of a batch read.

    Attributes:
        tasks: The ranges of each task, sorted by topic and number. There is at least one range for
            each partition that exists; some may be empty.
        losses: Partitions that do not exist, then ranges that were cut to the offsets of the log.
    """

    tasks: tuple[Task, ...]
    losses: tuple[MissingPartitionsError | DataLossError, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """How many input partitions to make.

    Attributes:
        at_least: minPartitions.
        max_records: maxRecordsPerPartition.
        are_coalesced: coalescePartitions.
        are_whole: Whether a task must read all of a partition's range.
        are_together: Whether one task takes all ranges.
    """

    at_least: int | None = None
    max_records: int | None = None
    are_coalesced: bool = False
    are_whole: bool = False
    are_together: bool = False

    def must_split(self, count: int) -> bool:
        """Whether the ranges of `count` partitions may have to be split."""
        is_asked_for = self.max_records is not None or (self.at_least or 0) > count
        return is_asked_for and not self.are_whole

    def tasks_of(self, ranges: Sequence[OffsetRange], hints_for: HintsFor) -> list[Task]:
        """The ranges of each task, of ranges that are split already."""
        if self.are_together:
            return [tuple(sorted(ranges))] if ranges else []
        if not self.are_coalesced or len(ranges) <= 1:
            return [(each,) for each in sorted(ranges)]
        return coalesce(sorted(ranges), hints_for(ranges), self.at_least, self.max_records)


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """The input of a plan, except the offsets of the logs.

    `wanted` has a range for each assigned partition, whether it is in `existing` or not.
    """

    wanted: Mapping[TopicPartition, RequestedRange]
    existing: Collection[TopicPartition]
    parts: Parts = Parts()
    predicates: Predicates = EVERYTHING

    @property
    def selected(self) -> list[TopicPartition]:
        """The existing partitions that can hold rows which pass the filters, sorted."""
        return sorted(filter(self.predicates.keep, self.existing))

    def needed_positions(self) -> dict[TopicPartition, set[int]]:
        """Partition -> timestamps to send in ListOffsets: both ends of the log, and times.

        A partition whose range is bound late at both ends needs no positions, unless ranges are
        split, coalesced or narrowed.
        """
        selected = self.selected
        is_coalesced = self.parts.are_coalesced and len(selected) > 1
        needs_all = is_coalesced or self.parts.must_split(len(selected)) or self.predicates.narrow
        return {
            tp: self.wanted[tp].positions | self.predicates.positions
            for tp in selected
            if needs_all or not self.wanted[tp].is_bound_late
        }

    def with_unknown_times(
        self, listed: Listed, newest_ms: Mapping[TopicPartition, int]
    ) -> list[TopicPartition]:
        """The partitions in which ListOffsets found no record for a filter, but may be wrong.

        Where records were deleted, a broker looks into one segment only: the first whose largest
        timestamp is late enough, that of a deleted record too. `newest_ms` has the largest
        timestamps, as far as they are known.
        """
        since_ms = self.predicates.since_ms
        if since_ms is None:
            return []
        return [
            tp
            for tp, at in listed.items()
            if at[since_ms] < 0 < at[EARLIEST] and newest_ms.get(tp, since_ms) >= since_ms
        ]


def plan(
    request: BatchRequest,
    listed: Listed,
    hints_for: HintsFor = no_hints,
    newest_ms: Mapping[TopicPartition, int] = MappingProxyType({}),
) -> BatchPlan:
    """Fix the offset ranges of a batch read.

    Args:
        request: The requested bounds and partitions.
        listed: Partition -> timestamp -> offset, for all of `request.needed_positions()`.
        hints_for: Returns hints about ranges: leaders and sizes.
        newest_ms: Partition -> the largest timestamp in its log, where that is known.

    Raises:
        KafkaConfigError: A range starts after its end, or a starting timestamp is later than all
            records.
    """
    selected, wanted, parts = request.selected, request.wanted, request.parts
    logs = {
        tp: LogBounds.of(listed[tp][EARLIEST], listed[tp].values())
        for tp in selected
        if tp in listed
    }
    resolved = [_resolve(tp, wanted[tp], log, listed[tp]) for tp, log in logs.items()]
    available = {each.topic_partition: _cut(each, logs[each.topic_partition]) for each in resolved}
    ranges = _narrow([*available.values()], request, listed, newest_ms)
    if parts.must_split(len(selected)):
        ranges = split(ranges, parts.at_least, parts.max_records)
    tasks = [
        tuple(_bind_late(task, available, wanted)) for task in parts.tasks_of(ranges, hints_for)
    ]
    late = [(OffsetRange(tp, EARLIEST, LATEST),) for tp in selected if tp not in listed]
    return BatchPlan(tuple(sorted([*tasks, *late])), (*_losses(request, resolved, logs),))


def offset_of(
    bound: RequestedBound,
    topic_partition: TopicPartition,
    log: LogBounds,
    listed: Mapping[int, int],
) -> int:
    """The offset of one end of a range.

    Args:
        bound: The end. `Committed` gives the start of the log; the caller knows the group's offset.
        topic_partition: For the error.
        log: Both ends of the log.
        listed: Timestamp -> offset from ListOffsets, for the bound's timestamp if it has one.

    Raises:
        KafkaConfigError: A starting timestamp is later than all records.
    """
    match bound:
        case BeforeLatest(count):
            return max(log.earliest, log.latest - count)
        case FirstAtOrAfter(ms, fail_if_none):
            if listed[ms] >= 0:
                return listed[ms]
            if fail_if_none:
                raise KafkaConfigError(
                    f"No offset matched from request of topic-partition {topic_partition} and "
                    f"timestamp {ms}: all records are older. Choose an earlier timestamp, or set "
                    "startingOffsetsByTimestampStrategy to latest."
                )
            return log.latest
        case Committed():
            return log.earliest
    return {EARLIEST: log.earliest, LATEST: log.latest}.get(bound, bound)


def _resolve(
    topic_partition: TopicPartition,
    wanted: RequestedRange,
    log: LogBounds,
    listed: Mapping[int, int],
) -> OffsetRange:
    """The requested range in offsets, which may be outside of the log."""
    start, end = (offset_of(bound, topic_partition, log, listed) for bound in wanted)
    if start > end:
        raise KafkaConfigError(
            f"[RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET] The resolved start offset "
            f"{start} is greater than the resolved end offset {end} for topic "
            f"{topic_partition.topic} partition {topic_partition.partition}, whose log holds "
            f"[{log.earliest}, {log.latest}): correct where the read starts or ends."
        )
    return OffsetRange(topic_partition, start, end)


def _losses(
    request: BatchRequest, resolved: Iterable[OffsetRange], logs: Mapping[TopicPartition, LogBounds]
) -> Iterator[MissingPartitionsError | DataLossError]:
    if missing := request.wanted.keys() - set(request.existing):
        yield MissingPartitionsError(missing)
    for range_ in resolved:
        log = logs[range_.topic_partition]
        is_empty = range_.from_offset == range_.until_offset
        is_within = log.earliest <= range_.from_offset and range_.until_offset <= log.latest
        if not (is_empty or is_within):
            yield unreadable(range_, log)


def _cut(wanted: OffsetRange, log: LogBounds) -> OffsetRange:
    """The part of a range that is in the log, or an empty range."""
    until = min(wanted.until_offset, log.latest)
    start = min(max(wanted.from_offset, log.earliest), until)
    return OffsetRange(wanted.topic_partition, start, until)


def _narrow(
    ranges: list[OffsetRange],
    request: BatchRequest,
    listed: Listed,
    newest_ms: Mapping[TopicPartition, int],
) -> list[OffsetRange]:
    """The parts of the ranges that can hold rows which pass the filters; no empty ones."""
    predicates = request.predicates
    if not predicates.narrow:
        return ranges
    unknown = set(request.with_unknown_times(listed, newest_ms))
    narrowed = []
    for tp, start, until in ranges:
        first_in_time = start
        if predicates.since_ms is not None:
            offset = listed[tp][predicates.since_ms]
            first_in_time = until if offset < 0 and tp not in unknown else offset
        first = max(start, predicates.from_offset, first_in_time)
        last = min(until, predicates.until_offset)
        if first < last:
            narrowed.append(OffsetRange(tp, first, last))
    return narrowed


def _bind_late(
    pieces: Iterable[OffsetRange],
    available: Mapping[TopicPartition, OffsetRange],
    wanted: Mapping[TopicPartition, RequestedRange],
) -> Iterator[OffsetRange]:
    """Put EARLIEST and LATEST back where a piece starts or ends at the edge of the log."""
    for tp, start, until in pieces:
        _, first, last = available[tp]
        from_earliest = start == first and wanted[tp].start == EARLIEST
        to_latest = until == last and wanted[tp].end == LATEST  # point: late-ends
        yield OffsetRange(tp, EARLIEST if from_earliest else start, LATEST if to_latest else until)
