"""Record batches -> the leaders of their partitions, acknowledged by all in-sync replicas.

One Produce per leader and round, with one batch of each partition that it leads; the leaders
work at the same time. A partition's next batch is sent when the one before it is acknowledged.
Without producer ids a batch whose answer was lost is written again: at least once, and the late
first copy may come behind what follows. Which rows become which batch is the caller's business.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from kafka_protocol.client.broker import Broker, Sent
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster import Cluster
from kafka_protocol.client.metadata import Topic, has_topic_id
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError, OutOfStepError
from kafka_protocol.messages.produce import ACKS_ALL, ProduceRequest, ProduceResponse
from kafka_protocol.records.batch import read_batches
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.schema import VersionRange
from kafka_protocol.topic_partition import TopicPartition

# v13 speaks of topics by id only.
_BY_NAME: Final = VersionRange(0, 12)
_BY_ID: Final = ProduceRequest.versions

# The versions that carry records of each magic. Brokers refuse another one (KIP-32, KIP-98).
_CARRIES: Final = {
    0: VersionRange(0, 1),
    1: VersionRange(2, 2),
    2: VersionRange(3, ProduceRequest.versions.highest),
}
_CARRIES_ZSTD: Final = VersionRange(7, ProduceRequest.versions.highest)  # KIP-110

# Far below the broker's socket.request.max.bytes (100 MiB), and enough to keep it busy.
_MAX_REQUEST_BYTES: Final = 16 * 1024 * 1024

_PartitionResponse = ProduceResponse.TopicProduceResponse.PartitionProduceResponse


class Producer:
    """Writes batches and waits until they are safe. Not for several threads at once.

    Args:
        cluster: Where to write.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pending: dict[TopicPartition, deque[bytes]] = defaultdict(deque)
        self.pending_bytes = 0

    def __repr__(self) -> str:
        batches = sum(map(len, self._pending.values()))
        return f"<Producer, {batches} batches of {len(self._pending)} partitions pending>"

    def message_format(self, topic_partition: TopicPartition) -> int:
        """The magic that the leader of a partition takes: 2 from Kafka 0.11 on.

        Raises:
            BrokerError, BrokerConnectionError, KafkaTimeoutError: The leader cannot be reached, or
                there is none.
        """
        deadline, retry = self._begin()
        while True:
            try:
                leader, _ = self._cluster.leader(topic_partition, deadline)
                broker = self._cluster.broker(leader.node_id, deadline)
                version = broker.choose(ProduceRequest)
            except KafkaError as error:
                self._cluster.forget_after(error, topic_partition.topic)
                retry.wait_after(error)
            else:
                return next(magic for magic, carried in _CARRIES.items() if version in carried)

    def add(self, topic_partition: TopicPartition, batch: bytes) -> None:
        """Take a batch in line behind the partition's others."""
        self._pending[topic_partition].append(batch)
        self.pending_bytes += len(batch)

    def flush(self) -> None:
        """Write everything that was added; return when all of it is acknowledged.

        Raises:
            BrokerError: A broker refused a batch, or a failure did not pass within
                delivery.timeout.ms. Names topic, partition, broker and what the broker said.
            BrokerConnectionError, KafkaTimeoutError: A leader could not be reached in that time.
        """
        deadline, retry = self._begin()
        while self._pending:
            acknowledged, failures = self._write_round(deadline)
            for topic_partition in acknowledged:
                self._drop_first(topic_partition)
            if acknowledged:
                deadline, retry = self._begin()
            for topic_partition, error in failures.items():
                self._cluster.forget_after(error, topic_partition.topic)
            if failures:
                retry.wait_after_any([*failures.values()])

    def _begin(self) -> tuple[Deadline, Retry]:
        """The time that the next batches have."""
        config = self._cluster.config
        deadline = Deadline.after(config.delivery_timeout_ms)
        return deadline, Retry(config, deadline, config.delivery_timeout_ms)

    def _drop_first(self, topic_partition: TopicPartition) -> None:
        batches = self._pending[topic_partition]
        self.pending_bytes -= len(batches.popleft())
        if not batches:
            del self._pending[topic_partition]

    def _write_round(
        self, deadline: Deadline
    ) -> tuple[list[TopicPartition], dict[TopicPartition, KafkaError]]:
        """Write the first batch of each partition; tell which arrived, and why the others not."""
        failures: dict[TopicPartition, KafkaError] = {}
        asked: list[tuple[Sent, _Request]] = []
        for request in self._requests(failures, deadline):
            try:
                broker = self._cluster.broker(request.node_id, deadline)
                sent = broker.send(self._encode(request, deadline), deadline, request.needed)
            except KafkaError as error:
                failures.update(dict.fromkeys(request.topics, error))
            else:
                asked.append((sent, request))
        acknowledged: list[TopicPartition] = []
        for sent, request in asked:
            try:
                response = sent.broker.receive(sent, ProduceResponse, deadline)
            except KafkaError as error:
                failures.update(dict.fromkeys(request.topics, error))
            else:
                verdicts = _verdicts(response, sent.broker, request.topics)
                acknowledged += [tp for tp, error in verdicts if error is None]
                failures |= {tp: error for tp, error in verdicts if error is not None}
        return acknowledged, failures

    def _requests(
        self, failures: dict[TopicPartition, KafkaError], deadline: Deadline
    ) -> Iterator[_Request]:
        """At most one request per leader and format, so that few wait behind another's answer."""
        shares: dict[tuple[int, VersionRange], dict[TopicPartition, Topic]] = defaultdict(dict)
        size: dict[tuple[int, VersionRange], int] = defaultdict(int)
        for topic_partition, batches in self._pending.items():
            try:
                leader, topic = self._cluster.leader(topic_partition, deadline)
            except KafkaError as error:
                failures[topic_partition] = error
                continue
            share = leader.node_id, _carriers(batches[0])
            size[share] += len(batches[0])
            chosen = shares[share]
            if not chosen or size[share] <= _MAX_REQUEST_BYTES:
                chosen[topic_partition] = topic
        for (node_id, carriers), topics in shares.items():
            all_have_ids = all(map(has_topic_id, topics.values()))
            spoken = _BY_ID if all_have_ids else _BY_NAME
            yield _Request(node_id, topics, carriers.intersection(spoken))

    def _encode(self, request: _Request, deadline: Deadline) -> ProduceRequest:
        topic_data: dict[str, ProduceRequest.TopicProduceData] = {}
        for topic_partition, topic in request.topics.items():
            data = topic_data.setdefault(
                topic.name,
                ProduceRequest.TopicProduceData(name=topic.name, topic_id=topic.topic_id),
            )
            data.partition_data.append(
                ProduceRequest.TopicProduceData.PartitionProduceData(
                    index=topic_partition.partition, records=self._pending[topic_partition][0]
                )
            )
        return ProduceRequest(
            acks=ACKS_ALL,
            timeout_ms=deadline.broker_timeout_ms(self._cluster.config),
            topic_data=[*topic_data.values()],
        )


