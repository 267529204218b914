"""Where a new stream starts, and which of its offsets a second look could put elsewhere.

Spark asks a Python source for its start anew when the first micro-batch is to be run again after a
crash, and tells it nothing of its checkpoint. So a start that cannot be found again is pinned: the
first micro-batch reads nothing there, and its end, in Spark's log, is the start. What Spark's
connector keeps in a file of its own is kept so in the log that both of them read.
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
from kafka_spark_source.planning.bounds import Ends, check_assigned, timed
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
    is_named,
)
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.reading.assignment import Assignment

# Positions that mean something else each time they are looked up, and never nothing.
_RELATIVE: Final = (Ago, BeforeLatest, Committed)


@dataclass(frozen=True, slots=True)
class Start:
    """Where a new stream starts.

    Attributes:
        offsets: In each partition that is assigned and exists.
        moving: Partitions whose offset is another one each time it is looked up.
        timed: Partitions whose offset is that of a record with a timestamp: the same one again, as
            long as the log holds it.
        refusal: Why a new query cannot start there. One whose first micro-batch runs again can:
            partitions may have come, and records have aged out, since it was new.
    """

    offsets: Offsets
    moving: frozenset[TopicPartition]
    timed: frozenset[TopicPartition]
    refusal: KafkaError | None = None

    def before(self, end: Offsets) -> dict[TopicPartition, int]:
        """Where the first micro-batch started that Spark has logged with this end, and runs again.

        This start was looked up again. A moving one may be anywhere now, but that micro-batch read
        nothing there; one with a timestamp was not pinned where it may have been the only one.
        """
        again = {
            tp: min(at, end[tp]) for tp, at in self.offsets.items() if tp in self.timed & end.keys()
        }
        nowhere = {tp: end[tp] for tp in self.moving & end.keys()}
        # Partitions without an end are new, and found by the next micro-batch.
        return {tp: at for tp, at in self.offsets.items() if tp in end} | again | nowhere


def check_pinnable(starting: Position) -> None:
    """Refuse a relative start where the first micro-batch may be the only one of a run.

    That one reads nothing, so the run would read nothing, and say that all is well.

    Raises:
        KafkaConfigError: It is relative, at least for a part.
    """
    relative = [bound for bound in bounds_of(starting) if isinstance(bound, _RELATIVE)]
    if relative:
        raise KafkaConfigError(
            "A stream starts at a position such as '-10m', 'latest-100' or 'group' by an empty "
            "first micro-batch, which keeps it in the checkpoint; Trigger.Once, and PySpark below "
            "4.2 for all that can be known there, would run no other. Use Trigger.AvailableNow "
            "with PySpark 4.2 or newer, or set startingTimestamp instead."
        )


def find_start(
    cluster: Cluster, found: Assignment, options: StreamReadOptions, deadline: Deadline
) -> Start:
    """Look up where a stream starts.

    Args:
        cluster: Whom to ask.
        found: The partitions that are assigned.
        options: Where the stream is to start.
        deadline: When to give up.

    Raises:
        KafkaError: The cluster cannot be asked.
    """
    starting, now = options.starting, now_ms()
    refusals: list[KafkaError] = []
    try:
        check_assigned(found.assigned, starting, TO_LATEST)
    except KafkaConfigError as error:
        refusals.append(error)
    bounds = {tp: starting.bound_of(tp) for tp in sorted(found.existing) if is_named(starting, tp)}
    wanted = {tp: timed(bound, now, fail_if_none=True) for tp, bound in bounds.items()}
    positions = {tp: Ends(end, LATEST).positions for tp, end in wanted.items()}
    known = list_positions(cluster, positions, deadline)
    offsets = {}
    for tp, at in known.items():
        try:
            offsets[tp] = offset_of(wanted[tp], tp, LogBounds(at[EARLIEST], at[LATEST]), at)
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
    """Whether a start is that of a record with a timestamp, and not the end for want of one."""
    return isinstance(bound, Timestamp) and known[bound.ms] >= 0
