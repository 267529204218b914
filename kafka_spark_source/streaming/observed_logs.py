"""The observations of one run of a query: log ends, new, deleted and re-created partitions.

Never decides how far a micro-batch goes: that is `micro_batches`.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from kafka_protocol.client.clock import Deadline, sleep_ms
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.planning.strategies import Strategy
from kafka_spark_source.planning.stream import LogSnapshot, deleted, missing
from kafka_spark_source.reading.data_loss import raise_early, raise_or_warn
from kafka_spark_source.streaming.logs import StreamLogs

# How often the end of a log that seems shorter is requested before it is believed: a broker that
# has just become the leader may have an old high watermark.
_CHECKS_OF_SHORTER_LOGS: Final = 3


class ObservedLogs:
    """The logs of one query, from one micro-batch to the next."""

    def __init__(
        self,
        logs: StreamLogs,
        config: ClientConfig,
        strategy: Strategy,
        *,
        fail_on_data_loss: bool,
    ) -> None:
        self._logs = logs
        self._config = config
        self._strategy = strategy
        self._fail_on_data_loss = fail_on_data_loss
        self._deleted: set[TopicPartition] = set()  # though Spark's log may still contain them
        self._recreated: set[TopicPartition] = set()  # to be read from the beginning
        self._earliest: dict[TopicPartition, int] = {}  # of new partitions
        self._start: Offsets | None = None  # of the last observation
        self._known: AbstractSet[TopicPartition] = frozenset()  # its partitions
        self.latest: LogSnapshot | None = None
        """The logs at the last observation; None before the first one."""
        self.are_read = False
        """Whether the last observation started at all of these ends."""

    @property
    def recreated_topics(self) -> set[str]:
        """The re-created topics that are not yet read from the beginning."""
        return {tp.topic for tp in self._recreated}

    def observe(self, start: Offsets, *, to_target: bool) -> LogSnapshot:
        """Request the ends of the logs, and note which partitions were deleted or re-created.

        It may take longer than default.api.timeout.ms, as metadata may have to spread.

        In a run `to_target`, `check_available_now` reports deleted partitions, so they are not
        reported here.

        Raises:
            DataLossError: A partition was deleted, and failOnDataLoss is true.
        """
        if to_target:
            self._logs.invalidate_partitions()  # a topic of the target may have been re-created
        if not self._is_same(start):
            self._known = start.keys()
        now = self._latest_offsets(start)
        if self._is_unchanged(now, start):
            return now
        gone = start.keys() - self._deleted - now.ends.keys()
        if gone and not to_target:
            self._deleted |= gone
            losses = [*missing(gone, self._strategy)]
            raise_early(losses, fail_on_data_loss=self._fail_on_data_loss)
            if not now.ends:  # no micro-batch will be planned, which would log them
                for loss in losses:
                    raise_or_warn(loss, fail_on_data_loss=self._fail_on_data_loss)
        returned = self._deleted & now.ends.keys()
        self._deleted -= returned
        ids = self._logs.topic_ids(returned, self._new_deadline())
        # Without topic ids a topic that was missing for a while counts as re-created.
        self._recreated.update(tp for tp in returned if tp.topic not in ids)
        self._start, self.latest = start, now
        self.are_read = now.ends == start
        return now

    def _new_deadline(self) -> Deadline:
        return Deadline.after(self._config.api_timeout_ms)

    def _is_unchanged(self, now: LogSnapshot, start: Offsets) -> bool:
        """Whether this is the last observation again: the usual case of an idle query."""
        is_known = self.latest is not None and now.version == self.latest.version
        return is_known and self._is_same(start) and not now.recreated

    def _is_same(self, start: Offsets) -> bool:
        # An idle query passes the same object again and again.
        return start is self._start or start == self._start

    def _latest_offsets(self, start: Offsets) -> LogSnapshot:
        for _ in range(_CHECKS_OF_SHORTER_LOGS):
            now = self._logs.latest_offsets(self._known, self._new_deadline(), self._deleted)
            if self._is_unchanged(now, start):
                break
            self._recreated.update(tp for tp in now.ends if tp.topic in now.recreated)
            if now.recreated or all(now.ends.get(tp, at) >= at for tp, at in start.items()):
                break
            self._logs.invalidate_partitions()
            sleep_ms(self._config.retry_backoff_ms)
        return now

    def beginnings_of_recreated(
        self, latest: Offsets, deadline: Deadline
    ) -> dict[TopicPartition, int]:
        """The log start offsets of partitions that were deleted and re-created.

        A micro-batch ends at these offsets, so that Spark's log shows where the next one begins.

        Raises:
            DataLossError: There are such partitions, and failOnDataLoss is true.
        """
        partitions = self._recreated & latest.keys()
        if not partitions:
            return {}
        error = deleted(partitions, ", and their topics re-created")
        raise_or_warn(error, fail_on_data_loss=self._fail_on_data_loss)
        return self._logs.earliest_offsets(partitions, deadline)

    def earliest_of_new(
        self, new: AbstractSet[TopicPartition], deadline: Deadline
    ) -> dict[TopicPartition, int]:
        """The log start offsets of the new partitions, requested once for a micro-batch."""
        if unknown := new - self._earliest.keys():
            self._earliest |= self._logs.earliest_offsets(unknown, deadline)
        return self._earliest

    def end_found(self) -> None:
        """Forget re-created partitions: the end of the micro-batch takes them into account."""
        self._recreated.clear()

    def micro_batch_planned(self) -> None:
        """Forget the log start offsets of new partitions."""
        self._earliest.clear()