def _carriers(batch: bytes) -> VersionRange:
    """The versions that can carry a batch."""
    header = next(read_batches(memoryview(batch))).header
    return _CARRIES_ZSTD if header.codec == CompressionCodec.ZSTD else _CARRIES[header.magic]


class _Request(NamedTuple):
    """One leader's share of a round."""

    node_id: int
    topics: dict[TopicPartition, Topic]
    needed: VersionRange


def _verdicts(
    response: ProduceResponse, broker: Broker, topics: dict[TopicPartition, Topic]
) -> list[tuple[TopicPartition, KafkaError | None]]:
    names = {topic.topic_id: topic.name for topic in topics.values()}
    answers: dict[TopicPartition, _PartitionResponse] = {}
    for topic in response.responses:
        for answer in topic.partition_responses:
            tp = TopicPartition(topic.name or names.get(topic.topic_id, ""), answer.index)
            if tp not in answers or answer.error_code:  # of two verdicts the refusal counts
                answers[tp] = answer
    return [(tp, _verdict(answers.get(tp), f"Produce to {tp} on {broker}")) for tp in topics]


def _verdict(answer: _PartitionResponse | None, context: str) -> KafkaError | None:
    if answer is None:
        return OutOfStepError(f"{context}: the answer lacks the partition")
    if answer.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
        return None
    said = [answer.error_message] if answer.error_message else []
    said += _record_errors(answer.record_errors)
    return BrokerError(answer.error_code, context, "; ".join(said) or None)


def _record_errors(
    errors: Iterable[_PartitionResponse.BatchIndexAndErrorMessage],
) -> list[str]:
    return [
        f"record {error.batch_index} of the batch: {error.batch_index_error_message}"
        for error in list(errors)[:3]
    ]
