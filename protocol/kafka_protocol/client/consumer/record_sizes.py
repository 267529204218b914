"""How large the next records of many partitions are, estimated by a look at a few of each.

One small Fetch per leader, all in flight together, and more only for partitions that an answer had
no room for. Headers of batches are read, and nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kafka_protocol.client.broker.broker import Sent
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import Leader, Topic, has_topic_id
from kafka_protocol.client.consumer.fetch import FETCH_BY_NAME
from kafka_protocol.client.consumer.fetch_response import partition_data
from kafka_protocol.client.consumer.list_offsets import may_pass
from kafka_protocol.errors import KafkaError
from kafka_protocol.messages.fetch import ISOLATION_LEVELS, FetchRequest, FetchResponse
from kafka_protocol.records.batch import HEADER_BYTES, BatchHeader, RecordBatch, read_batches
from kafka_protocol.topic_partition import TopicPartition

# How much to look at in each partition; brokers since 0.10.1 hand out one batch at the least.
_SAMPLE_BYTES: Final = 16_384


def bytes_per_offset(
    cluster: Cluster, offsets: Mapping[TopicPartition, int], deadline: Deadline
) -> dict[TopicPartition, float]:
    """Estimate how large the records are that come next.

    Args:
        cluster: Whom to ask.
        offsets: Where to look in each partition. There should be a record.
        deadline: When to give up.

    Returns:
        For each partition, how many bytes an offset takes in the log, so compressed, with its
        share of its batch. 0 where nothing came.

    Raises:
        BrokerError: A partition does not exist, may not be read, stays without a leader, or does
            not hold the offset.
        BrokerConnectionError, KafkaTimeoutError: A leader cannot be reached.
        CorruptRecordError: What came is no batch.
    """
    sizes: dict[TopicPartition, float] = {}
    retry = Retry(cluster.config, deadline, cluster.config.connection_setup_timeout_ms)
    while rest := {tp: offset for tp, offset in offsets.items() if tp not in sizes}:
        try:
            round_ = _ask_leaders(cluster, rest, deadline)
        except KafkaError as error:
            for topic in {tp.topic for tp in rest}:
                cluster.forget_after(error, topic)
            if not may_pass(error):
                raise
            retry.wait(error)
            continue
        sizes |= round_.sizes
        if not round_.sizes and not round_.is_throttled:
            return sizes | dict.fromkeys(rest, 0.0)
    return sizes


class _Round(NamedTuple):
    """What one question to each leader brought: an answer has room for some, or for none."""

    sizes: dict[TopicPartition, float]
    is_throttled: bool


def _ask_leaders(
    cluster: Cluster, offsets: Mapping[TopicPartition, int], deadline: Deadline
) -> _Round:
    by_node: dict[int, list[_Look]] = defaultdict(list)
    for tp, offset in offsets.items():
        leader, topic = cluster.leader(tp, deadline)
        by_node[leader.node_id].append(_Look(tp, offset, leader, topic))
    asked: list[tuple[Sent, list[_Look]]] = []
    for node_id, looks in by_node.items():
        needed = (
            FetchRequest.versions if all(has_topic_id(x.topic) for x in looks) else FETCH_BY_NAME
        )
        broker = cluster.broker(node_id, deadline)
        asked.append((broker.send(_request(cluster, looks), deadline, needed), looks))
    sizes, is_throttled = {}, False
    for sent, looks in asked:
        response = sent.broker.receive(sent, FetchResponse, deadline)
        is_throttled |= response.throttle_time_ms > 0
        for tp, offset, _, topic in looks:
            context = f"Fetch of {tp} at offset {offset} to {sent.broker}"
            data = partition_data(response, tp, topic.topic_id, context)
            if data.records:
                sizes[tp] = _bytes_per_offset(memoryview(data.records), offset)
    return _Round(sizes, is_throttled)


class _Look(NamedTuple):
    """What to look at, and whom to ask."""

    topic_partition: TopicPartition
    offset: int
    leader: Leader
    topic: Topic


def _request(cluster: Cluster, looks: Iterable[_Look]) -> FetchRequest:
    topics: dict[str, FetchRequest.FetchTopic] = {}
    for (name, number), offset, leader, topic in looks:
        asked = topics.setdefault(
            name, FetchRequest.FetchTopic(topic=name, topic_id=topic.topic_id, partitions=[])
        )
        asked.partitions.append(
            FetchRequest.FetchTopic.FetchPartition(
                partition=number,
                current_leader_epoch=leader.epoch,
                fetch_offset=offset,
                partition_max_bytes=_SAMPLE_BYTES,
            )
        )
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=cluster.config.max_response_bytes // 2,
        isolation_level=ISOLATION_LEVELS[cluster.config.isolation_level],
        topics=[*topics.values()],
    )


def _bytes_per_offset(records: memoryview, offset: int) -> float:
    batches = [*read_batches(records)]
    if not batches:
        # Not one is whole: then the first record may be as large as that.
        return float(len(records))
    first = batches[0].header
    # The headers of the old formats do not say where a batch begins.
    begin = first.base_offset if isinstance(first, BatchHeader) else offset
    return sum(map(_size, batches)) / max(1, batches[-1].header.next_offset - begin)


def _size(batch: RecordBatch) -> int:
    """The bytes of a batch; only the new format's payload is without the header."""
    in_front = HEADER_BYTES if isinstance(batch.header, BatchHeader) else 0
    return in_front + len(batch.payload)
