"""One offset range of one partition -> record batches, in order, to the end.

While the caller decodes one answer the next one is already on its way: the next offset stands in
the headers of the batches, so the next Fetch is sent before anything is unpacked. A leader that
moves, a broker that dies and whatever else may pass are retried from the same offset, so nothing
comes twice and nothing is left out. What is gone for good is an error; whether to go on without
it is the caller's decision.

What an answer is worth says `fetch_answer`, whom to ask `replica`, whether the topic is still the
same one `presence`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, NoReturn

from kafka_protocol.client.broker.broker import Broker, Sent
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import Leader, Topic
from kafka_protocol.client.consumer.errors import (
    EpochEnd,
    LogTruncatedError,
    OffsetOutOfRangeError,
    TopicGoneError,
)
from kafka_protocol.client.consumer.fetch_response import (
    UNKNOWN_EPOCH,
    Cut,
    PartitionData,
    cut,
    partition_data,
)
from kafka_protocol.client.consumer.list_offsets import list_positions
from kafka_protocol.client.consumer.replica import ReadReplica
from kafka_protocol.client.consumer.topic_identity import Presence, is_doubtful
from kafka_protocol.errors import (
    BrokerError,
    CorruptRecordError,
    ErrorCode,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
)
from kafka_protocol.messages.fetch import ISOLATION_LEVELS, FetchRequest, FetchResponse
from kafka_protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_protocol.records.batch import RecordBatch
from kafka_protocol.schema import VersionRange
from kafka_protocol.topic_partition import OffsetRange

__all__ = [
    "Fetched",
    "LogTruncatedError",
    "OffsetOutOfRangeError",
    "TopicGoneError",
    "fetch_range",
]

# v13 speaks of topics by id only.
_FIRST_BY_ID: Final = 13
FETCH_BY_NAME: Final = VersionRange(0, _FIRST_BY_ID - 1)
_ANY: Final = FetchRequest.versions
# Older versions cannot say which epoch the read knows.
_COMPARES_EPOCHS: Final = 12

# What stands around the records of a Fetch answer, at the most.
_ANSWER_OVERHEAD_BYTES: Final = 1024

# Answers that bring batches but no progress before we stop believing the broker.
_MAX_IDLE_ANSWERS: Final = 10

# Kafka does not call them retriable, but a read can be tried again without harm: a broker that
# stumbled, and a leader whose word about its log is to be checked.
_RETRIED: Final = frozenset({ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.OFFSET_OUT_OF_RANGE})


class Fetched(NamedTuple):
    """The batches of one answer, and which of their records are wanted.

    The first batch can begin before the window, with records that an earlier answer brought, or
    that nobody asked for; the last one can reach beyond it.
    """

    window: OffsetRange
    batches: Sequence[RecordBatch]


def fetch_range(
    cluster: Cluster,
    wanted: OffsetRange,
    idle_timeout_ms: int,
    topic_id: uuid.UUID | None = None,
) -> Iterator[Fetched]:
    """Read the batches that hold a range.

    Args:
        cluster: Whom to ask.
        wanted: The range. With isolation.level=read_committed it ends at the last stable offset
            at the latest.
        idle_timeout_ms: How long to go on without coming nearer to the end.
        topic_id: The id of the topic when the range was planned, so that a topic of the same name
            that was created since is not taken for it. None or ZERO_UUID where brokers told none
            (below Kafka 2.8): the first id that is met counts.

    Yields:
        The batches of one answer at a time, without the markers of transactions, and without
        aborted records under read_committed; never without any. Windows do not overlap.

    Raises:
        OffsetOutOfRangeError: A part of the range is not in the log; of its end, this is known
            only after `idle_timeout_ms`.
        TopicGoneError: The topic or the partition was unknown to the brokers for
            topic.metadata.propagation.max.ms, which may be longer than `idle_timeout_ms`; or the
            topic was re-created under another id, which is told within about a second.
        LogTruncatedError: What was handed out is not in the log any more; brokers tell since
            Kafka 2.7 (KIP-320). A new call at its `offset` goes on without what came instead.
        CorruptRecordError: A batch is damaged.
        KafkaTimeoutError: Nothing came for `idle_timeout_ms`.
        BrokerError, BrokerConnectionError: A failure that did not pass in that time.
    """
    fetcher = _Fetcher(cluster, wanted, idle_timeout_ms, topic_id)
    try:
        while fetched := fetcher.next_batches():
            yield fetched
    finally:
        fetcher.close()


class _Fetcher:
    """The state of one range: where it is, and whether a Fetch is on its way."""

    def __init__(
        self,
        cluster: Cluster,
        wanted: OffsetRange,
        idle_timeout_ms: int,
        topic_id: uuid.UUID | None,
    ) -> None:
        config = cluster.config
        self._cluster = cluster
        self._wanted = wanted
        self._position = wanted.from_offset
        self._epoch = UNKNOWN_EPOCH  # of the batch before the position
        self._idle_timeout_ms = idle_timeout_ms
        # An answer is more than its records.
        self._largest = max(1, config.max_response_bytes - _ANSWER_OVERHEAD_BYTES)
        self._max_bytes = min(config.max_partition_fetch_bytes, self._largest)
        self._presence = Presence(config, wanted.topic_partition, topic_id)
        self._replica = ReadReplica(wanted.topic_partition, config.client_rack)
        self._sent: Sent | None = None  # the Fetch that is on its way
        # What a leader said of its log. It may be a stale one, so both are to be checked.
        self._is_out_of_range = False
        self._is_truncated = False
        self._may_be_old = self._presence.has_id  # the metadata that is cached
        self._idle_answers = 0
        self._made_progress()

    def __repr__(self) -> str:
        return f"<_Fetcher of {self._wanted} at {self._position}>"

    def next_batches(self) -> Fetched | None:
        """The batches of the next answer that has any; None at the end of the range."""
        self._made_progress()  # the time since the last call was the caller's
        while self._position < self._wanted.until_offset:
            rest = self._wanted._replace(from_offset=self._position)
            try:
                if self._sent is None:
                    self._send()
                broker, data = self._receive()
                found = cut(data, rest, check_crcs=self._cluster.config.check_crcs)
                self._advance(found, data)
            except KafkaError as error:
                self._recover(error)
                continue
            if found.batches:
                if self._position < self._wanted.until_offset:
                    self._send_ahead(broker)
                return Fetched(rest, found.batches)
            if self._position > rest.from_offset:
                self._made_progress()  # nothing but what transactions hide
            elif self._replica.follow(data.preferred_read_replica, broker.node_id):
                continue
            elif not broker.is_throttled:  # or the next `send` waits
                self._idle(data)
        return None

    def close(self) -> None:
        """Give up the Fetch that is on its way, with its connection: its answer has no reader."""
        if self._sent is not None:
            self._sent.broker.close()
            self._sent = None

    # --- Sending and receiving -------------------------------------------------------------------

    def _send(self) -> None:
        leader, topic = self._cluster.leader(self._wanted.topic_partition, self._deadline)
        self._presence.check(topic)
        if self._is_out_of_range:
            self._refuse_if_gone()
        broker = self._cluster.broker(self._replica.choose(leader.node_id), self._deadline)
        needed = _ANY if self._presence.has_id else FETCH_BY_NAME
        version = broker.choose(FetchRequest, needed)
        if self._may_be_old and version < _FIRST_BY_ID:
            # Asked by name, a topic is only what metadata says now; what is cached may be older.
            self._may_be_old = False
            self._cluster.forget(topic.name)
            self._send()
            return
        self._asked_until = Deadline.after(self._cluster.config.fetch_max_wait_ms / 2)
        self._sent = broker.send(self._request(leader, topic, version), self._deadline, needed)

    def _send_ahead(self, answered: Broker) -> None:
        if answered.is_throttled:
            return  # it would wait, and the caller can use that time
        try:
            self._send()
        except KafkaError:
            # The batches at hand come first; the next call meets the same error, or none.
            self._cluster.forget(self._wanted.topic_partition.topic)

    def _request(self, leader: Leader, topic: Topic, version: int) -> FetchRequest:
        config = self._cluster.config
        # No checksum covers the epoch of a batch; one that no leader had yet is not believed.
        is_known = version >= _COMPARES_EPOCHS and self._epoch <= leader.epoch
        partition = FetchRequest.FetchTopic.FetchPartition(
            partition=self._wanted.topic_partition.partition,
            current_leader_epoch=leader.epoch,
            fetch_offset=self._position,
            last_fetched_epoch=self._epoch if is_known else UNKNOWN_EPOCH,
            partition_max_bytes=self._max_bytes,
        )
        return FetchRequest(
            max_wait_ms=min(config.fetch_max_wait_ms, int(self._deadline.remaining_ms)),
            min_bytes=config.fetch_min_bytes,
            max_bytes=self._max_bytes,
            isolation_level=ISOLATION_LEVELS[config.isolation_level],
            topics=[
                FetchRequest.FetchTopic(
                    topic=topic.name, topic_id=self._presence.topic_id, partitions=[partition]
                )
            ],
            rack_id=self._replica.rack,
        )

    def _receive(self) -> tuple[Broker, PartitionData]:
        sent, self._sent = self._sent, None
        if sent is None:
            raise ProtocolError("no Fetch is on its way")
        patience = Deadline.after(self._cluster.config.request_timeout_ms)
        response = sent.broker.receive(sent, FetchResponse, patience)
        data = partition_data(
            response,
            self._wanted.topic_partition,
            self._presence.topic_id,
            self._context(sent.broker),
        )
        self._presence.confirmed()
        self._refuse_truncated(data)
        return sent.broker, data

    def _context(self, broker: Broker) -> str:
        return f"Fetch of {self._wanted.topic_partition} at offset {self._position} to {broker}"

    # --- Answers ---------------------------------------------------------------------------------

    def _advance(self, found: Cut, data: PartitionData) -> None:
        """Go on behind the batches of an answer."""
        if data.records and found.is_empty:
            self._ask_for_more(len(data.records))
        elif found.position > self._position:
            self._position, self._epoch = found.position, found.epoch
            self._is_truncated = False
        elif data.records:
            self._count_idle_answer(found.doubt)

    def _count_idle_answer(self, error: KafkaError | None) -> None:
        """Batches came, and none of them is of use: once is odd, again and again is a fault."""
        self._idle_answers += 1
        if self._idle_answers >= _MAX_IDLE_ANSWERS:
            raise error or ProtocolError(
                f"Fetch of {self._wanted.topic_partition} at offset {self._position}: "
                f"{_MAX_IDLE_ANSWERS} answers held only batches before that offset"
            )

    def _ask_for_more(self, got_bytes: int) -> None:
        """Not one whole batch came: brokers below 0.10.1 cut even the first one."""
        if self._max_bytes >= self._largest:
            limit = self._cluster.config.max_response_bytes
            raise CorruptRecordError(
                f"the batch does not fit in kafka.receive.message.max.bytes ({limit} bytes); "
                f"{got_bytes} bytes came",
                offset=self._position,
                topic_partition=self._wanted.topic_partition,
            )
        self._max_bytes = min(2 * self._max_bytes, self._largest)

    def _made_progress(self) -> None:
        self._idle_answers = 0
        self._begin_to_wait()

    def _begin_to_wait(self) -> None:
        self._deadline = Deadline.after(self._idle_timeout_ms)
        self._retry = Retry(self._cluster.config, self._deadline, self._idle_timeout_ms)

    def _idle(self, data: PartitionData) -> None:
        """An answer without progress is normal for a while: the records are still to come."""
        if not self._replica.is_leader:
            self._replica.leave("it lags behind")
            return
        if self._deadline.has_passed:
            self._give_up(data)
        if not self._asked_until.has_passed:
            # The broker did not wait as long as it was asked to.
            self._retry.pause()

    def _give_up(self, data: PartitionData) -> NoReturn:
        """Nothing came: either the log ends here, or the broker does not hand out what follows."""
        topic_partition, _, until = self._wanted
        open_transaction = self._open_transaction(data)
        if not open_transaction and 0 <= data.high_watermark <= self._position:
            earliest = max(0, data.log_start_offset)
            raise OffsetOutOfRangeError(
                topic_partition, self._position, earliest, data.high_watermark
            )
        raise KafkaTimeoutError(
            f"Cannot fetch record for offset {self._position} of {topic_partition} in "
            f"{self._idle_timeout_ms} milliseconds; the range ends at {until}{open_transaction}"
        )

    def _open_transaction(self, data: PartitionData) -> str:
        """Who holds the read back, where it is a transaction."""
        is_committed = self._cluster.config.isolation_level == "read_committed"
        if not is_committed or not 0 <= data.last_stable_offset < data.high_watermark:
            return ""
        return (
            f". An open transaction holds the last stable offset at {data.last_stable_offset}, "
            f"below the high watermark {data.high_watermark}, and kafka.isolation.level is "
            "read_committed: end the transaction (kafka-transactions.sh finds who hangs), or read "
            "uncommitted records"
        )

    # --- Failures --------------------------------------------------------------------------------

    def _recover(self, error: KafkaError) -> None:
        """Make the next try possible, or raise what makes it pointless."""
        self.close()
        topic = self._wanted.topic_partition.topic
        if not self._replica.is_leader:
            # Only the leader's word counts: what a follower lacks, it may not have got yet.
            self._cluster.forget_after(error, topic)
            self._replica.leave(error)
            return
        self._cluster.forget(topic)
        if is_doubtful(error):
            self._presence.wait_after(error, self._position)
            self._begin_to_wait()
            return
        code = error.error if isinstance(error, BrokerError) else ErrorCode.NONE
        self._is_out_of_range |= code is ErrorCode.OFFSET_OUT_OF_RANGE
        is_first_word = isinstance(error, LogTruncatedError) and not self._is_truncated
        self._is_truncated |= is_first_word
        if code in _RETRIED or is_first_word:
            self._retry.wait(error)
        else:
            self._retry.wait_after(error)

    def _refuse_if_gone(self) -> None:
        """Raise if the position is really not in the log; a stale leader may have said so."""
        topic_partition = self._wanted.topic_partition
        positions = (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP)
        patience = self._deadline.or_sooner(self._cluster.config.request_timeout_ms)
        found = list_positions(self._cluster, {topic_partition: positions}, patience)
        earliest, latest = (found[topic_partition][position] for position in positions)
        if not earliest <= self._position <= latest:
            raise OffsetOutOfRangeError(topic_partition, self._position, earliest, latest)
        self._is_out_of_range = False
        # A broker that has no epochs of its own says out of range, too.
        self._epoch = UNKNOWN_EPOCH

    def _refuse_truncated(self, data: PartitionData) -> None:
        """A leader whose log has less of our epoch than we read has lost it (KIP-320)."""
        agreed = EpochEnd(data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
        if agreed.end_offset >= 0:
            topic_partition = self._wanted.topic_partition
            raise LogTruncatedError(topic_partition, self._position, self._epoch, agreed)
