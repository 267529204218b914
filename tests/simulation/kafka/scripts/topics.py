"""Scripts of metadata, configurations, and topics that come and go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from kafka_protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafka_protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafka_protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafka_protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.messages.produce import ProduceResponse
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.peers import Peer, topic_id_of
from tests.simulation.kafka.requests import (
    batch,
    produce_request,
)
from tests.simulation.kafka.scripts.steps import (
    UNKNOWN_ID,
    create,
    read,
    write,
)

# Name, operation and value of each.
Changes: TypeAlias = Sequence[tuple[str, int, "str | None"]]


def metadata(peer: Peer, topic: str) -> None:
    """Of known, unknown and impossible topics, by name and by id."""
    create(peer, topic, 2)
    topic_id = topic_id_of(peer, topic)
    Topic = MetadataRequest.MetadataRequestTopic
    for name in (topic, f"no-{topic}", "", "not/legal", ".", "x" * 250):
        for version in (4, 8, 9, 13):
            request = MetadataRequest(topics=[Topic(name=name)], allow_auto_topic_creation=False)
            peer.ask(request, MetadataResponse, version)
    for by_id in (topic_id, UNKNOWN_ID):
        for version in (12, 13):
            request = MetadataRequest(
                topics=[Topic(name=None, topic_id=by_id)], allow_auto_topic_creation=False
            )
            peer.ask(request, MetadataResponse, version)
    peer.ask(MetadataRequest(topics=[]), MetadataResponse)
    for version in (0, 3, 4):
        software = ApiVersionsRequest(client_software_name="tests", client_software_version="1")
        peer.ask(software, ApiVersionsResponse, version)


def topics_come_and_go(peer: Peer, topic: str) -> None:
    """Created twice, refused, deleted, created again with another id."""
    Topic = CreateTopicsRequest.CreatableTopic
    create(peer, topic)
    write(peer, topic, b"a")
    old_id = topic_id_of(peer, topic)
    for name, partitions, replicas in (
        (topic, 1, 1),
        ("not/legal", 1, 1),
        (f"{topic}-x", 0, 1),
        (f"{topic}-x", 1, 5),
        (f"{topic}-x", 1, 0),
    ):
        wanted = Topic(name=name, num_partitions=partitions, replication_factor=replicas)
        peer.ask(CreateTopicsRequest(topics=[wanted], timeout_ms=9_000), CreateTopicsResponse, 4)
    for name in (topic, f"no-{topic}"):
        request = DeleteTopicsRequest(
            topics=[DeleteTopicsRequest.DeleteTopicState(name=name)], timeout_ms=9_000
        )
        peer.ask(request, DeleteTopicsResponse)
    for by_id in (old_id, UNKNOWN_ID):
        request = DeleteTopicsRequest(
            topics=[DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=by_id)],
            timeout_ms=9_000,
        )
        peer.ask(request, DeleteTopicsResponse)
    create(peer, topic)
    new_id = topic_id_of(peer, topic)
    write(peer, topic, b"b")
    for by_id in (old_id, new_id):
        read(peer, topic, 0, 13, topic_id=by_id)
        again = produce_request(batch(b"c"), TopicPartition("", 0), topic_id=by_id)
        peer.ask(again, ProduceResponse)


def topic_configs(peer: Peer, topic: str) -> None:
    """The configurations that a commit log is checked for."""
    create(peer, topic, cleanup_policy="compact", segment_bytes="1048576")
    Resource = DescribeConfigsRequest.DescribeConfigsResource
    names = ["cleanup.policy", "segment.bytes", "max.message.bytes", "message.timestamp.type"]
    for name in (topic, f"no-{topic}"):
        resource = Resource(resource_type=2, resource_name=name, configuration_keys=names)
        peer.ask(DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse)


def altered_topics(peer: Peer, topic: str) -> None:
    """Configurations that are set and deleted, partitions that are added, and what is refused."""
    create(peer, topic, cleanup_policy="compact")
    every: Sequence[Changes] = (
        [("delete.retention.ms", 0, "1000"), ("cleanup.policy", 1, None)],
        [("delete.retention.ms", 0, "")],
        [("delete.retention.ms", 0, "x"), ("segment.ms", 0, "1000")],
        [("no.such", 0, "1")],
        [("delete.retention.ms", 1, None), ("segment.bytes", 1, None)],
    )
    for changes in every:
        for is_check in (True, False):
            _alter(peer, topic, changes, validate_only=is_check)
            _describe(peer, topic)
    _alter(peer, f"no-{topic}", [("delete.retention.ms", 1, None)])
    Wanted = CreatePartitionsRequest.CreatePartitionsTopic
    for name, count, is_check in (
        (topic, 3, True),
        (topic, 1, False),
        (topic, 3, False),
        (topic, 3, False),
        (f"no-{topic}", 3, False),
    ):
        wanted = Wanted(name=name, count=count, assignments=None)
        request = CreatePartitionsRequest(topics=[wanted], timeout_ms=9_000, validate_only=is_check)
        peer.ask(request, CreatePartitionsResponse)


def _alter(peer: Peer, topic: str, changes: Changes, *, validate_only: bool = False) -> None:
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    configs = [
        Resource.AlterableConfig(name=name, config_operation=operation, value=value)
        for name, operation, value in changes
    ]
    request = IncrementalAlterConfigsRequest(
        resources=[Resource(resource_type=2, resource_name=topic, configs=configs)],
        validate_only=validate_only,
    )
    peer.ask(request, IncrementalAlterConfigsResponse)


def _describe(peer: Peer, topic: str) -> None:
    names = ["cleanup.policy", "delete.retention.ms", "segment.ms"]
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=2, resource_name=topic, configuration_keys=names
    )
    peer.ask(DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse)
