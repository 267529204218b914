"""One offset range of one partition -> record batches, in order, to the end.

The headers of the batches give the next offset, so the next Fetch is sent before the caller
decompresses the batches of a response. After a retriable error, such as a new leader or a broker
that is down, the next Fetch has the same offset: no batch is lost or yielded twice. Lost data is an
error; the caller decides whether to continue. No decompression here.

`fetch_response` checks a response, `replica` chooses the broker, `topic_identity` checks that the
topic is still the same.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Final, NoReturn

from kafka_protocol.client.broker.broker import Broker, SentRequest
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import Leader, Topic
from kafka_protocol.client.consumer.errors import (
    EpochEnd,
    LogTruncatedError,
    OffsetOutOfRangeError,
    TopicGoneError,
)
from kafka_protocol.client.consumer.fetch_request import (
    FETCH_BY_NAME,
    FIRST_BY_ID,
    OVERHEAD_BYTES,
    FetchLimits,
    PartlyRead,
    WantedPartition,
    fetch_request,
)
from kafka_protocol.client.consumer.fetch_response import (
    UNKNOWN_EPOCH,
    Fetched,
    PartitionData,
    TakeBatches,
    TakenBatches,
    partition_data,
    take_batches,
)
from kafka_protocol.client.consumer.log_bounds import list_log_bounds
from kafka_protocol.client.consumer.replica import ReadReplica
from kafka_protocol.client.consumer.topic_identity import TopicIdentity, is_unknown_topic
from kafka_protocol.errors import (
    BrokerError,
    CorruptRecordError,
    ErrorCode,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
)
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.topic_partition import OffsetRange

__all__ = ["Fetched", "LogTruncatedError", "OffsetOutOfRangeError", "TopicGoneError", "fetch_range"]

# Responses with batches but without progress before the read fails.
_MAX_IDLE_RESPONSES: Final = 10

# Not retriable for Kafka, but safe to retry for a read: UNKNOWN_SERVER_ERROR is often temporary.
# After OFFSET_OUT_OF_RANGE the next try checks the bounds of the log: the leader may be stale.
_RETRIED: Final = frozenset({ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.OFFSET_OUT_OF_RANGE})


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
        take: Which batches of a response are yielded: by default, those of `take_batches`.

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
    finally:
        fetcher.close()


class _Fetcher:
    """The state of one range: its position, and the Fetch in flight."""

    def __init__(
        self,
        cluster: Cluster,
        reading: PartlyRead,
        idle_timeout_ms: int,
        take: TakeBatches,
    ) -> None:
        config = cluster.config
        wanted = reading.rest
        self._take = take
        self._cluster = cluster
        self._wanted = wanted
        self._position = wanted.from_offset
        self._epoch = reading.epoch  # the leader epoch of the batch before the position
        self._idle_timeout_ms = idle_timeout_ms
        self._max_bytes_limit = max(1, config.max_response_bytes - OVERHEAD_BYTES)
        self._max_bytes = min(config.max_partition_fetch_bytes, self._max_bytes_limit)
        self._identity = TopicIdentity(cluster, wanted.topic_partition, reading.topic_id)
        self._replica = ReadReplica(wanted.topic_partition, config.client_rack)
        self._sent: SentRequest | None = None  # the Fetch in flight
        # From one response; the leader may be stale, so a second one has to confirm it.
        self._is_out_of_range = False
        self._is_truncated = False
        self._is_cache_unchecked = self._identity.has_id  # the cached metadata, against that id
        self._idle_responses = 0
        self._made_progress()

    def __repr__(self) -> str:
        return f"<_Fetcher of {self._wanted} at {self._position}>"

    def next_batches(self) -> Fetched | None:
        """The batches of the next response that has any; None at the end of the range."""
        self._made_progress()  # not idle: the caller used the time since the last call
        while self._position < self._wanted.until_offset:
            rest = self._wanted._replace(from_offset=self._position)
            try:
                if self._sent is None:
                    self._send()
                broker, data = self._receive()
                found = self._take(data, rest, check_crcs=self._cluster.config.check_crcs)
                self._advance(found, data)
            except KafkaError as error:
                self._recover(error)
                continue
            if found.batches:
                if self._position < self._wanted.until_offset:
                    self._send_ahead(broker)
                return Fetched(rest, found.batches)
            if self._position > rest.from_offset:
                self._made_progress()  # over aborted or control batches
            elif self._replica.follow(data.preferred_read_replica, broker.node_id):
                continue
            elif not broker.is_throttled:  # otherwise the next `send` waits
                self._wait_idle(data)
        return None

    def close(self) -> None:
        """Abandon the Fetch in flight and close its connection, since nothing will read from it."""
        if self._sent is not None:
            self._sent.broker.close()
            self._sent = None

    # --- Sending and receiving -------------------------------------------------------------------

    def _send(self) -> None:
        leader, topic = self._cluster.leader(self._wanted.topic_partition, self._deadline)
        self._identity.check(topic)
        if self._is_out_of_range:
            self._check_in_log()
            # The leader was stale, or it has no leader epochs and cannot compare ours.
            self._is_out_of_range = False
            self._epoch = UNKNOWN_EPOCH
        broker = self._cluster.broker(self._replica.choose(leader.node_id), self._deadline)
        needed = FetchRequest.versions if self._identity.has_id else FETCH_BY_NAME
        version = broker.choose(FetchRequest, needed)
        if self._is_cache_unchecked and version < FIRST_BY_ID:
            # A Fetch by name cannot check the id, so new metadata has to.
            self._is_cache_unchecked = False
            self._cluster.forget(topic.name)
            self._send()
            return
        self._broker_waits_until = Deadline.after(self._cluster.config.fetch_max_wait_ms / 2)
        self._sent = broker.send(self._request(leader, topic, version), self._deadline, needed)

    def _send_ahead(self, broker: Broker) -> None:
        if broker.is_throttled:
            return  # `send` would wait, while the caller can decode
        try:
            self._send()
        except KafkaError:
            # The caller gets its batches first; the next call sends again.
            self._cluster.forget(self._wanted.topic_partition.topic)

    def _request(self, leader: Leader, topic: Topic, version: int) -> FetchRequest:
        config = self._cluster.config
        rest = self._wanted._replace(from_offset=self._position)
        topic = topic._replace(topic_id=self._identity.topic_id)
        wait_ms = min(config.fetch_max_wait_ms, int(self._deadline.remaining_ms))
        limits = FetchLimits(self._max_bytes, self._max_bytes, wait_ms)
        wanted = WantedPartition(rest, self._epoch, leader, topic)
        return fetch_request([wanted], limits, config, version, self._replica.rack)

    def _receive(self) -> tuple[Broker, PartitionData]:
        sent, self._sent = self._sent, None
        if sent is None:
            raise ProtocolError("no Fetch is in flight")
        deadline = Deadline.after(self._cluster.config.request_timeout_ms)
        response = sent.broker.receive(sent, FetchResponse, deadline)
        data = partition_data(
            response,
            self._wanted.topic_partition,
            self._identity.topic_id,
            self._context(sent.broker),
        )
        self._identity.mark_confirmed()
        self._check_not_truncated(data)
        return sent.broker, data

    def _context(self, broker: Broker) -> str:
        return f"Fetch of {self._wanted.topic_partition} at offset {self._position} to {broker}"

    # --- Responses -------------------------------------------------------------------------------

    def _advance(self, found: TakenBatches, data: PartitionData) -> None:
        """Move the position behind the batches of a response."""
        if data.records and found.is_empty:
            self._double_max_bytes(len(data.records))
        elif found.position > self._position:
            self._position, self._epoch = found.position, found.epoch
            self._is_truncated = False
        elif data.records:
            self._count_idle_response(found.misplaced)

    def _count_idle_response(self, error: KafkaError | None) -> None:
        """Count a response with batches but without progress; raise when there are too many."""
        self._idle_responses += 1
        if self._idle_responses >= _MAX_IDLE_RESPONSES:
            raise error or ProtocolError(
                f"Fetch of {self._wanted.topic_partition} at offset {self._position}: "
                f"{_MAX_IDLE_RESPONSES} responses held only batches before that offset"
            )

    def _double_max_bytes(self, got_bytes: int) -> None:
        """Request more bytes: brokers below 0.10.1 cut even the first batch (KIP-74)."""
        if self._max_bytes >= self._max_bytes_limit:
            limit = self._cluster.config.max_response_bytes
            raise CorruptRecordError(
                f"the batch does not fit in kafka.receive.message.max.bytes ({limit} bytes); "
                f"{got_bytes} bytes came",
                offset=self._position,
                topic_partition=self._wanted.topic_partition,
            )
        self._max_bytes = min(2 * self._max_bytes, self._max_bytes_limit)

    def _made_progress(self) -> None:
        self._idle_responses = 0
        self._restart_deadline()

    def _restart_deadline(self) -> None:
        self._deadline = Deadline.after(self._idle_timeout_ms)
        self._retry = Retry(self._cluster.config, self._deadline, self._idle_timeout_ms)

    def _wait_idle(self, data: PartitionData) -> None:
        """Prepare the next Fetch after a response without progress, or raise at the deadline."""
        if not self._replica.is_leader:
            self._replica.leave("it lags behind")
            return
        if self._deadline.has_passed:
            self._raise_idle_error(data)
        if not self._broker_waits_until.has_passed:
            # The broker responded before fetch.max.wait.ms.
            self._retry.pause()

    def _raise_idle_error(self, data: PartitionData) -> NoReturn:
        """Raise: either the log ends here, or the broker does not send the next records."""
        topic_partition, _, until = self._wanted
        open_transaction = self._open_transaction_text(data)
        if not open_transaction and 0 <= data.high_watermark <= self._position:
            earliest = max(0, data.log_start_offset)
            raise OffsetOutOfRangeError(
                topic_partition, self._position, earliest, data.high_watermark
            )
        raise KafkaTimeoutError(
            f"Cannot fetch record for offset {self._position} of {topic_partition} in "
            f"{self._idle_timeout_ms} milliseconds; the range ends at {until}{open_transaction}"
        )

    def _open_transaction_text(self, data: PartitionData) -> str:
        """The end of the error text where an open transaction hides the records; or nothing."""
        is_committed = self._cluster.config.isolation_level == "read_committed"
        if not is_committed or not 0 <= data.last_stable_offset < data.high_watermark:
            return ""
        return (
            f". An open transaction holds the last stable offset at {data.last_stable_offset}, "
            f"below the high watermark {data.high_watermark}, and kafka.isolation.level is "
            "read_committed: end the transaction (kafka-transactions.sh finds hanging ones), or "
            "read uncommitted records"
        )

    # --- Failures --------------------------------------------------------------------------------

    def _recover(self, error: KafkaError) -> None:
        """Prepare the next try and wait for it, or raise."""
        self.close()
        topic = self._wanted.topic_partition.topic
        if not self._replica.is_leader:
            # A follower may lack what the leader has, so only the leader's errors count.
            self._cluster.forget_if_stale(error, topic)
            self._replica.leave(error)
            return
        self._cluster.forget(topic)
        if is_unknown_topic(error):
            self._identity.wait_after(error, self._position)
            self._restart_deadline()
            return
        code = error.error if isinstance(error, BrokerError) else ErrorCode.NONE
        self._is_out_of_range |= code is ErrorCode.OFFSET_OUT_OF_RANGE
        is_unconfirmed = isinstance(error, LogTruncatedError) and not self._is_truncated
        self._is_truncated |= is_unconfirmed
        if code in _RETRIED or is_unconfirmed:
            self._retry.wait(error)
        else:
            self._retry.wait_if_retriable(error)

    def _check_in_log(self) -> None:
        """Raise unless the position is between the bounds of the log."""
        topic_partition = self._wanted.topic_partition
        deadline = self._deadline.capped_at(self._cluster.config.request_timeout_ms)
        earliest, latest = list_log_bounds(self._cluster, topic_partition, deadline)
        if not earliest <= self._position <= latest:
            raise OffsetOutOfRangeError(topic_partition, self._position, earliest, latest)

    def _check_not_truncated(self, data: PartitionData) -> None:
        """Raise if the leader's log ends before the position in the read's epoch (KIP-320)."""
        agreed = EpochEnd(data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
        if agreed.end_offset >= 0:
            topic_partition = self._wanted.topic_partition
            raise LogTruncatedError(topic_partition, self._position, self._epoch, agreed)
