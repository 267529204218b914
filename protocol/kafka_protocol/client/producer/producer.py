"""Record batches -> the leaders of their partitions, in order, until they are acknowledged.

Several requests are in flight to each leader, each with at most one batch of a partition. With
producer ids (Kafka 0.11, KIP-98) each batch has a sequence, so a batch whose response was lost is
sent again without a duplicate. After an error, all responses are received first; then the failed
batches are sent again in their order. Older brokers get one batch of a partition at a time, and a
lost response may lead to a duplicate. Never ends a transaction, and never cuts rows into batches.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from kafka_protocol.client.broker.broker import SentRequest
from kafka_protocol.client.clock import Deadline, Retry, sleep_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import Topic, has_topic_id
from kafka_protocol.client.producer.partition_queue import VERSIONS_OF_MAGIC, PartitionQueue
from kafka_protocol.client.producer.produce_response import Outcome, outcomes
from kafka_protocol.client.producer.producer_id import (
    ProducerId,
    new_producer_id,
    warn_of_missing_ids,
)
from kafka_protocol.client.producer.transactions import (
    PRODUCE_VERSIONS,
    Transaction,
    add_partitions,
    explain,
)
from kafka_protocol.errors import (
    BrokerError,
    ErrorCode,
    KafkaConfigError,
    KafkaError,
    UnsupportedVersionError,
)
from kafka_protocol.messages.produce import ACKS_ALL, ProduceRequest, ProduceResponse
from kafka_protocol.records.batch import MAGIC, MAGIC_AT, BatchContents, bytes_of
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import VersionRange

# From v13 on, requests have topic ids and no names.
_BY_NAME: Final = VersionRange(0, 12)
_BY_ID: Final = ProduceRequest.versions

_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


class Producer:
    """Writes batches and waits for their acknowledgement. Not thread-safe.

    To drop a producer that is not flushed, call `abandon`: responses may be in flight.

    Args:
        cluster: The cluster.
        transaction: The transaction of all batches, or None. After an error it must be aborted.
    """

    def __init__(self, cluster: Cluster, transaction: Transaction | None = None) -> None:
        self._cluster = cluster
        self._transaction = transaction
        self._joined: dict[TopicPartition, int | None] = {}
        new_queue = partial(PartitionQueue, is_transactional=transaction is not None)
        self._queues: dict[TopicPartition, PartitionQueue] = defaultdict(new_queue)
        self._ready: dict[TopicPartition, PartitionQueue] = {}  # they have waiting batches
        self._errors: dict[TopicPartition, KafkaError] = {}  # the first of each partition
        self._in_flight: deque[_InFlight] = deque()
        self._in_flight_to: Counter[int] = Counter()  # requests by node id
        self._id = None if transaction is None else transaction.producer
        self.pending_bytes = 0

    def __repr__(self) -> str:
        return (
            f"<Producer, {self.pending_bytes:,} bytes of {len(self._ready)} partitions pending, "
            f"{len(self._in_flight)} requests in flight>"
        )

    @property
    def cluster(self) -> Cluster:
        """The cluster that it writes to."""
        return self._cluster

    @property
    def joined(self) -> Mapping[TopicPartition, int | None]:
        """The partitions of the transaction, each with the offset of a record, or None.

        Brokers cannot end a transaction without partitions.
        """
        return self._joined

    def message_format(self, topic_partition: TopicPartition) -> int:
        """The magic that the leader of a partition accepts: 2 from Kafka 0.11 on.

        Raises:
            BrokerError, BrokerConnectionError, KafkaTimeoutError: The partition has no leader, or
                it cannot be reached.
        """
        deadline = self._delivery_deadline()
        retry = self._retry(deadline)
        while True:
            try:
                leader, _ = self._cluster.leader(topic_partition, deadline)
                broker = self._cluster.broker(leader.node_id, deadline)
                version = broker.choose(ProduceRequest)
            except KafkaError as error:
                self._cluster.forget_if_stale(error, topic_partition.topic)
                retry.wait_if_retriable(error)
            else:
                return next(m for m, versions in VERSIONS_OF_MAGIC.items() if version in versions)

    def add(self, topic_partition: TopicPartition, batch: BatchContents | bytes) -> None:
        """Queue a batch after the partition's others; its contents alone save a second checksum.

        Raises:
            KafkaConfigError: The batch is larger than kafka.max.request.size.
            KafkaError: The brokers gave no producer id; nothing was added.
        """
        max_bytes = self._cluster.config.max_request_bytes
        batch_bytes = bytes_of(batch)
        if batch_bytes > max_bytes:
            raise KafkaConfigError(
                f"A batch for {topic_partition} takes {batch_bytes:,} bytes, and "
                f"kafka.max.request.size is {max_bytes:,}: raise it, or write smaller records"
            )
        producer = self._producer_id_for(batch)
        queue = self._queues[topic_partition]
        self.pending_bytes += queue.add(batch, producer)
        self._ready[topic_partition] = queue

    def push(self, max_pending_bytes: int) -> None:
        """Send batches that are ready; wait for responses while more bytes than this are pending.

        Raises:
            KafkaError: As from `flush`.
        """
        self._receive_available()
        self._send()
        while self.pending_bytes > max_pending_bytes:
            if self._in_flight:
                self._receive(self._in_flight[0])
            if self._errors and not self._in_flight:
                self._recover()
            self._send()

    def flush(self) -> None:
        """Send all batches; return when all are acknowledged.

        Raises:
            TransactionFencedError: The transaction is no longer open.
            BrokerError: A broker refused a batch, or an error did not pass within
                delivery.timeout.ms. Names topic, partition, broker and the broker's message.
                Batches without an acknowledgement stay pending.
            BrokerConnectionError, KafkaTimeoutError: A leader could not be reached in that time.
        """
        self.push(0)

    def settle(self, deadline: Deadline) -> bool:
        """Receive the responses in flight; returns whether no batch may still arrive."""
        while self._in_flight and not deadline.has_passed:
            self._receive(self._in_flight[0], deadline)
        return not any(queue.may_arrive for queue in self._queues.values())

    def abandon(self) -> None:
        """Close connections with requests in flight. Pending batches may be written or not."""
        for each in self._in_flight:
            each.sent.broker.close()
        self._in_flight.clear()

    # --- Sending ---------------------------------------------------------------------------------

    def _send(self) -> None:
        """Send as many batches as may be in flight, unless there is an error."""
        if self._transaction is not None:
            self._join(self._transaction)
        while not self._errors and (requests := self._requests()):
            for request in requests:
                self._dispatch(request)

    def _join(self, transaction: Transaction) -> None:
        """Add the partitions with waiting batches that are not yet in the transaction."""
        new = self._ready.keys() - self._joined
        if not new:
            return
        # The coordinator may be a leader too, and brokers respond in the order of the requests.
        while self._in_flight:
            self._receive(self._in_flight[0])
        deadline = Deadline.after(self._cluster.config.max_block_ms)
        add_partitions(self._cluster, transaction, new, deadline)
        self._joined |= dict.fromkeys(new)

    def _requests(self) -> list[_Request]:
        """At most one request per leader and format, with one batch of each partition."""
        max_bytes = self._cluster.config.max_request_bytes
        requests: dict[tuple[int, VersionRange], _Request] = {}
        for topic_partition, queue in self._ready.items():
            try:
                leader, topic = self._cluster.leader(topic_partition, self._request_deadline())
            except KafkaError as error:
                self._fail(topic_partition, error)
                continue
            if self._in_flight_to[leader.node_id] >= self._cluster.config.max_in_flight:
                continue
            if not queue.may_send_to(leader.node_id):
                continue
            batch = queue.waiting[0]
            versions = batch.versions.intersection(self._versions)
            request = requests.setdefault(
                (leader.node_id, versions), _Request(leader.node_id, versions)
            )
            if not request.topics or request.bytes + len(batch.data) <= max_bytes:
                request.topics[topic_partition] = topic
                request.bytes += len(batch.data)
        return [request for request in requests.values() if request.topics]

    def _dispatch(self, request: _Request) -> None:
        deadline = self._request_deadline()
        try:
            broker = self._cluster.broker(request.node_id, deadline)
            sent = broker.send(self._encode(request, deadline), deadline, request.needed)
        except KafkaError as error:
            for topic_partition in request.topics:
                # The request may have arrived.
                batch = self._queues[topic_partition].waiting[0]
                batch.may_be_appended = batch.may_arrive = True
                self._fail(topic_partition, error)
            return
        self._in_flight.append(_InFlight(sent, request))
        self._in_flight_to[request.node_id] += 1
        for topic_partition in request.topics:
            queue = self._queues[topic_partition]
            queue.waiting[0].deadline = queue.waiting[0].deadline or self._delivery_deadline()
            queue.mark_first_sent(request.node_id)
            if not queue.waiting:
                del self._ready[topic_partition]

    def _encode(self, request: _Request, deadline: Deadline) -> ProduceRequest:
        topic_data: dict[str, ProduceRequest.TopicProduceData] = {}
        for topic_partition, topic in request.topics.items():
            data = topic_data.setdefault(
                topic.name,
                ProduceRequest.TopicProduceData(name=topic.name, topic_id=topic.topic_id),
            )
            data.partition_data.append(
                ProduceRequest.TopicProduceData.PartitionProduceData(
                    index=topic_partition.partition,
                    records=self._queues[topic_partition].waiting[0].data,
                )
            )
        transaction = self._transaction
        return ProduceRequest(
            transactional_id=None if transaction is None else transaction.transactional_id,
            acks=self._cluster.config.acks if transaction is None else ACKS_ALL,
            timeout_ms=deadline.broker_timeout_ms(self._cluster.config),
            topic_data=[*topic_data.values()],
        )

    # --- Receiving -------------------------------------------------------------------------------

    def _receive_available(self) -> None:
        """Receive the responses that have arrived, without waiting."""
        while available := self._available():
            for each in available:
                self._receive(each)

    def _available(self) -> list[_InFlight]:
        """The oldest request to each broker, where its response has arrived."""
        oldest: dict[int, _InFlight] = {}
        for each in self._in_flight:
            oldest.setdefault(each.request.node_id, each)
        return [each for each in oldest.values() if each.sent.broker.has_response]

    def _receive(self, oldest: _InFlight, deadline: Deadline | None = None) -> None:
        """Wait for a response; the request must be the broker's oldest."""
        self._in_flight.remove(oldest)
        sent, request = oldest
        self._in_flight_to[request.node_id] -= 1
        try:
            response = sent.broker.receive(
                sent, ProduceResponse, deadline or self._request_deadline()
            )
        except KafkaError as error:
            for topic_partition in request.topics:
                self._return(topic_partition, error)
            return
        for outcome in outcomes(response, sent.broker, request.topics):
            if outcome.error is None:
                self._acknowledge(outcome)
            else:
                self._return(outcome.topic_partition, outcome.error)

    def _acknowledge(self, outcome: Outcome) -> None:
        topic_partition = outcome.topic_partition
        self.pending_bytes -= self._queues[topic_partition].acknowledge_first()
        if self._joined.get(topic_partition, 0) is None and outcome.base_offset >= 0:
            self._joined[topic_partition] = outcome.base_offset

    def _return(self, topic_partition: TopicPartition, error: KafkaError) -> None:
        self._queues[topic_partition].return_first(error)
        self._fail(topic_partition, error)

    def _fail(self, topic_partition: TopicPartition, error: KafkaError) -> None:
        # Later batches then fail with OUT_OF_ORDER_SEQUENCE_NUMBER: the first error is the cause.
        self._errors.setdefault(topic_partition, error)

    def _recover(self) -> None:
        """Requeue the failed batches and wait for the next try, or raise."""
        errors, self._errors = self._errors, {}
        for topic_partition, error in errors.items():
            self._ready[topic_partition] = queue = self._queues[topic_partition]
            queue.requeue_returned()
            self._cluster.forget_if_stale(error, topic_partition.topic)
        lasting = {tp: error for tp, error in errors.items() if not self._try_repair(tp, error)}
        final = [error for error in lasting.values() if not error.retriable]
        if final and self._transaction is not None:
            raise explain(final[0], self._transaction, self._cluster.config)
        if final:
            raise final[0]
        sleep_ms(max((self._backoff_ms(tp, error) for tp, error in lasting.items()), default=0))

    def _try_repair(self, topic_partition: TopicPartition, error: KafkaError) -> bool:
        """Split a batch that is too large, or replace a forgotten producer id.

        Returns:
            Whether the cause of the error is repaired.

        Raises:
            BrokerError: The batch is too large, and is a single record.
        """
        if not isinstance(error, BrokerError):
            return False
        if error.error in _TOO_LARGE:
            self._split_first(topic_partition, error)
            return True
        return error.error is ErrorCode.UNKNOWN_PRODUCER_ID and self._try_new_id()

    def _split_first(self, topic_partition: TopicPartition, error: BrokerError) -> None:
        queue = self._queues[topic_partition]
        more_bytes = queue.split_first(self._id, self._cluster.config.compression.level)
        if more_bytes is None:
            size = f"{len(queue.waiting[0].data):,} bytes"
            raise BrokerError(error.code, f"{error.context}, of one record of {size}")
        self.pending_bytes += more_bytes

    def _try_new_id(self) -> bool:
        """Continue with another producer id, unless that could write a batch twice.

        Brokers below 2.5 forget a producer whose records were all deleted (KIP-360). In a
        transaction, records written with the old id would be lost.
        """
        waiting = (batch for queue in self._ready.values() for batch in queue.waiting)
        if self._transaction is not None or any(batch.may_be_appended for batch in waiting):
            return False
        self._id = new_producer_id(self._cluster, self._request_deadline())
        for queue in self._queues.values():
            queue.renumber(self._id)
        return True

    def _backoff_ms(self, topic_partition: TopicPartition, error: KafkaError) -> float:
        """The wait before the next try of a partition's first batch, in ms."""
        queue = self._queues[topic_partition]
        queue.failures += 1
        if queue.failures > self._cluster.config.retries:
            raise error
        if queue.retry is None:
            queue.retry = self._retry(queue.waiting[0].deadline or self._delivery_deadline())
        return queue.retry.next_backoff_ms(error)

    # --- Producer ids and deadlines --------------------------------------------------------------

    def _producer_id_for(self, batch: BatchContents | bytes) -> ProducerId | None:
        """The producer id for a batch; None for an old format, or without idempotence."""
        is_old = isinstance(batch, bytes) and batch[MAGIC_AT] < MAGIC
        if is_old and self._transaction is not None:
            raise UnsupportedVersionError(
                f"A batch in an old format cannot be written in {self._transaction}: all brokers "
                "must be of Kafka 0.11 or newer"
            )
        config = self._cluster.config
        if not (self._transaction or config.enable_idempotence):
            return None
        if is_old:
            warn_of_missing_ids(config.bootstrap_servers)
            return None
        if self._id is None:
            self._id = new_producer_id(self._cluster, Deadline.after(config.max_block_ms))
        return self._id

    @property
    def _versions(self) -> VersionRange:
        return ProduceRequest.versions if self._transaction is None else PRODUCE_VERSIONS

    def _request_deadline(self) -> Deadline:
        return Deadline.after(self._cluster.config.request_timeout_ms)

    def _delivery_deadline(self) -> Deadline:
        return Deadline.after(self._cluster.config.delivery_timeout_ms)

    def _retry(self, deadline: Deadline) -> Retry:
        config = self._cluster.config
        return Retry(config, deadline, config.delivery_timeout_ms)


@dataclass(slots=True)
class _Request:
    """A Produce request to build: one leader, and versions that can carry its batches."""

    node_id: int
    versions: VersionRange
    topics: dict[TopicPartition, Topic] = field(default_factory=dict)
    bytes: int = 0

    @property
    def needed(self) -> VersionRange:
        """The versions that can carry the batches and name the topics."""
        all_have_ids = all(map(has_topic_id, self.topics.values()))
        return self.versions.intersection(_BY_ID if all_have_ids else _BY_NAME)


class _InFlight(NamedTuple):
    """A request without a response yet."""

    sent: SentRequest
    request: _Request
