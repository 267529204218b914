"""Where a new stream starts, and which of its offsets could differ when they are looked up again.

When the first micro-batch is run again after a crash, Spark requests the start from a Python source
again and passes nothing of the checkpoint. So a start that may differ then is pinned: the first
micro-batch reads nothing in such a partition, and its end, which Spark logs, is the start. (Spark's
connector keeps its start in a file of its own.) Never imports pyspark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.groups import committed_offsets
from kafka_protocol.client.consumer.list_offsets import list_positions
from kafka_protocol.errors import KafkaConfigError, KafkaError
from kafka_protocol.topic_partition import LogBounds, TopicPartition
from kafka_spark_source.options.read import StreamReadOptions
from kafka_spark_source.planning.batch import offset_of
from kafka_spark_source.planning.bounds import RequestedRange, check_assigned, to_absolute
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.planning.positions import (
    TO_LATEST,
    Ago,
    BeforeLatest,
    Bound,
    Committed,
    Position,
    Timestamp,
    bounds_of,
    has_bound_for,
)
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.reading.assignment import Assignment

# Positions that give another offset each time they are looked up.
_RELATIVE: Final = (Ago, BeforeLatest, Committed)


@dataclass(frozen=True, slots=True)
class Start:
    """Where a new stream starts.

    Attributes:
        offsets: The start in each partition that is assigned and exists.
        moving: Partitions whose start may have another offset when it is looked up again.
        timed: Partitions that start at the first record from a timestamp on. Their start keeps its
            offset as long as the log has this record.
        refusal: Why a new query cannot start there. Ignored when the first micro-batch runs again:
            partitions may have been added, and records deleted, since the query was new.
    """

    offsets: Offsets
    moving: frozenset[TopicPartition]
    timed: frozenset[TopicPartition]
    refusal: KafkaError | None = None

    def pinned(self, *, single_batch_run: bool) -> dict[TopicPartition, int]:
        """The offsets at which the first micro-batch also ends, so that Spark's log keeps them.

        In a run that may have no second micro-batch, partitions in `timed` are read at once.
        """
        partitions = self.moving if single_batch_run else self.moving | self.timed
        return {tp: self.offsets[tp] for tp in partitions}

    def before(self, end: Offsets) -> dict[TopicPartition, int]:
        """Where the first micro-batch started, which Spark logged with this end and runs again.

        This start was looked up again. A moving partition was pinned, so it started at its end. A
        timed one may have been read at once, so it starts where its record is found, at its end at
        the latest.
        """
        logged = {tp: at for tp, at in self.offsets.items() if tp in end}
        # Partitions without an end are new: the next micro-batch finds them.
        timed = {tp: min(logged[tp], end[tp]) for tp in self.timed & logged.keys()}
        return logged | timed | {tp: end[tp] for tp in self.moving & end.keys()}


def check_pinnable(starting: Position) -> None:
    """Refuse a relative start where the first micro-batch may be the only one of a run.

    A pinned micro-batch reads nothing, so such a run would succeed and read nothing.

    Raises:
        KafkaConfigError: The start is relative in at least one partition.
    """
    if any(isinstance(bound, _RELATIVE) for bound in bounds_of(starting)):
        raise KafkaConfigError(
            "A stream keeps a start such as '-10m', 'latest-100' or 'group' in its checkpoint by "
            "an empty first micro-batch. With Trigger.Once no second one follows, and before "
            "PySpark 4.2 a source cannot detect that trigger. Use Trigger.AvailableNow with "
            "PySpark 4.2 or newer, or set startingTimestamp instead."
        )


def find_start(
    cluster: Cluster, assignment: Assignment, options: StreamReadOptions, deadline: Deadline
) -> Start:
    """Look up where a stream starts. `Start.refusal` says why a new query cannot start there.

    Raises:
        KafkaError: The cluster cannot be reached, or a broker refuses.
    """
    starting, now = options.starting, now_ms()
    refusals: list[KafkaError] = []
    try:
        check_assigned(assignment.assigned, starting, TO_LATEST)
    except KafkaConfigError as error:
        refusals.append(error)
    bounds = {
        tp: starting.bound_of(tp)
        for tp in sorted(assignment.existing)
        if has_bound_for(starting, tp)
    }
    wanted = {tp: to_absolute(bound, now, fail_if_none=True) for tp, bound in bounds.items()}
    positions = {tp: RequestedRange(end, LATEST).positions for tp, end in wanted.items()}
    known = list_positions(cluster, positions, deadline)
    offsets = {}
    for tp, at in known.items():
        try:
            offsets[tp] = offset_of(wanted[tp], tp, LogBounds.of(at[EARLIEST], at.values()), at)
        except KafkaConfigError as error:
            offsets[tp] = at[LATEST]
            if options.fail_on_no_match:
                refusals.append(error)
    group = [tp for tp, bound in bounds.items() if isinstance(bound, Committed)]
    if group and options.group_id is not None:
        offsets |= committed_offsets(cluster, options.group_id, group, deadline)
    of_records = {tp for tp, at in known.items() if _is_record(bounds[tp], at)}
    exact = {tp for tp, bound in bounds.items() if isinstance(bound, int) and bound != LATEST}
    return Start(
        offsets,
        moving=frozenset(bounds.keys() - exact - of_records),
        timed=frozenset(of_records),
        refusal=next(iter(refusals), None),
    )


def _is_record(bound: Bound, known: Mapping[int, int]) -> bool:
    """Whether a start is the offset of a record with a timestamp, and not the end of the log."""
    return isinstance(bound, Timestamp) and known[bound.ms] >= 0
