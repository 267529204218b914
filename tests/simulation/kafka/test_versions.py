"""Every API in every version that any release serves: asked, answered, and read by the client."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Final

import pytest

from kafka_protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_protocol.messages.create_partitions import CreatePartitionsRequest
from kafka_protocol.messages.create_topics import CreateTopicsRequest
from kafka_protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_protocol.messages.delete_records import DeleteRecordsRequest
from kafka_protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_protocol.messages.describe_producers import DescribeProducersRequest
from kafka_protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_protocol.messages.end_txn import EndTxnRequest
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_protocol.messages.list_groups import ListGroupsRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.list_transactions import ListTransactionsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.messages.offset_commit import OffsetCommitRequest
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafka_protocol.records.message import Message, encode_messages
from kafka_protocol.wire.primitives import ZERO_UUID
from kafka_protocol.wire.schema import Request
from tests.simulation.kafka.cluster import SimulatedCluster
from tests.simulation.kafka.handlers.table import HANDLERS
from tests.simulation.kafka.requests import batch, fetch_request, list_request, produce_request
from tests.simulation.kafka.settings import Release
from tests.simulation.kafka.world import Client, VirtualTime

_RELEASES: Final = (
    "0.10.0",
    "0.10.2",
    "0.11",
    "1.1",
    "2.1",
    "2.4",
    "2.8",
    "3.1",
    "3.6",
    "4.0",
    "4.3",
)
Make = Callable[[int, uuid.UUID], Request]


def _produce(version: int, topic_id: uuid.UUID) -> Request:
    records = batch(b"v")
    if version < 3:
        records = encode_messages([Message(0, 1, None, b"v")], 1 if version == 2 else 0)
    return produce_request(records, topic_id=topic_id if version >= 13 else ZERO_UUID)


def _fetch(version: int, topic_id: uuid.UUID) -> Request:
    return fetch_request(0, topic_id=topic_id if version >= 13 else ZERO_UUID)


def _add_partitions(version: int, _: uuid.UUID) -> Request:
    if version >= 4:
        return AddPartitionsToTxnRequest(transactions=[])
    topic = AddPartitionsToTxnTopic(name="t", partitions=[0, 9])
    return AddPartitionsToTxnRequest(v3_and_below_transactional_id="x", v3_and_below_topics=[topic])


def _offset_commit(version: int, topic_id: uuid.UUID) -> Request:
    Topic = OffsetCommitRequest.OffsetCommitRequestTopic
    row = Topic.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    return OffsetCommitRequest(
        group_id="g",
        topics=[Topic(name="t", topic_id=topic_id, partitions=[row])],
    )


def _offset_fetch(version: int, topic_id: uuid.UUID) -> Request:
    if version < 8:
        Topic = OffsetFetchRequest.OffsetFetchRequestTopic
        return OffsetFetchRequest(group_id="g", topics=[Topic(name="t", partition_indexes=[0])])
    Group = OffsetFetchRequest.OffsetFetchRequestGroup
    topic = Group.OffsetFetchRequestTopics(name="t", topic_id=topic_id, partition_indexes=[0])
    return OffsetFetchRequest(groups=[Group(group_id="g", topics=[topic])])


def _epochs(version: int, _: uuid.UUID) -> Request:
    Topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    row = Topic.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    return OffsetForLeaderEpochRequest(topics=[Topic(topic="t", partitions=[row])])


def _coordinator(version: int, _: uuid.UUID) -> Request:
    if version >= 4:
        return FindCoordinatorRequest(key_type=1, coordinator_keys=["x", "y"])
    return FindCoordinatorRequest(key="x", key_type=int(version >= 1))


def _delete_topics(version: int, _: uuid.UUID) -> Request:
    State = DeleteTopicsRequest.DeleteTopicState
    if version >= 6:
        return DeleteTopicsRequest(topics=[State(name="t")], timeout_ms=1_000)
    return DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000)


def _create_topics(version: int, _: uuid.UUID) -> Request:
    Topic = CreateTopicsRequest.CreatableTopic
    topics = [Topic(name=name, num_partitions=1, replication_factor=1) for name in ("t", "u")]
    return CreateTopicsRequest(topics=topics, timeout_ms=1_000)


def _delete_records(version: int, _: uuid.UUID) -> Request:
    Topic = DeleteRecordsRequest.DeleteRecordsTopic
    row = Topic.DeleteRecordsPartition(partition_index=0, offset=0)
    return DeleteRecordsRequest(topics=[Topic(name="t", partitions=[row])], timeout_ms=1_000)


_REQUESTS: Final[dict[type[Request], Make]] = {
    AddPartitionsToTxnRequest: _add_partitions,
    ApiVersionsRequest: lambda *_: ApiVersionsRequest(),
    ConsumerGroupDescribeRequest: lambda *_: ConsumerGroupDescribeRequest(group_ids=["g"]),
    CreatePartitionsRequest: lambda *_: CreatePartitionsRequest(
        topics=[CreatePartitionsRequest.CreatePartitionsTopic(name="t", count=2, assignments=None)]
    ),
    CreateTopicsRequest: _create_topics,
    DeleteGroupsRequest: lambda *_: DeleteGroupsRequest(groups_names=["g"]),
    DeleteRecordsRequest: _delete_records,
    DeleteTopicsRequest: _delete_topics,
    DescribeConfigsRequest: lambda *_: DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=2, resource_name="t", configuration_keys=None
            )
        ]
    ),
    DescribeGroupsRequest: lambda *_: DescribeGroupsRequest(groups=["g"]),
    DescribeProducersRequest: lambda *_: DescribeProducersRequest(
        topics=[DescribeProducersRequest.TopicRequest(name="t", partition_indexes=[0])]
    ),
    DescribeTransactionsRequest: lambda *_: DescribeTransactionsRequest(transactional_ids=["x"]),
    EndTxnRequest: lambda *_: EndTxnRequest(transactional_id="x", committed=True),
    FetchRequest: _fetch,
    FindCoordinatorRequest: _coordinator,
    IncrementalAlterConfigsRequest: lambda *_: IncrementalAlterConfigsRequest(
        resources=[
            IncrementalAlterConfigsRequest.AlterConfigsResource(resource_type=2, resource_name="t")
        ]
    ),
    InitProducerIdRequest: lambda *_: InitProducerIdRequest(
        transactional_id="x", transaction_timeout_ms=1
    ),
    ListGroupsRequest: lambda *_: ListGroupsRequest(),
    ListOffsetsRequest: lambda *_: list_request(-1),
    ListTransactionsRequest: lambda *_: ListTransactionsRequest(),
    MetadataRequest: lambda *_: MetadataRequest(topics=[]),
    OffsetCommitRequest: _offset_commit,
    OffsetFetchRequest: _offset_fetch,
    OffsetForLeaderEpochRequest: _epochs,
    ProduceRequest: _produce,
    SaslAuthenticateRequest: lambda _version, _topic_id: SaslAuthenticateRequest(),
    SaslHandshakeRequest: lambda _version, _topic_id: SaslHandshakeRequest(),
}


@pytest.mark.parametrize("release", _RELEASES)
def test_each_version_that_a_release_serves_is_answered(release: str) -> None:
    time = VirtualTime()
    cluster = SimulatedCluster(time, nodes=1, release=release)
    topic_id = cluster.create_topic("t").topic_id
    time.run(100)
    for kind, served in _served(release):
        for version in range(served.lowest, served.highest + 1):
            client = Client(cluster, time)
            if kind is AddPartitionsToTxnRequest and version >= 4:
                client.send(_REQUESTS[kind](version, topic_id), version)  # for brokers only
                assert time.run_until(lambda client=client: client.is_closed)  # type: ignore[misc]
            else:
                client.ask(_REQUESTS[kind](version, topic_id), kind.response, version)


def _served(release: str) -> list[tuple[type[Request], Any]]:
    """What a release serves and we declare; what deletes topics comes last."""
    versions = Release(release).versions()
    kinds = [kind for kind in HANDLERS if kind.api_key in versions]
    kinds.sort(key=lambda kind: kind is DeleteTopicsRequest)
    return [(kind, kind.versions.intersection(versions[kind.api_key])) for kind in kinds]


def test_each_api_that_is_handled_is_asked() -> None:
    assert _REQUESTS.keys() == HANDLERS.keys()


@pytest.mark.parametrize("release", _RELEASES)
def test_what_a_release_does_not_serve_closes_the_connection(release: str) -> None:
    time = VirtualTime()
    cluster = SimulatedCluster(time, nodes=1, release=release)
    topic_id = cluster.create_topic("t").topic_id
    time.run(100)
    versions = Release(release).versions()
    for kind in HANDLERS:
        lowest = kind.versions.highest + 1 if kind is ApiVersionsRequest else kind.versions.lowest
        for version in range(lowest, kind.versions.highest + 1):
            if kind.api_key not in versions or version not in versions[kind.api_key]:
                client = Client(cluster, time)
                client.send(_REQUESTS[kind](version, topic_id), version)
                assert time.run_until(lambda client=client: client.is_closed)  # type: ignore[misc]


@pytest.mark.parametrize(("release", "count"), [("0.10.2", 0), ("2.0", 0), ("2.4", 1)])
def test_an_unknown_version_of_api_versions_is_answered(release: str, count: int) -> None:
    time = VirtualTime()
    client = Client(SimulatedCluster(time, nodes=1, release=release), time)
    response = client.ask(ApiVersionsRequest(), ApiVersionsResponse, 4)
    assert response.error_code == 35
    assert len(response.api_keys) == count
