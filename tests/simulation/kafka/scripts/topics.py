"""Scripts of groups' offsets, metadata, and topics that come and go."""

from __future__ import annotations

from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafka_protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafka_protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafka_protocol.messages.find_coordinator import (
    GROUP,
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
    commit,
    create,
    fetch_offsets,
    find_coordinator,
    read,
    write,
)


def group_offsets(peer: Peer, topic: str) -> None:
    """Commits and fetches of a group without members, of unknown topics, of no group."""
    create(peer, topic, 2)
    find_coordinator(peer, topic, GROUP)
    fetch_offsets(peer, topic, topic)
    commit(peer, topic, topic, {0: 5})
    commit(peer, topic, topic, {0: 7, 1: 3, 9: 1}, metadata="m")
    commit(peer, topic, f"no-{topic}", {0: 1})
    commit(peer, topic, topic, {0: 8}, generation=3)
    fetch_offsets(peer, topic, topic)
    fetch_offsets(peer, topic, None)
    fetch_offsets(peer, f"no-{topic}", None)
    fetch_offsets(peer, topic, f"no-{topic}")


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
