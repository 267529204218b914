"""The driver's side of one streaming query: where it starts, how far each micro-batch goes.

A `MicroBatches` lives as long as one run of the query. It keeps nothing that a restart needs: that
is in Spark's checkpoint. Never imports pyspark: Spark calls `stream_reader`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import partial
from typing import TypeVar

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.record_sizes import bytes_per_offset
from kafka_protocol.client.consumer.topic_identity import is_unknown_topic
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.options.read import StreamReadOptions
from kafka_spark_source.planning.batch import MissingPartitionsError
from kafka_spark_source.planning.rate_limits import Offsets, within_bytes, within_offsets
from kafka_spark_source.planning.splitting import split
from kafka_spark_source.planning.stream import (
    LogSnapshot,
    check_available_now,
    losses_between,
    plan_stream,
)
from kafka_spark_source.reading import data_loss
from kafka_spark_source.reading.range_reader import PlannedRange, with_topic_ids
from kafka_spark_source.reading.retries import with_retries
from kafka_spark_source.reading.size_hints import hints_for
from kafka_spark_source.streaming.group_commits import GroupCommits
from kafka_spark_source.streaming.logs import StreamLogs
from kafka_spark_source.streaming.micro_batch_rules import RULES, Reach, Rule, Run, Turn
from kafka_spark_source.streaming.observed_logs import ObservedLogs
from kafka_spark_source.streaming.pacing import Pacing
from kafka_spark_source.streaming.start import Start, check_pinnable, find_start
from kafka_spark_source.worker.worker import exclude_modules_from_gc

T = TypeVar("T")

_log = logging.getLogger(__name__)

# The checkpoint does not say which connector wrote it.
_RUN_AGAIN = (
    "Spark runs the first micro-batch again. Where the start is 'latest' or relative, it reads no "
    "records, because pykafka logs such a first micro-batch without any. If Spark's own connector "
    "logged it, its records are left out: let that connector finish its first micro-batch before "
    "you move a query."
)


class Phase(Enum):
    """How far one run of a query has come. It only moves forward.

    NEW: Nothing was looked up. A micro-batch that is planned now was logged by an earlier run.
    STARTED: `start` looked up where the query starts: it is new, or Spark runs the first
        micro-batch again. Only the latter is planned in this phase.
    RUNNING: `next_end` found an end. Failures of brokers are waited for from now on.
    """

    NEW = auto()
    STARTED = auto()
    RUNNING = auto()


@dataclass(frozen=True, slots=True)
class Target:
    """The ends of the logs where a run with Trigger.AvailableNow ends; None until looked up."""

    offsets: Offsets | None = None


class MicroBatches:
    """One query's micro-batches, one after the other."""

    def __init__(self, options: StreamReadOptions, config: ClientConfig) -> None:
        self._options = options
        self._config = config
        self._cluster = Cluster(config)
        self._logs = StreamLogs(
            self._cluster, options.strategy, partitions_ttl_ms=options.partitions_ttl_ms
        )
        self._observed = ObservedLogs(
            self._logs,
            config,
            options.strategy,
            fail_on_data_loss=options.fail_on_data_loss,
        )
        self._commits = (
            GroupCommits(self._cluster, options.group_id)
            if options.commit_to_group and options.group_id
            else None
        )
        self._pacing = Pacing(options.limits.max_delay_ms)
        self._phase = Phase.NEW
        self._start: Start | None = None  # since the phase STARTED, if the query was in it
        self._target: Target | None = None  # None: the run has no end

    def __repr__(self) -> str:
        return f"<MicroBatches of {self._logs!r}>"

    @property
    def latest(self) -> LogSnapshot | None:
        """The logs at the last request for their ends; None before the first one."""
        return self._observed.latest

    def close(self) -> None:
        """Close every connection; the next call opens them again."""
        self._cluster.close()

    def stop_at_available_now(self) -> None:
        """End the run at the ends that the logs have when `next_end` first looks them up."""
        self._target = Target()

    def start(self) -> Offsets:
        """Where the query starts: looked up once, so that two callers get the same offsets.

        A refusal of this start is raised by `next_end`: Spark calls this method also before it
        runs the first micro-batch of an old query again.

        Raises:
            KafkaError: The cluster cannot be reached, or a broker refuses.
        """
        return self._started().offsets

    def next_end(
        self, start: Offsets, *, is_new: bool, is_limited: bool, single_batch_run: bool
    ) -> Offsets:
        """How far the next micro-batch goes. The query is RUNNING then.

        Args:
            start: Where it begins; all before it is done.
            is_new: Whether it is the first one of a new query, and begins at `start()`.
            is_limited: Whether the options' limits apply.
            single_batch_run: Whether the run may have no other micro-batch, so that it would never
                read the records that this one leaves out.

        Returns:
            The end; `start` itself where there is nothing to read (yet).

        Raises:
            KafkaConfigError: A new query cannot start where the options say.
            DataLossError: Something between the two is gone, and failOnDataLoss is true.
            AvailableNowError: Something is gone that the run has to read.
            KafkaError: The cluster cannot be reached, or a broker refuses.
        """
        pinned: Offsets = {}
        if is_new:
            pinned = self._pinned(single_batch_run=single_batch_run)
        else:
            self.processed(start)  # point: late-commit
            self._pacing.pause_if_idle()
        turn = Turn.FIRST if is_new else Turn.LATER
        end = self._with_retries(
            lambda _: self._next_end(start, pinned, turn, is_limited=is_limited)
        )
        self._phase = Phase.RUNNING
        if is_new or end != start:
            self._pacing.micro_batch_found(self._topics_between(start, end))
        else:
            exclude_modules_from_gc()
        return end

    def plan(self, start: Offsets, end: Offsets) -> list[list[PlannedRange]]:
        """The ranges that each task of a micro-batch reads.

        Raises:
            DataLossError: Something between the two is gone, and failOnDataLoss is true.
            KafkaError: The cluster cannot be reached, or a broker refuses.
        """
        is_empty = start == end
        tasks = [] if is_empty else self._with_retries(lambda left: self._plan(start, end, left))
        self._observed.micro_batch_planned()
        return tasks

    def processed(self, offsets: Offsets) -> None:
        """Commit these offsets to the consumer group, if there is one: all before them is done."""
        if self._commits is not None and offsets:
            self._commits.commit(offsets)

    # --- Where it starts -------------------------------------------------------------------------

    def _started(self) -> Start:
        if self._start is None:
            self._start = self._with_retries(self._find_start)
            if self._phase is Phase.NEW:
                self._phase = Phase.STARTED
        return self._start

    def _find_start(self, deadline: Deadline) -> Start:
        refusal: KafkaError | None = None
        try:
            assignment = self._logs.initial_assignment(deadline)
        except BrokerError as error:
            if not is_unknown_topic(error):
                raise
            refusal, assignment = error, self._logs.assignment(deadline)
        if missing := set(assignment.assigned) - set(assignment.existing):
            loss = MissingPartitionsError(missing)
            lost = data_loss.refusal(loss, fail_on_data_loss=self._options.fail_on_data_loss)
            refusal = refusal or lost
        start = find_start(self._cluster, assignment, self._options, deadline)
        return replace(start, refusal=refusal or start.refusal)

    def _pinned(self, *, single_batch_run: bool) -> Offsets:
        """Where the first micro-batch of a new query reads nothing, so that its end is the start.

        Raises:
            KafkaError: A new query cannot start where the options say.
        """
        start = self._started()
        if start.refusal is not None:
            raise start.refusal
        if single_batch_run:
            check_pinnable(self._options.starting)
        return start.pinned(single_batch_run=single_batch_run)

    # --- How far a micro-batch goes --------------------------------------------------------------

    def _next_end(
        self, start: Offsets, pinned: Offsets, turn: Turn, *, is_limited: bool
    ) -> Offsets:
        run = self._run
        rules = RULES[turn][run]
        now = self._observed.observe(start, to_target=run is Run.TO_TARGET)
        deadline = Deadline.after(self._config.api_timeout_ms)
        recreated_topics = self._observed.recreated_topics
        if Rule.STAY_IF_READ in rules and self._observed.are_read and not recreated_topics:
            return start  # the usual case of an idle query
        if run is Run.TARGET_UNKNOWN:
            self._target = Target(now.ends)
        begin_again = Rule.BEGIN_AGAIN in rules
        restarted = (
            self._observed.beginnings_of_recreated(now.ends, deadline) if begin_again else {}
        )
        target = self._target.offsets if self._target else None
        available = now.ends if target is None else target
        if Rule.KEEP_PARTITIONS in rules:
            available = {tp: at for tp, at in available.items() if tp in start}
        earliest = self._observed.earliest_of_new(available.keys() - start.keys(), deadline)
        reach = Reach.of(start, available, earliest)
        if Rule.WAIT in rules and is_limited:
            reach = reach.without(self._waiting_topics(reach))
            if not restarted and self._waits_for_more(reach):
                return start
        if not reach.latest:
            return start
        if Rule.CHECK_TARGET in rules and reach.latest != start:
            check_available_now(reach.latest, available, now._replace(recreated=recreated_topics))
        end = self._limited(reach, deadline) if is_limited else reach.latest
        # point: re-created-topic
        end = {**end, **pinned, **restarted}
        losses = losses_between(start, end, earliest, self._options.strategy)
        data_loss.raise_early(losses, fail_on_data_loss=self._options.fail_on_data_loss)
        self._observed.end_found()
        return end

    @property
    def _run(self) -> Run:
        if self._target is None:
            return Run.ENDLESS
        return Run.TARGET_UNKNOWN if self._target.offsets is None else Run.TO_TARGET

    def _waits_for_more(self, reach: Reach) -> bool:
        # A loss is reported at once.
        if self._pacing.delay_has_passed or reach.has_shorter_log:
            return False
        return self._options.limits.is_too_little(reach.start, reach.latest)

    def _waiting_topics(self, reach: Reach) -> set[str]:
        small = self._options.limits.small_topics(reach.begin, reach.latest)
        return {each for each in small if self._pacing.may_wait(each)}

    def _topics_between(self, start: Offsets, end: Offsets) -> set[str]:
        """The topics with records between the two, if that matters."""
        if self._options.limits.min_offsets_per_topic is None:
            return set()
        return {tp.topic for tp, at in end.items() if at > start.get(tp, 0)}

    def _limited(self, reach: Reach, deadline: Deadline) -> dict[TopicPartition, int]:
        limits = self._options.limits
        end = dict(reach.latest)
        if limits.max_offsets is not None:
            end = within_offsets(reach.begin, end, limits.max_offsets)
        if limits.max_bytes is not None:
            unread = {tp: at for tp, at in reach.begin.items() if at < end[tp]}
            end = within_bytes(reach.begin, end, self._sizes(unread, deadline), limits.max_bytes)
        return end

    def _sizes(self, offsets: Offsets, deadline: Deadline) -> Mapping[TopicPartition, float]:
        try:
            return bytes_per_offset(self._cluster, offsets, deadline)
        except BrokerError as error:
            if error.error is not ErrorCode.OFFSET_OUT_OF_RANGE:
                raise
        # Deleted records have no size. The task that should read them raises, or warns.
        earliest = self._logs.earliest_offsets(offsets.keys(), deadline)
        existing = {tp: max(at, earliest.get(tp, at)) for tp, at in offsets.items()}
        return bytes_per_offset(self._cluster, existing, deadline)

    # --- What it reads ---------------------------------------------------------------------------

    def _plan(self, start: Offsets, end: Offsets, deadline: Deadline) -> list[list[PlannedRange]]:
        if self._phase is Phase.STARTED and self._start is not None:
            # point: repeated-start
            start = self._start.before(end)
            if self._start.moving:
                _log.warning(_RUN_AGAIN)
        earliest = self._observed.earliest_of_new(end.keys() - start.keys(), deadline)
        planned = plan_stream(start, end, earliest, self._options.strategy)
        for loss in planned.losses:
            data_loss.raise_or_warn(loss, fail_on_data_loss=self._options.fail_on_data_loss)
        ranges, parts = [*planned.ranges], self._options.parts
        if parts.must_split(len(ranges)):
            ranges = split(ranges, parts.at_least, parts.max_records)
        partitions = {each.topic_partition for each in ranges}
        tasks = parts.tasks_of(ranges, partial(hints_for, self._cluster, deadline))
        return with_topic_ids(tasks, self._logs.topic_ids(partitions, deadline))

    # --- Failures --------------------------------------------------------------------------------

    def _with_retries(self, work: Callable[[Deadline], T]) -> T:
        is_running = self._phase is Phase.RUNNING
        return with_retries(work, self._cluster, self._options, is_running=is_running)
