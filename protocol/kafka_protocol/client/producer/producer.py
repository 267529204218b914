"""Record batches -> the leaders of their partitions, each once, in their order, acknowledged.

Several requests are under way to each leader, each with one batch of every partition that has one.
Where brokers know producer ids (Kafka 0.11, KIP-98) each batch has a sequence, so one whose answer
was lost is sent again and is there once. After a failure everything that is under way is answered
first; then what came back goes again, in its order. Older brokers get one batch of a partition at
a time, and one whose answer was lost may be there twice. In a transaction all batches are its own,
and its end, which is not made here, decides about them. Which rows become which batch is the
caller's business.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from kafka_protocol.client.broker.broker import Sent
from kafka_protocol.client.clock import Deadline, Retry, pause
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import Topic, has_topic_id
from kafka_protocol.client.producer.partition_queue import CARRIERS, Line
from kafka_protocol.client.producer.produce_response import Verdict, verdicts
from kafka_protocol.client.producer.producer_id import (
    ProducerId,
    new_producer_id,
    tell_that_there_is_none,
)
from kafka_protocol.client.producer.transactions import (
    PRODUCE_VERSIONS,
    Transaction,
    add_partitions,
    explained,
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
from kafka_protocol.schema import VersionRange
from kafka_protocol.topic_partition import TopicPartition

# v13 speaks of topics by id only.
_BY_NAME: Final = VersionRange(0, 12)
_BY_ID: Final = ProduceRequest.versions

_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


class Producer:
    """Writes batches and waits until they are safe. Not for several threads at once.

    Whoever drops one that has not flushed says `abandon`; answers may be under way.

    Args:
        cluster: Where to write.
        transaction: In which transaction, which ends elsewhere; None for none. After an error it
            has to be aborted.
    """

    def __init__(self, cluster: Cluster, transaction: Transaction | None = None) -> None:
        self._cluster = cluster
        self._transaction = transaction
        self._joined: dict[TopicPartition, int | None] = {}
        new_line = partial(Line, is_transactional=transaction is not None)
        self._lines: dict[TopicPartition, Line] = defaultdict(new_line)
        # Those that have something waiting; and why batches came back.
        self._ready: dict[TopicPartition, Line] = {}
        self._failed: dict[TopicPartition, KafkaError] = {}
        self._flights: deque[_Flight] = deque()
        self._to: Counter[int] = Counter()  # how many of them to each leader
        self._id = None if transaction is None else transaction.producer
        self.pending_bytes = 0

    def __repr__(self) -> str:
        return (
            f"<Producer, {self.pending_bytes:,} bytes of {len(self._ready)} partitions pending, "
            f"{len(self._flights)} requests under way>"
        )

    @property
    def joined(self) -> Mapping[TopicPartition, int | None]:
        """What is in the transaction, each with the offset of a record of it, once one is known.

        Brokers cannot end a transaction that nothing joined.
        """
        return self._joined

    def message_format(self, topic_partition: TopicPartition) -> int:
        """The magic that the leader of a partition takes: 2 from Kafka 0.11 on.

        Raises:
            BrokerError, BrokerConnectionError, KafkaTimeoutError: The leader cannot be reached, or
                there is none.
        """
        deadline = self._delivery()
        retry = self._retry(deadline)
        while True:
            try:
                leader, _ = self._cluster.leader(topic_partition, deadline)
                broker = self._cluster.broker(leader.node_id, deadline)
                version = broker.choose(ProduceRequest)
            except KafkaError as error:
                self._cluster.forget_after(error, topic_partition.topic)
                retry.wait_after(error)
            else:
                return next(magic for magic, carried in CARRIERS.items() if version in carried)

    def add(self, topic_partition: TopicPartition, batch: BatchContents | bytes) -> None:
        """Take a batch in line behind the partition's others.

        Args:
            topic_partition: Where it goes.
            batch: Contents, whose checksum is then made once, or a whole batch.

        Raises:
            KafkaError: No id can be had for this producer; nothing was added.
        """
        most_bytes = self._cluster.config.max_request_bytes
        batch_bytes = bytes_of(batch)
        if batch_bytes > most_bytes:
            raise KafkaConfigError(
                f"A batch for {topic_partition} takes {batch_bytes:,} bytes, and "
                f"kafka.max.request.size is {most_bytes:,}: raise it, or write smaller records"
            )
        producer = self._id_for(batch)
        line = self._lines[topic_partition]
        self.pending_bytes += line.add(batch, producer)
        self._ready[topic_partition] = line

    def push(self, most_pending_bytes: int) -> None:
        """Send what can be sent now; wait for answers until no more than so much is pending.

        Raises:
            KafkaError: As from `flush`.
        """
        self._take_what_came()
        self._send()
        while self.pending_bytes > most_pending_bytes:
            if self._flights:
                self._take_answer(self._flights[0])
            if self._failed and not self._flights:
                self._recover()
            self._send()

    def flush(self) -> None:
        """Write everything that was added; return when all of it is acknowledged.

        Raises:
            TransactionFencedError: The transaction is not open any more.
            BrokerError: A broker refused a batch, or a failure did not pass within
                delivery.timeout.ms. Names topic, partition, broker and what the broker said.
                What is not acknowledged is pending still.
            BrokerConnectionError, KafkaTimeoutError: A leader could not be reached in that time.
        """
        self.push(0)

    def abandon(self) -> None:
        """Give up what is pending. Whether it was written is unknown."""
        for flight in self._flights:
            flight.sent.broker.close()
        self._flights.clear()

    # --- On the way ------------------------------------------------------------------------------

    def _send(self) -> None:
        """Send all that may be under way, unless something failed."""
        if self._transaction is not None:
            self._join(self._transaction)
        while not self._failed and (requests := self._requests()):
            for request in requests:
                self._dispatch(request)

    def _join(self, transaction: Transaction) -> None:
        """Add to the transaction what is not in it and has something waiting."""
        new = self._ready.keys() - self._joined
        if not new:
            return
        # Its coordinator may be a leader too, and answers in the order of the requests.
        while self._flights:
            self._take_answer(self._flights[0])
        deadline = Deadline.after(self._cluster.config.max_block_ms)
        add_partitions(self._cluster, transaction, new, deadline)
        self._joined |= dict.fromkeys(new)

    def _requests(self) -> list[_Request]:
        """At most one request per leader and format, with one batch of each partition."""
        most_bytes = self._cluster.config.max_request_bytes
        requests: dict[tuple[int, VersionRange], _Request] = {}
        for topic_partition, line in self._ready.items():
            try:
                leader, topic = self._cluster.leader(topic_partition, self._soon())
            except KafkaError as error:
                self._fail(topic_partition, error)
                continue
            if self._to[leader.node_id] >= self._cluster.config.max_in_flight:
                continue
            if not line.may_send_to(leader.node_id):
                continue
            batch = line.waiting[0]
            carriers = batch.carriers.intersection(self._versions)
            request = requests.setdefault(
                (leader.node_id, carriers), _Request(leader.node_id, carriers)
            )
            if not request.topics or request.bytes + len(batch.data) <= most_bytes:
                request.topics[topic_partition] = topic
                request.bytes += len(batch.data)
        return [request for request in requests.values() if request.topics]

    def _dispatch(self, request: _Request) -> None:
        deadline = self._soon()
        try:
            broker = self._cluster.broker(request.node_id, deadline)
            sent = broker.send(self._encode(request, deadline), deadline, request.versions)
        except KafkaError as error:
            for topic_partition in request.topics:
                # A part of it may be with the broker.
                self._lines[topic_partition].waiting[0].is_in_doubt = True
                self._fail(topic_partition, error)
            return
        self._flights.append(_Flight(sent, request))
        self._to[request.node_id] += 1
        for topic_partition in request.topics:
            line = self._lines[topic_partition]
            line.waiting[0].deadline = line.waiting[0].deadline or self._delivery()
            line.send_first(request.node_id)
            if not line.waiting:
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
                    records=self._lines[topic_partition].waiting[0].data,
                )
            )
        transaction = self._transaction
        return ProduceRequest(
            transactional_id=None if transaction is None else transaction.transactional_id,
            acks=self._cluster.config.acks if transaction is None else ACKS_ALL,
            timeout_ms=deadline.broker_timeout_ms(self._cluster.config),
            topic_data=[*topic_data.values()],
        )

    # --- And back --------------------------------------------------------------------------------

    def _take_what_came(self) -> None:
        """Take the answers that are there, without waiting for any."""
        while came := self._answered():
            for flight in came:
                self._take_answer(flight)

    def _answered(self) -> list[_Flight]:
        """The oldest request to each broker, where it is answered."""
        oldest: dict[int, _Flight] = {}
        for flight in self._flights:
            oldest.setdefault(flight.request.node_id, flight)
        return [flight for flight in oldest.values() if flight.sent.broker.has_answered]

    def _take_answer(self, flight: _Flight) -> None:
        """Wait for an answer, the oldest that its broker owes."""
        self._flights.remove(flight)
        sent, request = flight
        self._to[request.node_id] -= 1
        try:
            response = sent.broker.receive(sent, ProduceResponse, self._soon())
        except KafkaError as error:
            for topic_partition in request.topics:
                self._return(topic_partition, error)
            return
        for verdict in verdicts(response, sent.broker, request.topics):
            if verdict.refusal is None:
                self._take_acknowledgement(verdict)
            else:
                self._return(verdict.topic_partition, verdict.refusal)

    def _take_acknowledgement(self, verdict: Verdict) -> None:
        topic_partition = verdict.topic_partition
        self.pending_bytes -= self._lines[topic_partition].acknowledge_first()
        if self._joined.get(topic_partition, 0) is None and verdict.base_offset >= 0:
            self._joined[topic_partition] = verdict.base_offset

    def _return(self, topic_partition: TopicPartition, error: KafkaError) -> None:
        self._lines[topic_partition].return_first(error)
        self._fail(topic_partition, error)

    def _fail(self, topic_partition: TopicPartition, error: KafkaError) -> None:
        # What comes behind a batch that failed is out of order, which is no news.
        self._failed.setdefault(topic_partition, error)

    def _recover(self) -> None:
        """Make ready to send again what came back, after a pause, or raise why it cannot be."""
        failed, self._failed = self._failed, {}
        for topic_partition, error in failed.items():
            self._ready[topic_partition] = line = self._lines[topic_partition]
            line.restore()
            self._cluster.forget_after(error, topic_partition.topic)
        lasting = {tp: error for tp, error in failed.items() if not self._is_mended(tp, error)}
        final = [error for error in lasting.values() if not error.retriable]
        if final and self._transaction is not None:
            raise explained(final[0], self._transaction, self._cluster.config)
        if final:
            raise final[0]
        pause(max((self._due_ms(tp, error) for tp, error in lasting.items()), default=0))

    def _is_mended(self, topic_partition: TopicPartition, error: KafkaError) -> bool:
        """Whether what was wrong with the batch is not so any more.

        Raises:
            BrokerError: The batch is too large, and is a single record.
        """
        if not isinstance(error, BrokerError):
            return False
        if error.error in _TOO_LARGE:
            line = self._lines[topic_partition]
            more_bytes = line.split_first(self._id, self._cluster.config.compression.level)
            if more_bytes is None:
                size = f"{len(line.waiting[0].data):,} bytes"
                raise BrokerError(error.code, f"{error.context}, of one record of {size}")
            self.pending_bytes += more_bytes
            return True
        return error.error is ErrorCode.UNKNOWN_PRODUCER_ID and self._has_new_id()

    def _has_new_id(self) -> bool:
        """Begin anew with another id, unless that could write something twice.

        Brokers below 2.5 forget a producer of whom no record is left (KIP-360). In a transaction
        what was written with the old id would be lost.
        """
        waiting = (batch for line in self._ready.values() for batch in line.waiting)
        if self._transaction is not None or any(batch.is_in_doubt for batch in waiting):
            return False
        self._id = new_producer_id(self._cluster, self._soon())
        for line in self._lines.values():
            line.renumber(self._id)
        return True

    def _due_ms(self, topic_partition: TopicPartition, error: KafkaError) -> float:
        """How long to wait before the next try of a partition's first batch."""
        line = self._lines[topic_partition]
        line.failures += 1
        if line.failures > self._cluster.config.retries:
            raise error
        if line.retry is None:
            line.retry = self._retry(line.waiting[0].deadline or self._delivery())
        return line.retry.due_ms(error)

    # --- Who writes, and until when --------------------------------------------------------------

    def _id_for(self, batch: BatchContents | bytes) -> ProducerId | None:
        """Who is to be named in a batch; nobody where nothing is known of producers."""
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
            tell_that_there_is_none(config.bootstrap_servers)
            return None
        if self._id is None:
            self._id = new_producer_id(self._cluster, Deadline.after(config.max_block_ms))
        return self._id

    @property
    def _versions(self) -> VersionRange:
        return ProduceRequest.versions if self._transaction is None else PRODUCE_VERSIONS

    def _soon(self) -> Deadline:
        return Deadline.after(self._cluster.config.request_timeout_ms)

    def _delivery(self) -> Deadline:
        return Deadline.after(self._cluster.config.delivery_timeout_ms)

    def _retry(self, deadline: Deadline) -> Retry:
        config = self._cluster.config
        return Retry(config, deadline, config.delivery_timeout_ms)


@dataclass(slots=True)
class _Request:
    """A share of what waits: for one leader, in versions that can carry it."""

    node_id: int
    carriers: VersionRange
    topics: dict[TopicPartition, Topic] = field(default_factory=dict)
    bytes: int = 0

    @property
    def versions(self) -> VersionRange:
        all_have_ids = all(map(has_topic_id, self.topics.values()))
        return self.carriers.intersection(_BY_ID if all_have_ids else _BY_NAME)


class _Flight(NamedTuple):
    """A request whose answer is to come."""

    sent: Sent
    request: _Request
