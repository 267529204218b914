"""Requests and batches that tests of the brokers send."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_protocol.records.batch import NO_PRODUCER, Producer
from kafka_protocol.records.record import Record
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.primitives import ZERO_UUID
from tests.simulation.kafka.batches import batch_of
from tests.simulation.kafka.world import START_MS

TP = TopicPartition("t", 0)


def batch(
    *values: bytes,
    producer: Producer = NO_PRODUCER,
    timestamp: int = int(START_MS),
    key: bytes | None = None,
) -> bytes:
    """A batch as a producer sends it."""
    records = [Record(at, timestamp, key, value) for at, value in enumerate(values)]
    return batch_of(records, producer)


def produce_request(
    records: bytes | None,
    tp: TopicPartition = TP,
    *,
    acks: int = -1,
    topic_id: uuid.UUID = ZERO_UUID,
    transactional_id: str | None = None,
    timeout_ms: int = 5_000,
) -> ProduceRequest:
    Topic = ProduceRequest.TopicProduceData
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[
            Topic(
                name=tp.topic,
                topic_id=topic_id,
                partition_data=[Topic.PartitionProduceData(index=tp.partition, records=records)],
            )
        ],
    )


def produced(response: ProduceResponse) -> Any:
    """The result of the only partition."""
    return response.responses[0].partition_responses[0]


def fetch_request(
    offset: int,
    tp: TopicPartition = TP,
    *,
    is_committed: bool = False,
    max_wait_ms: int = 0,
    max_bytes: int = 1_000_000,
    epoch: int = -1,
    last_epoch: int = -1,
    topic_id: uuid.UUID = ZERO_UUID,
    rack: str = "",
) -> FetchRequest:
    Topic = FetchRequest.FetchTopic
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=int(is_committed),
        rack_id=rack,
        topics=[
            Topic(
                topic=tp.topic,
                topic_id=topic_id,
                partitions=[
                    Topic.FetchPartition(
                        partition=tp.partition,
                        fetch_offset=offset,
                        partition_max_bytes=max_bytes,
                        current_leader_epoch=epoch,
                        last_fetched_epoch=last_epoch,
                    )
                ],
            )
        ],
    )


def fetched(response: FetchResponse) -> Any:
    """The data of the only partition."""
    return response.responses[0].partitions[0]


def list_request(
    timestamp: int, tp: TopicPartition = TP, *, is_committed: bool = False, epoch: int = -1
) -> ListOffsetsRequest:
    Topic = ListOffsetsRequest.ListOffsetsTopic
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=int(is_committed),
        topics=[
            Topic(
                name=tp.topic,
                partitions=[
                    Topic.ListOffsetsPartition(
                        partition_index=tp.partition,
                        timestamp=timestamp,
                        current_leader_epoch=epoch,
                    )
                ],
            )
        ],
    )


def listed(response: ListOffsetsResponse) -> Any:
    """The offsets of the only partition."""
    return response.topics[0].partitions[0]


def values(records: Sequence[Any]) -> list[bytes | None]:
    """The values of true records."""
    return [record.value for record in records]
