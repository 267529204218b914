"""The size of the next records of many partitions, estimated from a sample of each.

One small Fetch per leader, all in flight together; again only for partitions that the response
had no room for. Reads the headers of batches, and decompresses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_protocol.client.broker.broker import SentRequest
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.exchange import exchange, group_by_leader
from kafka_protocol.client.cluster.metadata import has_topic_id
from kafka_protocol.client.consumer.fetch_request import (
    FETCH_BY_NAME,
    FetchLimits,
    WantedPartition,
    fetch_request,
)
from kafka_protocol.client.consumer.list_offsets import can_retry_read
from kafka_protocol.errors import KafkaError
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.records.batch import BatchHeader, read_batches
from kafka_protocol.records.fetch_response import UNKNOWN_EPOCH, partition_data
from kafka_protocol.topic_partition import TopicPartition

# The sample of each partition, in bytes; brokers since 0.10.1 send at least one whole batch.
_SAMPLE_BYTES: Final = 16_384

# The records are in the log, so the broker has nothing to wait for.
_MAX_WAIT_MS: Final = 0


def bytes_per_offset(
    cluster: Cluster, offsets: Mapping[TopicPartition, int], deadline: Deadline
) -> dict[TopicPartition, float]:
    """Estimate the size of the next records of partitions, from a sample at these offsets.

    Returns:
        For each partition the bytes per offset in the log, so compressed, with a share of the
        batch's header. 0 where no record came.

    Raises:
        BrokerError: A partition does not exist, the principal may not read it, it stays without a
            leader, or its log does not hold the offset.
        BrokerConnectionError, KafkaTimeoutError: A leader cannot be reached.
        CorruptRecordError: The response holds no valid batch.
    """
    sizes: dict[TopicPartition, float] = {}
    retry = Retry(cluster.config, deadline, cluster.config.connection_setup_timeout_ms)
    while rest := {tp: offset for tp, offset in offsets.items() if tp not in sizes}:
        try:
            samples = _fetch_samples(cluster, rest, deadline)
        except KafkaError as error:
            for topic in {tp.topic for tp in rest}:
                cluster.forget_if_stale(error, topic)
            if not can_retry_read(error):
                raise
            retry.wait(error)
            continue
        sizes |= samples.sizes
        if not samples.sizes and not samples.is_throttled:
            return sizes | dict.fromkeys(rest, 0.0)
    return sizes


class _Sizes(NamedTuple):
    """The sizes from one response of each leader, which may lack partitions for want of room."""

    sizes: dict[TopicPartition, float]
    is_throttled: bool


def _fetch_samples(
    cluster: Cluster, offsets: Mapping[TopicPartition, int], deadline: Deadline
) -> _Sizes:
    leaders, errors = group_by_leader(cluster, offsets, deadline)
    for no_leader in errors.values():
        raise no_leader
    limits = FetchLimits(cluster.config.max_response_bytes // 2, _MAX_WAIT_MS)

    def send(node_id: int) -> SentRequest:
        led = leaders[node_id]
        have_ids = all(has_topic_id(topic) for _, topic in led.values())
        needed = FetchRequest.versions if have_ids else FETCH_BY_NAME
        broker = cluster.broker(node_id, deadline)
        wanted = [
            WantedPartition(tp, offsets[tp], UNKNOWN_EPOCH, _SAMPLE_BYTES, *at)
            for tp, at in led.items()
        ]
        version = broker.choose(FetchRequest, needed)
        return broker.send(fetch_request(wanted, limits, cluster.config, version), deadline, needed)

    exchanged = exchange(leaders, send, FetchResponse, deadline)
    for error in (exchanged.unsent | exchanged.unanswered).values():
        raise error
    sizes, is_throttled = {}, False
    for node_id, (broker, response) in exchanged.responses.items():
        is_throttled |= response.throttle_time_ms > 0
        for tp, (_, topic) in leaders[node_id].items():
            context = f"Fetch of {tp} at offset {offsets[tp]} to {broker}"
            data = partition_data(response, tp, topic.topic_id, context)
            if data.records:
                sizes[tp] = _bytes_per_offset(memoryview(data.records), offsets[tp])
    return _Sizes(sizes, is_throttled)


def _bytes_per_offset(records: memoryview, offset: int) -> float:
    batches = [*read_batches(records)]
    if not batches:
        # No complete batch: the first record may be as large as all of it.
        return float(len(records))
    first = batches[0].header
    # The headers of the old formats do not say where a batch begins.
    begin = first.base_offset if isinstance(first, BatchHeader) else offset
    size = sum(each.batch_bytes for each in batches)
    return size / max(1, batches[-1].header.next_offset - begin)
