"""One offset range of one partition -> record batches, in order, to the end.

While the caller decodes one answer the next one is already on its way: the next offset stands in
the headers of the batches, so the next Fetch is sent before anything is unpacked. A leader that
moves, a broker that dies and whatever else may pass are retried from the same offset, so nothing
comes twice and nothing is left out. What is gone for good is an error; whether to go on without
it is the caller's decision.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kafka_protocol.client.broker import Sent
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster import Cluster
from kafka_protocol.client.metadata import Leader, Topic, has_topic_id
from kafka_protocol.client.offsets import list_offsets
from kafka_protocol.errors import (
    BrokerError,
    CorruptRecordError,
    DataLossError,
    ErrorCode,
    KafkaError,
    KafkaTimeoutError,
    OutOfStepError,
    ProtocolError,
)
from kafka_protocol.messages.fetch import ISOLATION_LEVELS, FetchRequest, FetchResponse
from kafka_protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_protocol.records.batch import RecordBatch, check_crc, read_batches
from kafka_protocol.records.transactions import AbortedTransaction, AbortedTransactions
from kafka_protocol.schema import VersionRange
from kafka_protocol.topic_partition import OffsetRange, TopicPartition

# v13 speaks of topics by id only.
_BY_NAME: Final = VersionRange(0, 12)
_BY_ID: Final = FetchRequest.versions

# What stands around the records of a Fetch answer, at the most.
_ANSWER_OVERHEAD_BYTES: Final = 1024

# Answers that bring batches but no progress before we stop believing the broker.
_MAX_IDLE_ANSWERS: Final = 10

# Kafka does not call them retriable, but a read can be tried again without harm: a broker that
# stumbled, and a leader whose word about its log was checked and found wrong.
_RETRIED: Final = frozenset({ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.OFFSET_OUT_OF_RANGE})

_PartitionData = FetchResponse.FetchableTopicResponse.PartitionData


class Fetched(NamedTuple):
    """The batches of one answer, and which of their records are wanted.

    The first batch can begin before the window, with records that an earlier answer brought, or
    that nobody asked for; the last one can reach beyond it.
    """

    window: OffsetRange
    batches: Sequence[RecordBatch]


class OffsetOutOfRangeError(KafkaError):
    """An offset is not, or no longer, in the log.

    Args:
        topic_partition: Where.
        offset: What was asked for.
        earliest: The first offset that is there.
        latest: The offset behind the last one that is there.
    """

    def __init__(
        self, topic_partition: TopicPartition, offset: int, earliest: int, latest: int
    ) -> None:
        self.topic_partition = topic_partition
        self.offset = offset
        self.earliest = earliest
        self.latest = latest
        super().__init__(topic_partition, offset, earliest, latest)

    def __str__(self) -> str:
        return (
            f"offset {self.offset} of {self.topic_partition} is not in the log, which holds "
            f"[{self.earliest}, {self.latest})"
        )


def fetch_range(cluster: Cluster, wanted: OffsetRange, idle_timeout_ms: int) -> Iterator[Fetched]:
    """Read the batches that hold a range.

    Args:
        cluster: Whom to ask.
        wanted: The range. With isolation.level=read_committed it ends at the last stable offset
            at the latest.
        idle_timeout_ms: How long to go on without coming nearer to the end.

    Yields:
        The batches of one answer at a time, without the markers of transactions, and without
        aborted records under read_committed; never without any. Windows do not overlap.

    Raises:
        OffsetOutOfRangeError: A part of the range is not in the log.
        DataLossError: The topic was deleted and re-created meanwhile.
        CorruptRecordError: A batch is damaged.
        KafkaTimeoutError: Nothing came for `idle_timeout_ms`.
        BrokerError, BrokerConnectionError: A failure that did not pass in that time.
    """
    fetcher = _Fetcher(cluster, wanted, idle_timeout_ms)
    try:
        while fetched := fetcher.next_batches():
            yield fetched
    finally:
        fetcher.close()


class _Fetcher:
    """The state of one range: where it is, and whether a Fetch is on its way."""

    def __init__(self, cluster: Cluster, wanted: OffsetRange, idle_timeout_ms: int) -> None:
        self._cluster = cluster
        self._wanted = wanted
        self._position = wanted.from_offset
        self._idle_timeout_ms = idle_timeout_ms
        # An answer is more than its records.
        self._largest = max(1, cluster.config.max_response_bytes - _ANSWER_OVERHEAD_BYTES)
        self._max_bytes = min(cluster.config.max_partition_fetch_bytes, self._largest)
        self._topic_id: uuid.UUID | None = None
        self._sent: Sent | None = None  # the Fetch that is on its way
        self._idle_answers = 0
        self._made_progress()

    def __repr__(self) -> str:
        return f"<_Fetcher of {self._wanted} at {self._position}>"

    def next_batches(self) -> Fetched | None:
        """The batches of the next answer that has any; None at the end of the range."""
        self._made_progress()  # the time since the last call was the caller's
        while self._position < self._wanted.until_offset:
            try:
                if self._sent is None:
                    self._send()
                before = self._position
                batches = self._take(self._receive())
            except KafkaError as error:
                self._recover(error)
                continue
            if batches:
                if self._position < self._wanted.until_offset:
                    self._send_ahead()
                return Fetched(self._wanted._replace(from_offset=before), batches)
            if self._position > before:
                self._made_progress()  # nothing but what transactions hide
            else:
                self._idle()
        return None

    def close(self) -> None:
        """Give up the Fetch that is on its way, with its connection: its answer has no reader."""
        if self._sent is not None:
            self._sent.broker.close()
            self._sent = None

    # --- Sending and receiving -------------------------------------------------------------------

    def _send(self) -> None:
        leader, topic = self._cluster.leader(self._wanted.topic_partition, self._deadline)
        broker = self._cluster.broker(leader.node_id, self._deadline)
        needed = _BY_ID if has_topic_id(topic) else _BY_NAME
        self._refuse_another_topic(topic)
        self._asked_until = Deadline.after(self._cluster.config.fetch_max_wait_ms / 2)
        self._sent = broker.send(self._request(leader, topic), self._deadline, needed)

    def _refuse_another_topic(self, topic: Topic) -> None:
        """A topic that was deleted and re-created has other records at the same offsets."""
        if not has_topic_id(topic):
            return
        if self._topic_id not in (None, topic.topic_id):
            raise DataLossError(
                "PARTITIONS_DELETED",
                f"Topic {topic.name} was deleted and re-created while partition "
                f"{self._wanted.topic_partition} was read; offset {self._position} is another "
                "record now.",
            )
        self._topic_id = topic.topic_id

    def _send_ahead(self) -> None:
        try:
            self._send()
        except KafkaError:
            # The batches at hand come first; the next call meets the same error, or none.
            self._cluster.forget(self._wanted.topic_partition.topic)

    def _request(self, leader: Leader, topic: Topic) -> FetchRequest:
        config = self._cluster.config
        partition = FetchRequest.FetchTopic.FetchPartition(
            partition=self._wanted.topic_partition.partition,
            current_leader_epoch=leader.epoch,
            fetch_offset=self._position,
            partition_max_bytes=self._max_bytes,
        )
        return FetchRequest(
            max_wait_ms=min(config.fetch_max_wait_ms, int(self._deadline.remaining_ms)),
            min_bytes=config.fetch_min_bytes,
            max_bytes=self._max_bytes,
            isolation_level=ISOLATION_LEVELS[config.isolation_level],
            topics=[
                FetchRequest.FetchTopic(
                    topic=topic.name, topic_id=topic.topic_id, partitions=[partition]
                )
            ],
        )

    def _receive(self) -> _PartitionData:
        sent, self._sent = self._sent, None
        if sent is None:
            raise ProtocolError("no Fetch is on its way")
        patience = Deadline.after(self._cluster.config.request_timeout_ms)
        response = sent.broker.receive(sent, FetchResponse, patience)
        context = (
            f"Fetch of {self._wanted.topic_partition} at offset {self._position} to {sent.broker}"
        )
        if response.error_code:
            raise BrokerError(response.error_code, context)
        number = self._wanted.topic_partition.partition
        answers = [
            data
            for topic in response.responses
            if self._is_wanted(topic)
            for data in topic.partitions
            if data.partition_index == number
        ]
        if not answers:
            raise OutOfStepError(f"{context}: the answer lacks the partition")
        if answers[0].error_code:
            raise BrokerError(answers[0].error_code, context)
        return answers[0]

    def _is_wanted(self, topic: FetchResponse.FetchableTopicResponse) -> bool:
        """Whether it is the topic that was asked for; v13+ answers by id alone."""
        if topic.topic:
            return topic.topic == self._wanted.topic_partition.topic
        return topic.topic_id == self._topic_id

    # --- Answers ---------------------------------------------------------------------------------

    def _take(self, data: _PartitionData) -> Sequence[RecordBatch]:
        """The batches of an answer that hold a part of the range; moves the position past them."""
        if not data.records:
            return ()
        try:
            return self._cut(memoryview(data.records), data)
        except CorruptRecordError as error:
            raise CorruptRecordError(
                error.reason, offset=error.offset, topic_partition=self._wanted.topic_partition
            ) from error

    def _cut(self, records: memoryview, data: _PartitionData) -> Sequence[RecordBatch]:
        wanted: list[RecordBatch] = []
        hidden = AbortedTransactions(
            AbortedTransaction(aborted.producer_id, aborted.first_offset)
            for aborted in data.aborted_transactions or ()
        )
        start, found = self._position, 0
        unstable = None
        for batch in read_batches(records, self._wanted.until_offset):
            found += 1
            unstable = self._refuse_misplaced(batch, data, start)
            if unstable is not None:
                break
            if batch.header.base_offset >= self._wanted.until_offset:
                # Compaction took what was left of the range; what follows nobody asked for.
                self._position = self._wanted.until_offset
                break
            if self._cluster.config.check_crcs:
                check_crc(batch)
            is_hidden = hidden.hides(batch)
            if batch.header.next_offset <= self._position:
                continue
            if not is_hidden:
                wanted.append(batch)
            self._position = batch.header.next_offset
            if self._position >= self._wanted.until_offset:
                # What follows can be newer than the high watermark that the answer states.
                break
        if not found:
            self._ask_for_more(len(records))
        elif self._position == start:
            self._count_idle_answer(unstable)
        return wanted

    def _refuse_misplaced(
        self, batch: RecordBatch, data: _PartitionData, start: int
    ) -> CorruptRecordError | None:
        """No checksum covers a batch's offset, so it is held against what is known otherwise.

        Returns:
            An error to raise if it happens again and again: a broker notes its high watermark
            before it reads its log, so the next answer has a later one.
        """
        offset = batch.header.stated_offset
        goes_back = self._position > start and offset < self._position
        if not goes_back and offset < data.high_watermark:
            return None
        error = CorruptRecordError(
            f"a batch begins there, while the read is at offset {self._position} and the high "
            f"watermark at {data.high_watermark}",
            offset=offset,
        )
        if goes_back:
            raise error
        return error

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
        self._deadline = Deadline.after(self._idle_timeout_ms)
        self._retry = Retry(self._cluster.config, self._deadline, self._idle_timeout_ms)

    def _idle(self) -> None:
        """An answer without progress is normal for a while: the records are still to come."""
        if self._deadline.has_passed:
            raise KafkaTimeoutError(
                f"Cannot fetch record for offset {self._position} of "
                f"{self._wanted.topic_partition} in {self._idle_timeout_ms} milliseconds; "
                f"the range ends at {self._wanted.until_offset}"
            )
        if not self._asked_until.has_passed:
            # The broker did not wait as long as it was asked to.
            self._retry.pause()

    # --- Failures --------------------------------------------------------------------------------

    def _recover(self, error: KafkaError) -> None:
        """Make the next try possible, or raise what makes it pointless."""
        self.close()
        self._cluster.forget(self._wanted.topic_partition.topic)
        code = error.error if isinstance(error, BrokerError) else ErrorCode.NONE
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._refuse_if_gone()
        if code in _RETRIED:
            self._retry.wait(error)
        else:
            self._retry.wait_after(error)

    def _refuse_if_gone(self) -> None:
        """Raise if the position is really not in the log; a stale leader may have said so."""
        topic_partition = self._wanted.topic_partition
        self._cluster.forget(topic_partition.topic)
        bounds = [
            list_offsets(self._cluster, {topic_partition: position}, self._deadline)[
                topic_partition
            ]
            for position in (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP)
        ]
        if not bounds[0] <= self._position <= bounds[1]:
            raise OffsetOutOfRangeError(topic_partition, self._position, *bounds)
