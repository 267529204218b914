"""What scripts do again and again."""

from __future__ import annotations

import uuid
from typing import Any, Final

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kafka_protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafka_protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from kafka_protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
)
from kafka_protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafka_protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_protocol.messages.list_offsets import ListOffsetsResponse
from kafka_protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_protocol.messages.produce import ProduceResponse
from kafka_protocol.records.batch import Producer as BatchProducer
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.peers import Peer, ask_until
from tests.simulation.kafka.requests import (
    batch,
    fetch_request,
    list_request,
    listed,
    produce_request,
    produced,
)
from tests.simulation.kafka.transactions import Producer
from tests.simulation.kafka.world import START_MS

BY_NAME: Final = 12
NO_PRODUCER: Final = Producer(-1, -1)
T: Final = int(START_MS)
UNKNOWN_ID: Final = uuid.UUID(int=1)


def create(
    peer: Peer,
    name: str,
    partitions: int = 1,
    version: int = 7,
    replication: int = 1,
    *,
    waits: bool = True,
    **config: str,
) -> None:
    """Create a topic, and wait until its partitions have leaders."""
    Topic = CreateTopicsRequest.CreatableTopic
    configs = [
        Topic.CreatableTopicConfig(name=key.replace("_", "."), value=value)
        for key, value in config.items()
    ]
    topic = Topic(
        name=name, num_partitions=partitions, replication_factor=replication, configs=configs
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=20_000)
    count = len(peer.notes.answers)
    response = peer.ask(request, CreateTopicsResponse, version)
    assert response is not None
    assert not response.topics[0].error_code
    if waits:
        wait_for_leader(peer, name)
    del peer.notes.answers[count:]


def wait_for_leader(peer: Peer, name: str) -> None:
    """Until a broker leads the topic's first partition."""
    ask_until(peer, list_request(-2, TopicPartition(name, 0)), ListOffsetsResponse, _has_leader, 1)


def _has_leader(response: ListOffsetsResponse) -> bool:
    return not listed(response).error_code


def find_coordinator(peer: Peer, key: str, key_type: int) -> None:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    ask_until(peer, request, FindCoordinatorResponse, lambda r: not r.coordinators[0].error_code)


def init(
    peer: Peer,
    name: str | None,
    producer: Producer = NO_PRODUCER,
    *,
    version: int = 5,
    timeout_ms: int = 60_000,
) -> Producer:
    """InitProducerId, once the coordinator has read its log and has ended the last transaction."""
    request = InitProducerIdRequest(
        transactional_id=name,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer.producer_id if version >= 3 else -1,
        producer_epoch=producer.epoch if version >= 3 else -1,
    )
    waits = (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    )
    response = ask_until(
        peer, request, InitProducerIdResponse, lambda r: r.error_code not in waits, version
    )
    return Producer(response.producer_id, response.producer_epoch)


def add(
    peer: Peer, name: str, producer: Producer, topic: str, *numbers: int, version: int = 3
) -> None:
    peer.ask(
        AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=[*(numbers or (0,))])
            ],
        ),
        AddPartitionsToTxnResponse,
        version,
    )


def end(
    peer: Peer, name: str, producer: Producer, *, commits: bool, version: int = 4
) -> Producer | None:
    response = peer.ask(
        EndTxnRequest(
            transactional_id=name,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=commits,
        ),
        EndTxnResponse,
        version,
    )
    if response is None:
        return None
    return Producer(response.producer_id, response.producer_epoch)


def wait_for_end(peer: Peer, name: str) -> None:
    """Describe a transaction when its markers are written."""
    ask_until(
        peer,
        DescribeTransactionsRequest(transactional_ids=[name]),
        DescribeTransactionsResponse,
        lambda r: not r.transaction_states[0].transaction_state.startswith("Prepare"),
    )


def write(
    peer: Peer,
    topic: str,
    *written: bytes,
    producer: Producer | None = None,
    sequence: int = 0,
    transactional_id: str | None = None,
    version: int = 11,
    acks: int = -1,
) -> int:
    """Produce one batch; returns its offset."""
    of_batch = BatchProducer(
        *(producer or (-1, -1)),
        sequence if producer else -1,
        is_transactional=transactional_id is not None,
    )
    request = produce_request(
        batch(*written, producer=of_batch),
        TopicPartition(topic, 0),
        transactional_id=transactional_id,
        acks=acks,
    )
    response = peer.ask(request, ProduceResponse, version)
    return -1 if response is None else int(produced(response).base_offset)


def read(peer: Peer, topic: str, offset: int = 0, version: int = BY_NAME, **options: Any) -> None:
    peer.ask(fetch_request(offset, TopicPartition(topic, 0), **options), FetchResponse, version)


def describe_producers(peer: Peer, topic: str, number: int = 0) -> None:
    request = DescribeProducersRequest(
        topics=[DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=[number])]
    )
    peer.ask(request, DescribeProducersResponse)


def delete(peer: Peer, topic: str, offset: int, number: int = 0) -> None:
    Topic = DeleteRecordsRequest.DeleteRecordsTopic
    row = Topic.DeleteRecordsPartition(partition_index=number, offset=offset)
    request = DeleteRecordsRequest(topics=[Topic(name=topic, partitions=[row])], timeout_ms=10_000)
    peer.ask(request, DeleteRecordsResponse)


def settle_end(peer: Peer, topic: str) -> None:
    """Until the last stable offset is the high watermark."""

    def is_level(response: ListOffsetsResponse) -> bool:
        return bool(listed(response).offset == high)

    count = len(peer.notes.answers)
    tp = TopicPartition(topic, 0)
    response = peer.ask(list_request(-1, tp), ListOffsetsResponse)
    assert response is not None
    high = listed(response).offset
    ask_until(peer, list_request(-1, tp, is_committed=True), ListOffsetsResponse, is_level)
    del peer.notes.answers[count:]


def describe(peer: Peer, *names: str) -> None:
    request = DescribeTransactionsRequest(transactional_ids=[*names])
    peer.ask(request, DescribeTransactionsResponse)


def commit(
    peer: Peer,
    group: str,
    topic: str,
    offsets: dict[int, int],
    metadata: str = "",
    generation: int = -1,
) -> None:
    Topic = OffsetCommitRequest.OffsetCommitRequestTopic
    rows = [
        Topic.OffsetCommitRequestPartition(
            partition_index=number, committed_offset=offset, committed_metadata=metadata
        )
        for number, offset in offsets.items()
    ]
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        topics=[Topic(name=topic, partitions=rows)],
    )
    loading = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
    ask_until(
        peer,
        request,
        OffsetCommitResponse,
        lambda r: r.topics[0].partitions[0].error_code not in loading,
        9,
    )


def fetch_offsets(peer: Peer, group: str, topic: str | None) -> None:
    Group = OffsetFetchRequest.OffsetFetchRequestGroup
    topics = [Group.OffsetFetchRequestTopics(name=topic or "", partition_indexes=[0, 1])]
    request = OffsetFetchRequest(
        groups=[Group(group_id=group, topics=None if topic is None else topics)]
    )
    loading = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
    ask_until(
        peer, request, OffsetFetchResponse, lambda r: r.groups[0].error_code not in loading, 9
    )
    Topic = OffsetFetchRequest.OffsetFetchRequestTopic
    old_topics = [Topic(name=topic or "", partition_indexes=[0, 1])]
    old = OffsetFetchRequest(group_id=group, topics=None if topic is None else old_topics)
    for version in (2, 7):
        peer.ask(old, OffsetFetchResponse, version)
