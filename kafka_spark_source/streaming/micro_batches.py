"""The driver's side of one streaming query: where it starts, how far each micro-batch goes.

One object lives as long as the query runs, and remembers nothing that a restart would need: that
is in Spark's checkpoint. Knows no Spark; `stream_reader` is what Spark calls.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TypeVar

from kafka_protocol.client.clock import Deadline, pause
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.record_sizes import bytes_per_offset
from kafka_protocol.client.consumer.topic_identity import is_doubtful
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.options.read import StreamReadOptions
from kafka_spark_source.planning.batch import missing_error, missing_warning
from kafka_spark_source.planning.rate_limits import Offsets, within_bytes, within_offsets
from kafka_spark_source.planning.splitting import split
from kafka_spark_source.planning.stream import Ends, check_available_now, deleted, plan_stream
from kafka_spark_source.reading.data_loss import raise_or_warn
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.streaming.group_commits import GroupCommits
from kafka_spark_source.streaming.logs import StreamLogs
from kafka_spark_source.streaming.start import Start, check_pinnable, find_start

T = TypeVar("T")

_log = logging.getLogger(__name__)

# How often a log that seems to have become shorter is looked at before that is believed: a broker
# that has just become its leader may be behind.
_LOOKS_AT_SHORTER_LOGS = 3

# Nothing in the checkpoint says which connector it was.
_RUN_AGAIN = (
    "The first micro-batch is run again. It reads nothing where the start is 'latest' or relative, "
    "as pykafka logs such a micro-batch. Had Spark's own connector logged it, its records would be "
    "left out: let that connector finish its first micro-batch before a query moves."
)

# At the default trigger Spark asks some 80 times a second. Once there has been nothing to read for
# a while, each look waits a little: a third of the looks and of the CPU, for a few ms of latency.
_IDLE_AFTER_MS = 1_000
_IDLE_PAUSE_MS = 25


class MicroBatches:
    """One query's micro-batches, one after the other.

    Args:
        options: What to read.
        config: How to talk to the cluster.
    """

    def __init__(self, options: StreamReadOptions, config: ClientConfig) -> None:
        self._options = options
        self._config = config
        self._cluster = Cluster(config)
        self._logs = StreamLogs(self._cluster, options.strategy)
        self._commits = (
            GroupCommits(self._cluster, options.group_id)
            if options.commit_to_group and options.group_id
            else None
        )
        self._start: Start | None = None  # of a new query, or of one whose first batch is run again
        self._has_looked = False
        self._gone: set[TopicPartition] = set()  # though they may still be in Spark's log
        self._recreated: set[TopicPartition] = set()  # to begin anew
        self._stops_at_target = False
        self._target: Offsets | None = None
        self._earliest: dict[TopicPartition, int] = {}  # of partitions that are new
        self._may_wait = Deadline.after(0)  # for minOffsetsPerTrigger: until then
        self._idle_from = Deadline.after(_IDLE_AFTER_MS)
        self.latest: Offsets | None = None
        """Where the logs ended at the last look."""

    def __repr__(self) -> str:
        return f"<MicroBatches of {self._logs!r}>"

    def close(self) -> None:
        """Close every connection; the next call opens them again."""
        self._cluster.close()

    def stop_at_what_is_there(self) -> None:
        """Read what is there at the next look, and nothing that comes later."""
        self._stops_at_target = True

    def start(self) -> Offsets:
        """Where the query starts: looked up once, so that two callers get the same answer.

        What keeps a new query from starting there is raised by `next_end`: Spark asks here also
        before it runs the first micro-batch of an old query again.

        Raises:
            KafkaError: The cluster cannot be asked.
        """
        return self._looked_up().offsets

    def next_end(
        self, start: Offsets, *, is_new: bool, is_limited: bool, may_be_only_one: bool
    ) -> Offsets:
        """How far the next micro-batch goes.

        Args:
            start: Where it begins; all before it is done.
            is_new: Whether it is the first one of a new query, and begins at `start()`.
            is_limited: Whether the options' limits count.
            may_be_only_one: Whether the run may have no other, so that what this one does not read
                would not be read at all.

        Returns:
            The end; `start` itself where there is nothing to read (yet).

        Raises:
            KafkaConfigError: A new query cannot start where the options say.
            DataLossError: Something between the two is gone, and failOnDataLoss is true.
            AvailableNowError: Something is gone in a run that has to read all that was there.
            KafkaError: The cluster cannot be asked.
        """
        if is_new:
            pinned = self._pinned(may_be_only_one)
        else:
            pinned = {}
            self.processed(start)
            if self._idle_from.has_passed:
                pause(_IDLE_PAUSE_MS)
        end = self._patiently(
            lambda left: self._next_end(start, left, pinned, is_limited=is_limited, is_new=is_new)
        )
        self._has_looked = True
        if is_new or end != start:
            self._may_wait = Deadline.after(self._options.limits.max_delay_ms)
            self._idle_from = Deadline.after(_IDLE_AFTER_MS)
        return end

    def plan(self, start: Offsets, end: Offsets) -> list[PlannedRange]:
        """What the tasks of a micro-batch read.

        Args:
            start: Where it begins.
            end: Where it ends.

        Raises:
            DataLossError: Something between the two is gone, and failOnDataLoss is true.
            KafkaError: The cluster cannot be asked.
        """
        is_empty = start == end
        ranges = [] if is_empty else self._patiently(lambda left: self._plan(start, end, left))
        self._earliest.clear()
        return ranges

    def processed(self, offsets: Offsets) -> None:
        """Tell the consumer group, if there is one, that all before these offsets is done."""
        if self._commits is not None and offsets:
            self._commits.commit(offsets)

    # --- Where it starts -------------------------------------------------------------------------

    def _looked_up(self) -> Start:
        if self._start is None:
            self._start = self._patiently(self._find_start)
        return self._start

    def _find_start(self, deadline: Deadline) -> Start:
        refusal: KafkaError | None = None
        try:
            found = self._logs.at_first(deadline)
        except BrokerError as error:
            if not is_doubtful(error):
                raise
            refusal, found = error, self._logs.assignment(deadline)
        if missing := set(found.assigned) - set(found.existing):
            if self._options.fail_on_data_loss:
                refusal = refusal or missing_error(missing)
            else:
                _log.warning(missing_warning(missing))
        start = find_start(self._cluster, found, self._options, deadline)
        return replace(start, refusal=refusal or start.refusal)

    # --- How far a micro-batch goes --------------------------------------------------------------

    def _next_end(
        self, start: Offsets, deadline: Deadline, pinned: Offsets, *, is_limited: bool, is_new: bool
    ) -> Offsets:
        now = self._look(start, deadline)
        target = self._target
        if now.latest == start and not (is_new or self._stops_at_target or self._recreated):
            return start  # as most looks of an idle query
        if self._stops_at_target and target is None:
            self._target = now.latest
        anew = {} if target else self._begun_anew(now.latest, deadline)
        available = target or now.latest
        if is_new:
            # What came since the start was looked up is new to the next one, as it would be if
            # this one had to run again.
            available = {tp: at for tp, at in available.items() if tp in start}
        self._find_earliest(available.keys() - start.keys(), deadline)
        begin = {tp: at for tp, at in {**self._earliest, **start}.items() if tp in available}
        latest = {tp: available[tp] for tp in begin}
        if not latest or (is_limited and not anew and self._waits_for_more(start, latest)):
            return start
        if target and not is_new and latest != start:
            others = {tp.topic for tp in self._recreated}
            check_available_now(latest, target, now._replace(recreated=others))
        end = self._limited(begin, latest, deadline) if is_limited else latest
        end = {**end, **pinned, **anew}
        if self._options.fail_on_data_loss:
            # Before Spark logs the end, or every restart would meet the same failure again.
            for loss in plan_stream(start, end, self._earliest).losses:
                raise loss
        self._recreated.clear()
        return end

    def _look(self, start: Offsets, deadline: Deadline) -> Ends:
        """Where the logs end now. What was deleted, and what was re-created, is kept in mind."""
        if self._target is not None:
            self._logs.look_again()  # what a run has to read may be another topic by now
        for _ in range(_LOOKS_AT_SHORTER_LOGS):
            now = self._logs.ends(start.keys(), deadline, self._gone)
            self._recreated.update(tp for tp in now.latest if tp.topic in now.recreated)
            if now.recreated or all(now.latest.get(tp, at) >= at for tp, at in start.items()):
                break
            self._logs.look_again()
            pause(self._config.retry_backoff_ms)
        gone = start.keys() - self._gone - now.latest.keys()
        if gone and self._target is None:
            self._gone |= gone
            if self._options.fail_on_data_loss or not now.latest:
                raise_or_warn(deleted(gone), self._options.fail_on_data_loss)
        came_back = self._gone & now.latest.keys()
        self._gone -= came_back
        ids = self._logs.topic_ids(came_back, deadline)
        self._recreated.update(tp for tp in came_back if tp.topic not in ids)
        self.latest = now.latest
        return now

    def _find_earliest(self, new: AbstractSet[TopicPartition], deadline: Deadline) -> None:
        if unknown := new - self._earliest.keys():
            self._earliest |= self._logs.earliest(unknown, deadline)

    def _waits_for_more(self, start: Offsets, latest: Offsets) -> bool:
        if self._stops_at_target:
            return False  # no more will come
        if self._may_wait.has_passed or any(latest.get(tp, at) < at for tp, at in start.items()):
            return False
        return self._options.limits.is_too_little(start, latest)

    def _limited(
        self, begin: Offsets, latest: Offsets, deadline: Deadline
    ) -> dict[TopicPartition, int]:
        limits = self._options.limits
        end = dict(latest)
        if limits.max_offsets is not None:
            end = within_offsets(begin, end, limits.max_offsets)
        if limits.max_bytes is not None:
            next_ones = {tp: at for tp, at in begin.items() if at < end[tp]}
            end = within_bytes(begin, end, self._sizes(next_ones, deadline), limits.max_bytes)
        return end

    def _sizes(self, offsets: Offsets, deadline: Deadline) -> Mapping[TopicPartition, float]:
        try:
            return bytes_per_offset(self._cluster, offsets, deadline)
        except BrokerError as error:
            if error.error is not ErrorCode.OFFSET_OUT_OF_RANGE:
                raise
        # What aged out has no size; the task that would read it tells, or raises.
        earliest = self._logs.earliest(offsets.keys(), deadline)
        there = {tp: max(at, earliest.get(tp, at)) for tp, at in offsets.items()}
        return bytes_per_offset(self._cluster, there, deadline)

    def _pinned(self, may_be_only_one: bool) -> Offsets:
        """Where the first micro-batch reads nothing, so that its end keeps the start."""
        start = self._looked_up()
        if start.refusal is not None:
            raise start.refusal
        if may_be_only_one:
            check_pinnable(self._options.starting)
        pinned = start.moving if may_be_only_one else start.moving | start.timed
        return {tp: start.offsets[tp] for tp in pinned}

    def _begun_anew(self, latest: Offsets, deadline: Deadline) -> dict[TopicPartition, int]:
        """Where to go on in partitions that were deleted and re-created: at the beginning.

        That is an end of its own, so that Spark's log tells where the next micro-batch begins.
        """
        partitions = self._recreated & latest.keys()
        if not partitions:
            return {}
        raise_or_warn(
            deleted(partitions, ", and their topics re-created"), self._options.fail_on_data_loss
        )
        return self._logs.earliest(partitions, deadline)

    # --- What it reads ---------------------------------------------------------------------------

    def _plan(self, start: Offsets, end: Offsets, deadline: Deadline) -> list[PlannedRange]:
        if self._start is not None and not self._has_looked:
            start = self._start.before(end)
            if self._start.moving:
                _log.warning(_RUN_AGAIN)
        self._find_earliest(end.keys() - start.keys(), deadline)
        planned = plan_stream(start, end, self._earliest)
        for loss in planned.losses:
            raise_or_warn(loss, self._options.fail_on_data_loss)
        ranges, parts = [*planned.ranges], self._options.parts
        if parts.must_split(len(ranges)):
            ranges = split(ranges, parts.at_least, parts.max_records)
        ids = self._logs.topic_ids({range_.topic_partition for range_ in ranges}, deadline)
        return [PlannedRange(each, ids.get(each.topic_partition.topic)) for each in ranges]

    # --- Failures --------------------------------------------------------------------------------

    def _patiently(self, work: Callable[[Deadline], T]) -> T:
        """Do something, again where it failed for a reason that may pass.

        A new query is to tell soon that an address is wrong. One that runs outlasts the restart of
        a broker.
        """
        patience = Deadline.after(self._config.api_timeout_ms if self._has_looked else 0)
        tries = 1
        while True:
            try:
                return work(Deadline.after(self._config.api_timeout_ms))
            except KafkaError as error:
                is_over = tries >= self._options.planning_attempts and patience.has_passed
                if is_over or not error.retriable:
                    raise
                _log.warning("The next micro-batch cannot be planned yet: %s", error)
                pause(self._options.planning_interval_ms)
            self._cluster.close()
            tries += 1
