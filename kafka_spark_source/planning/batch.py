"""What was asked for, and what the cluster holds -> the offset ranges to read.

Pure: the cluster's answers come in as arguments, warnings go out as values. An end of a range that
is just "earliest" or "latest" stays so (it is bound late): the task that reads it asks the log as
it is then. Sources: `KafkaOffsetReaderAdmin` and `KafkaExceptions` of Spark's connector, whose
condition names the errors carry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kafka_protocol.errors import DataLossError, KafkaConfigError
from kafka_protocol.topic_partition import LogBounds, OffsetRange, TopicPartition
from kafka_spark_source.planning.bounds import End, Ends, Since
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST, join_partitions
from kafka_spark_source.planning.positions import BeforeLatest, Committed
from kafka_spark_source.planning.predicates import EVERYTHING, Predicates
from kafka_spark_source.planning.splitting import split


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
            lost.insert(0, missing_warning(self.missing))
        return tuple(lost)


@dataclass(frozen=True, slots=True)
class Parts:
    """How many input partitions to make of the ranges.

    Attributes:
        at_least: The option minPartitions.
        max_records: The option maxRecordsPerPartition.
    """

    at_least: int | None = None
    max_records: int | None = None

    def must_split(self, count: int) -> bool:
        """Whether the ranges of `count` partitions may have to be split."""
        return self.max_records is not None or (self.at_least or 0) > count


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """All that a batch read is planned from, but for what the logs hold.

    Attributes:
        wanted: What each assigned partition is asked for, whether it exists or not.
        existing: Those of them that exist.
        fail_on_data_loss: Whether partitions or records that are not there are an error. If not,
            partitions are left out, and ranges cut to what is there.
        parts: How far to split ranges.
        predicates: What a row has to fulfil to be of any use.
    """

    wanted: Mapping[TopicPartition, Ends]
    existing: Collection[TopicPartition]
    fail_on_data_loss: bool = True
    parts: Parts = Parts()
    predicates: Predicates = EVERYTHING

    @property
    def useful(self) -> list[TopicPartition]:
        """The partitions that can hold rows of any use, sorted."""
        return sorted(filter(self.predicates.keep, self.existing))

    def needed_positions(self) -> dict[TopicPartition, set[int]]:
        """What `plan` has to know, as ListOffsets takes it.

        Both ends of a log, which given offsets are checked against, and times. Nothing where both
        ends of a range are bound late and it is neither split nor narrowed.
        """
        useful = self.useful
        ask_all = self.parts.must_split(len(useful)) or self.predicates.narrow
        return {
            tp: self.wanted[tp].positions | self.predicates.positions
            for tp in useful
            if ask_all or not self.wanted[tp].are_late
        }


def plan(request: BatchRequest, known: Mapping[TopicPartition, Mapping[int, int]]) -> BatchPlan:
    """Fix the offset ranges of a batch read.

    Args:
        request: What is asked for.
        known: Position -> offset, for all that `request.needed_positions` names.

    Raises:
        KafkaConfigError: An assigned partition does not exist, a range starts behind its end, or
            no record is as young as a starting timestamp.
        DataLossError: A specific start has aged out, or a specific end has not been written yet.
    """
    missing = tuple(sorted(request.wanted.keys() - set(request.existing)))
    if missing and request.fail_on_data_loss:
        raise missing_error(missing)
    useful, wanted, parts = request.useful, request.wanted, request.parts
    logs = {tp: log_bounds(known[tp]) for tp in useful if tp in known}
    asked = [_resolve(tp, wanted[tp], log, known[tp]) for tp, log in logs.items()]
    losses = tuple(
        DataLoss(range_, logs[range_.topic_partition])
        for range_ in asked
        if not _is_within(range_, logs[range_.topic_partition])
    )
    if losses and request.fail_on_data_loss:
        raise losses[0].error
    there = [_cut(range_, logs[range_.topic_partition]) for range_ in asked]
    ranges = _narrow(there, request.predicates, known)
    if parts.must_split(len(useful)):
        ranges = split(ranges, parts.at_least, parts.max_records)
    late = [OffsetRange(tp, EARLIEST, LATEST) for tp in useful if tp not in known]
    ranges = [*_bind_late(ranges, there, wanted), *late]
    return BatchPlan(tuple(sorted(ranges)), missing, losses)


def log_bounds(known: Mapping[int, int]) -> LogBounds:
    """What the brokers' answers about one partition say about its log.

    They are not of the same moment: where a log grew in between, the youngest answer counts, and
    where it lost its head it counts as empty.
    """
    return LogBounds(known[EARLIEST], max(known.values()))


def offset_of(
    bound: End, topic_partition: TopicPartition, bounds: LogBounds, known: Mapping[int, int]
) -> int:
    """What one end of a range comes to.

    Args:
        bound: The end; where a group stands is the caller's to know.
        topic_partition: Where.
        bounds: What the log holds.
        known: Position -> offset, as brokers answered, for each timestamp in the bound.

    Raises:
        KafkaConfigError: No record is as young as a starting timestamp.
    """
    match bound:
        case BeforeLatest(count):
            return max(bounds.earliest, bounds.latest - count)
        case Since(ms, fail_if_none):
            if known[ms] >= 0:
                return known[ms]
            if fail_if_none:
                raise KafkaConfigError(
                    f"No offset matched from request of topic-partition {topic_partition} and "
                    f"timestamp {ms}: no record is as young as that. Choose an earlier one, or "
                    "set startingOffsetsByTimestampStrategy to latest."
                )
            return bounds.latest
        case Committed():
            return bounds.earliest
    return {EARLIEST: bounds.earliest, LATEST: bounds.latest}.get(bound, bound)


def _resolve(
    topic_partition: TopicPartition, wanted: Ends, bounds: LogBounds, known: Mapping[int, int]
) -> OffsetRange:
    """The range as asked for, in offsets."""
    start, end = (offset_of(bound, topic_partition, bounds, known) for bound in wanted)
    if start > end:
        raise KafkaConfigError(
            f"[RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET] The resolved start offset "
            f"{start} is greater than the resolved end offset {end} for topic "
            f"{topic_partition.topic} partition {topic_partition.partition}, whose log holds "
            f"[{bounds.earliest}, {bounds.latest}): correct where the read starts or ends."
        )
    return OffsetRange(topic_partition, start, end)


def _is_within(asked: OffsetRange, bounds: LogBounds) -> bool:
    if asked.from_offset == asked.until_offset:  # nothing asked for, nothing lost
        return True
    return bounds.earliest <= asked.from_offset and asked.until_offset <= bounds.latest


def _cut(asked: OffsetRange, bounds: LogBounds) -> OffsetRange:
    """What of a range is in the log; an empty range where that is nothing."""
    until = min(asked.until_offset, bounds.latest)
    start = min(max(asked.from_offset, bounds.earliest), until)
    return OffsetRange(asked.topic_partition, start, until)


def _narrow(
    ranges: list[OffsetRange],
    predicates: Predicates,
    known: Mapping[TopicPartition, Mapping[int, int]],
) -> list[OffsetRange]:
    """What of the ranges can hold rows that fulfil the predicates; none that would be empty."""
    if not predicates.narrow:
        return ranges
    narrowed = []
    for tp, start, until in ranges:
        youngest = start
        if predicates.since_ms is not None:
            found = known[tp][predicates.since_ms]
            youngest = found if found >= 0 else until
        first = max(start, predicates.from_offset, youngest)
        last = min(until, predicates.until_offset)
        if first < last:
            narrowed.append(OffsetRange(tp, first, last))
    return narrowed


def _bind_late(
    pieces: Iterable[OffsetRange],
    there: Iterable[OffsetRange],
    wanted: Mapping[TopicPartition, Ends],
) -> Iterator[OffsetRange]:
    """Give the outer edges back to the task that reads them, where they are earliest or latest."""
    edges = {tp: (start, until) for tp, start, until in there}
    for tp, start, until in pieces:
        first, last = edges[tp]
        from_earliest = start == first and wanted[tp].start == EARLIEST
        to_latest = until == last and wanted[tp].end == LATEST
        yield OffsetRange(tp, EARLIEST if from_earliest else start, LATEST if to_latest else until)


def missing_error(partitions: Collection[TopicPartition]) -> KafkaConfigError:
    """What assigned partitions that do not exist are while failOnDataLoss is true."""
    return KafkaConfigError(
        f"{_missing(partitions)}: correct the options 'subscribe' or 'assign', or set "
        "failOnDataLoss to false to read without them."
    )


def missing_warning(partitions: Collection[TopicPartition]) -> str:
    """What they are while failOnDataLoss is false."""
    return f"{_missing(partitions)}: skipped, since failOnDataLoss is false."


def _missing(partitions: Collection[TopicPartition]) -> str:
    one_or_more = "Partition" if len(partitions) == 1 else "Partitions"
    verb = "does" if len(partitions) == 1 else "do"
    return f"{one_or_more} {join_partitions(partitions)} {verb} not exist"
