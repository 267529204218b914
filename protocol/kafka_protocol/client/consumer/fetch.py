"""One offset range of one partition -> record batches, in order, to the end.

The headers of the batches give the next offset, so the next Fetch is sent before the caller
decompresses the batches of a response; to a far broker further ones (`fetch_ahead`). After a
retriable error, such as a new leader or a broker that is down, the next Fetch has the same offset:
no batch is lost or yielded twice. Lost data is an error; the caller decides whether to continue. No
decompression here.

`fetch_position` keeps where the read stands, `fetch_response` checks a response, `replica` chooses
the broker, `topic_identity` checks that the topic is still the same.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from kafka_protocol.client.broker.broker import Broker, SentRequest
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import Leader, Topic
from kafka_protocol.client.consumer.errors import (
    LogTruncatedError,
    OffsetOutOfRangeError,
    TopicGoneError,
)
from kafka_protocol.client.consumer.fetch_ahead import FetchAhead
from kafka_protocol.client.consumer.fetch_position import Event, FetchPosition, State
from kafka_protocol.client.consumer.fetch_request import (
    FETCH_BY_NAME,
    FIRST_BY_ID,
    FetchLimits,
    PartlyRead,
    WantedPartition,
    fetch_request,
)
from kafka_protocol.client.consumer.log_bounds import list_log_bounds
from kafka_protocol.client.consumer.replica import ReadReplica
from kafka_protocol.client.consumer.topic_identity import TopicIdentity, is_unknown_topic
from kafka_protocol.errors import (
    BrokerError,
    ErrorCode,
    KafkaError,
)
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.records.fetch_response import (
    UNKNOWN_EPOCH,
    Fetched,
    PartitionData,
    TakeBatches,
    TakenBatches,
    partition_data,
    take_batches,
)
from kafka_protocol.topic_partition import OffsetRange
from kafka_protocol.wire.schema import VersionRange

__all__ = ["Fetched", "LogTruncatedError", "OffsetOutOfRangeError", "TopicGoneError", "fetch_range"]


def fetch_range(
    cluster: Cluster,
    wanted: OffsetRange,
    idle_timeout_ms: int,
    topic_id: uuid.UUID | None = None,
    take: TakeBatches = take_batches,
) -> Iterator[Fetched]:
    """Read the batches that hold a range.

    Args:
        cluster: The cluster.
        wanted: The range. With isolation.level=read_committed it ends at the last stable offset
            at the latest.
        idle_timeout_ms: How long to continue without progress.
        topic_id: The id of the topic when the range was planned, to detect a topic that was
            re-created. None or ZERO_UUID (below Kafka 2.8): the first id in metadata is expected.
        take: Which batches of a response are yielded: by default, as `take_batches` chooses.

    Yields:
        The batches of one response at a time, at least one. By default without control batches, and
        without aborted ones under read_committed. Windows do not overlap.

    Raises:
        OffsetOutOfRangeError: A part of the range is not in the log. For the end of the range, this
            is known only after `idle_timeout_ms`.
        TopicGoneError: The topic was deleted, as `topic_identity` describes, which may take longer
            than `idle_timeout_ms`; or it was re-created under another id.
        LogTruncatedError: Yielded records are no longer in the log; known since Kafka 2.7
            (KIP-320). A new call at its `offset` continues without the records in their place.
        CorruptRecordError: A batch is damaged.
        KafkaTimeoutError: No records came for `idle_timeout_ms`.
        BrokerError, BrokerConnectionError: An error that did not pass in that time.
    """
    return fetch_rest(cluster, PartlyRead(wanted, topic_id), idle_timeout_ms, take)


def fetch_rest(
    cluster: Cluster, reading: PartlyRead, idle_timeout_ms: int, take: TakeBatches
) -> Iterator[Fetched]:
    """Read the rest of a range, as `fetch_range` does. `reading` itself is not changed."""
    fetcher = _Fetcher(cluster, reading, idle_timeout_ms, take)
    try:
        while fetched := fetcher.next_batches():
            yield fetched
            del fetched  # so that the next response can have its memory
    finally:
        fetcher.close()


def check_position(cluster: Cluster, reading: PartlyRead, idle_timeout_ms: int) -> None:
    """Check by one Fetch that a log that ends at a position still has the records before it.

    If it was cut and has grown to the position again, a read would find nothing new to request.

    Args:
        cluster: The cluster.
        reading: An empty rest at the position, with the leader epoch of the batch before it.
        idle_timeout_ms: How long to retry.

    Raises:
        LogTruncatedError: Records before the position are no longer in the log.
        KafkaError: As from `fetch_range`.
    """
    fetcher = _Fetcher(cluster, reading, idle_timeout_ms, take_batches)
    try:
        fetcher.check()
    finally:
        fetcher.close()


# How long the end of a range waits for responses without use.
_REST_MS: Final = 2_000


class _InFlight(NamedTuple):
    """A Fetch in flight.

    Attributes:
        request: The request.
        offset: Its offset.
        leader: The leader whose epoch it has.
        topic: The topic in metadata.
        is_ahead: Whether the read was not there yet, so that others are before it.
    """

    request: SentRequest
    offset: int
    leader: Leader
    topic: Topic
    is_ahead: bool


class _Fetcher:
    """Sends the Fetches of one range: the requests in flight, and how long to retry."""

    def __init__(
        self,
        cluster: Cluster,
        reading: PartlyRead,
        idle_timeout_ms: int,
        take: TakeBatches,
    ) -> None:
        config = cluster.config
        topic_partition = reading.rest.topic_partition
        self._take = take
        self._cluster = cluster
        self._topic_partition = topic_partition
        self._position = FetchPosition(reading, config)
        self._idle_timeout_ms = idle_timeout_ms
        self._identity = TopicIdentity(cluster, topic_partition, reading.topic_id)
        self._replica = ReadReplica(topic_partition, config.client_rack)
        self._sent: deque[_InFlight] = deque()
        self._ahead = FetchAhead()
        self._is_cache_unchecked = self._identity.has_id  # the cached metadata, against that id
        self._made_progress()

    def __repr__(self) -> str:
        return f"<_Fetcher, {self._position!r}>"

    def next_batches(self) -> Fetched | None:
        """The batches of the next response that has any; None at the end of the range."""
        self._made_progress()  # not idle: the caller used the time since the last call
        while not self._position.is_done:
            rest = self._position.rest
            if (received := self._take_next()) is None:
                continue
            broker, data, taken = received
            if taken.batches:
                self._send_next(broker)
                return Fetched(rest, taken.batches)  # point: earlier-records
            if self._position.offset > rest.from_offset:
                self._made_progress()  # over aborted or control batches
            elif self._replica.follow(data.preferred_read_replica, broker.node_id):
                continue
            elif not broker.is_throttled:  # otherwise the next `send` waits
                self._wait_idle(data)
        self._receive_rest()
        return None

    def _take_next(self) -> tuple[Broker, PartitionData, TakenBatches] | None:
        """Receive a response, and move the position; None if it does not say anything of it."""
        rest = self._position.rest
        is_ahead = bool(self._sent) and self._sent[0].is_ahead
        try:
            if not self._sent:
                self._send()
            sent = self._sent.popleft()
            data = self._receive(sent)
            if sent.offset > rest.from_offset:
                return None  # point: fetch-ahead-gap
            taken = self._take(data, rest, check_crcs=self._cluster.config.check_crcs)
            if is_ahead and taken.position == rest.from_offset:
                return None
            self._position.advance(taken, data)
        except KafkaError as error:
            if is_ahead:
                self._leave_ahead()
            else:
                self._recover(error)
            return None
        return sent.request.broker, data, taken

    def check(self) -> None:
        """Receive a response whose leader has the epoch of the position up to it."""
        while True:
            try:
                self._send()
                self._receive(self._sent.popleft())
            except KafkaError as error:
                self._recover(error)
            else:
                return

    def close(self) -> None:
        """Abandon the Fetches in flight, and close the connection that nothing will read from."""
        for each in self._sent:
            each.request.broker.close()  # point: fetch-in-flight
        self._sent.clear()

    # --- Sending and receiving -------------------------------------------------------------------

    def _send(self) -> None:
        leader, topic = self._cluster.leader(self._topic_partition, self._deadline)
        self._identity.check(topic)
        if self._position.state is State.OUT_OF_RANGE:
            deadline = self._deadline.capped_at(self._cluster.config.request_timeout_ms)
            logs = list_log_bounds(self._cluster, [self._topic_partition], deadline)
            self._position.check_within(logs[self._topic_partition])
        broker = self._cluster.broker(self._replica.choose(leader.node_id), self._deadline)
        version = broker.choose(FetchRequest, self._needed)
        if self._is_cache_unchecked and version < FIRST_BY_ID:
            # A Fetch by name cannot check the id, so new metadata has to.
            self._is_cache_unchecked = False
            self._cluster.forget(topic.name)
            self._send()
            return
        self._broker_waits_until = Deadline.after(self._cluster.config.fetch_max_wait_ms / 2)
        self._send_from(self._position.offset, self._position.epoch, broker, leader, topic)

    def _send_from(
        self, offset: int, epoch: int, broker: Broker, leader: Leader, topic: Topic
    ) -> None:
        version = broker.choose(FetchRequest, self._needed)
        request = self._request(offset, epoch, leader, topic, version)
        sent = broker.send(request, self._deadline, self._needed)
        is_ahead = offset > self._position.offset
        self._sent.append(_InFlight(sent, offset, leader, topic, is_ahead))

    @property
    def _needed(self) -> VersionRange:
        return FetchRequest.versions if self._identity.has_id else FETCH_BY_NAME

    def _send_next(self, broker: Broker) -> None:
        """Send the next Fetches, before the caller decodes the batches of a response."""
        if self._position.is_done or broker.is_throttled:
            return  # `send` would wait, while the caller can decode
        try:
            if self._sent and self._sent[0].offset > self._position.offset:
                self._ahead.miss()
                self._send()
            elif not self._sent:
                self._send()
            allowed = self._ahead.in_flight(broker.round_trip_ms)
            while len(self._sent) < allowed and self._send_ahead(self._sent[-1]):
                pass
        except KafkaError:
            # The caller gets its batches first; the next call sends again.
            self._cluster.forget(self._topic_partition.topic)

    def _send_ahead(self, before: _InFlight) -> bool:
        """Send a Fetch from where the one before it probably ends, unless that is the end.

        It cannot have the epoch of the batch before it (KIP-320), so it is for the same leader: a
        log that is truncated gets a new leader epoch, whose leader refuses this one.
        """
        offset = self._position.after(before.offset)
        is_within = before.offset < offset < self._position.rest.until_offset
        if not is_within or before.leader.epoch < 0:
            return False
        self._send_from(offset, UNKNOWN_EPOCH, before.request.broker, before.leader, before.topic)
        return True

    def _request(
        self, offset: int, epoch: int, leader: Leader, topic: Topic, version: int
    ) -> FetchRequest:
        config, position = self._cluster.config, self._position
        topic = topic._replace(topic_id=self._identity.topic_id)
        wait_ms = min(config.fetch_max_wait_ms, int(self._deadline.remaining_ms))
        if position.is_done:
            wait_ms = 0  # a check: there is no record to wait for
        max_bytes = position.max_bytes_at(offset)
        wanted = WantedPartition(self._topic_partition, offset, epoch, max_bytes, leader, topic)
        limits = FetchLimits(max_bytes, wait_ms)
        return fetch_request([wanted], limits, config, version, self._replica.rack)

    def _receive(self, sent: _InFlight) -> PartitionData:
        broker = sent.request.broker
        deadline = Deadline.after(self._cluster.config.request_timeout_ms)
        response = broker.receive(sent.request, FetchResponse, deadline)
        context = f"Fetch of {self._topic_partition} at offset {sent.offset} to {broker}"
        data = partition_data(response, self._topic_partition, self._identity.topic_id, context)
        self._identity.mark_confirmed()
        self._position.check_not_diverged(data)
        return data

    def _receive_rest(self) -> None:
        """Receive what is in flight at the end of the range, so that its connection is kept.

        A broker that takes long gets a new connection later: nothing waits for these records.
        """
        deadline = Deadline.after(_REST_MS)
        try:
            while self._sent:
                request = self._sent[0].request
                request.broker.receive(request, FetchResponse, deadline)
                self._sent.popleft()
        except KafkaError:
            self.close()

    # --- Without progress ------------------------------------------------------------------------

    def _made_progress(self) -> None:
        self._position.made_progress()
        self._restart_deadline()

    def _restart_deadline(self) -> None:
        self._deadline = Deadline.after(self._idle_timeout_ms)
        self._retry = Retry(self._cluster.config, self._deadline, self._idle_timeout_ms)

    def _wait_idle(self, data: PartitionData) -> None:
        """Prepare the next Fetch after a response without progress, or raise at the deadline."""
        if not self._replica.is_leader:
            self._replica.leave("the follower has not copied the next records yet")
            return
        if self._deadline.has_passed:
            isolation_level = self._cluster.config.isolation_level
            raise self._position.idle_error(data, self._idle_timeout_ms, isolation_level)
        if not self._broker_waits_until.has_passed:
            # The broker responded before fetch.max.wait.ms.
            self._retry.pause()

    def _leave_ahead(self) -> None:
        """Fetch from the position after an error: only that one's counts."""
        self._ahead.miss()
        self.close()

    def _recover(self, error: KafkaError) -> None:
        """Prepare the next try after a failure and wait for it, or raise."""
        self.close()
        topic = self._topic_partition.topic
        if not self._replica.is_leader:  # point: lagging-follower
            # A follower may lack the last records, so only the leader's errors count.
            self._cluster.forget_if_stale(error, topic)
            self._replica.leave(error)
            return
        self._cluster.forget(topic)
        if is_unknown_topic(error):
            self._identity.wait_after(error, self._position.offset)
            self._restart_deadline()
        elif self._is_unconfirmed(error):
            self._retry.wait(error)
        else:
            self._retry.wait_if_retriable(error)

    def _is_unconfirmed(self, error: KafkaError) -> bool:
        """Whether another try has to confirm an error that is not retriable by itself."""
        if isinstance(error, LogTruncatedError):
            self._position.note(Event.DIVERGED)
            return self._position.state is State.DIVERGED
        code = error.error if isinstance(error, BrokerError) else ErrorCode.NONE
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._position.note(Event.OUT_OF_RANGE)
            return True
        # Often it is temporary.
        return code is ErrorCode.UNKNOWN_SERVER_ERROR
