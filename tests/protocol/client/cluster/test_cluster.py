"""Bootstrap and metadata: one bad address, or one bad partition, does not spoil the others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import Address, ClientConfig
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.errors import (
    BrokerConnectionError,
    BrokerError,
    ErrorCode,
    ProtocolError,
    UnsupportedVersionError,
)
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.list_offsets import (
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.schema import Request
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes import faults
from tests.fakes.broker import Handler, ScriptedBroker, versions_of
from tests.fakes.cluster import ScriptedCluster
from tests.protocol.client.broker.test_broker import stranger

Topic = MetadataResponse.MetadataResponseTopic
HTTP = b"HTTP/1.1 400 Bad Request\r\n\r\n"


@contextmanager
def cluster_of(*addresses: Address, setup_ms: int = 2_000) -> Iterator[Cluster]:
    cluster = Cluster(
        ClientConfig(
            bootstrap_servers=addresses,
            retry_backoff_ms=1,
            retry_backoff_max_ms=10,
            connection_setup_timeout_ms=setup_ms,
        )
    )
    try:
        yield cluster
    finally:
        cluster.close()


def answering(response: MetadataResponse) -> ScriptedBroker:
    return ScriptedBroker({MetadataRequest: lambda _request, _version: response})


def test_fault_01_a_stranger_among_the_bootstrap_servers() -> None:
    topic = Topic(name="t")
    with stranger(HTTP) as http, answering(MetadataResponse(topics=[topic])) as good:
        with cluster_of(http, good.address) as cluster:
            assert [*cluster.topics(["t"], Deadline.after(5_000))] == ["t"]


def test_fault_03_nothing_but_strangers() -> None:
    with stranger(HTTP) as http, cluster_of(http) as cluster:
        with pytest.raises(ProtocolError, match="an HTTP server answered"):
            cluster.topics(["t"], Deadline.after(5_000))


def test_fault_05_silent_servers_share_the_time() -> None:
    """However many there are, planning waits for all of them together."""
    with ExitStack() as stack:
        silent = [
            stack.enter_context(ScriptedBroker({MetadataRequest: lambda _r, _v: None}))
            for _ in range(10)
        ]
        for broker in silent:
            broker.handlers = {request: lambda _r, _v: None for request in broker.handlers}
        cluster = stack.enter_context(cluster_of(*(b.address for b in silent), setup_ms=1_000))
        started = time.monotonic()
        with pytest.raises(
            BrokerConnectionError, match=r"No broker of kafka.bootstrap.servers"
        ) as e:
            cluster.topics(["t"], Deadline.after(60_000))
        assert time.monotonic() - started < 5
        assert all(str(broker.address) in str(e.value) for broker in silent)


def test_a_topic_that_stays_unknown_is_told_after_a_grace() -> None:
    missing = Topic(name="t", error_code=int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    with answering(MetadataResponse(topics=[missing])) as fake, cluster_of(fake.address) as cluster:
        found = cluster.settled_topics(["t"], Deadline.after(100))
        assert found["t"].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert len(fake.requests) > 2


def test_fault_18_a_leaderless_partition_is_waited_for_and_costs_few_requests() -> None:
    """The others are asked meanwhile; the whole is told when the time is up."""

    def list_offsets_of(request: ListOffsetsRequest, _version: int) -> ListOffsetsResponse:
        answer = ListOffsetsResponse.ListOffsetsTopicResponse
        partitions = [
            answer.ListOffsetsPartitionResponse(partition_index=p.partition_index, offset=9)
            for p in request.topics[0].partitions
        ]
        return ListOffsetsResponse(topics=[answer(name="t", partitions=partitions)])

    def metadata(_request: MetadataRequest, _version: int) -> MetadataResponse:
        address = fake.address
        row = Topic.MetadataResponsePartition
        lost = 0 if len(fake.requests) > 8 else 1
        return MetadataResponse(
            brokers=[
                MetadataResponse.MetadataResponseBroker(
                    node_id=1, host=address.host, port=address.port
                )
            ],
            topics=[
                Topic(
                    name="t",
                    partitions=[
                        row(partition_index=number, leader_id=-1 if number >= 4 and lost else 1)
                        for number in range(8)
                    ],
                )
            ],
        )

    handlers = {MetadataRequest: metadata, ListOffsetsRequest: list_offsets_of}
    wanted = {TopicPartition("t", number): -1 for number in range(8)}
    with ScriptedBroker(handlers) as fake, cluster_of(fake.address) as cluster:
        assert list_offsets(cluster, wanted, Deadline.after(5_000)) == dict.fromkeys(wanted, 9)
        assert len(fake.requests) < 30


def test_no_leader_is_told_by_name() -> None:
    row = Topic.MetadataResponsePartition(leader_id=-1)
    response = MetadataResponse(topics=[Topic(name="t", partitions=[row])])
    with answering(response) as fake, cluster_of(fake.address) as cluster:
        with pytest.raises(BrokerError, match=r"Metadata of t-0: .*LEADER_NOT_AVAILABLE"):
            cluster.leader(TopicPartition("t", 0), Deadline.after(1_000))
        with pytest.raises(BrokerError, match=r"Metadata of t-1: .*UNKNOWN_TOPIC_OR_PARTITION"):
            cluster.leader(TopicPartition("t", 1), Deadline.after(1_000))


@pytest.mark.parametrize(
    ("version", "topics"), [(0, []), (1, None), (3, None)], ids=["v0", "v1", "v3"]
)
def test_reading_creates_no_topic_on_a_broker_that_would(
    version: int, topics: list[object] | None
) -> None:
    """Below v4 a broker creates what it is asked for by name, so it is asked for everything."""
    there = MetadataResponse(topics=[Topic(name="other"), Topic(name="t")])
    handlers: dict[type[Request], Handler] = {
        ApiVersionsRequest: lambda _r, _v: versions_of(MetadataRequest, highest=version),
        MetadataRequest: lambda _r, _v: there,
    }
    with ScriptedBroker(handlers) as fake, cluster_of(fake.address) as cluster:
        found = cluster.topics(["t", "missing"], Deadline.after(5_000))
        assert {name: topic.error_code for name, topic in found.items()} == {
            "t": ErrorCode.NONE,
            "missing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
        assert fake.requests[-1] == (MetadataRequest(topics=topics), version)
        cluster.topics(["t"], Deadline.after(5_000), create=True)
        by_name = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="t")])
        assert fake.requests[-1] == (by_name, version)


def test_fault_22_a_topic_that_a_broker_leaves_out_is_unknown() -> None:
    with answering(MetadataResponse()) as fake, cluster_of(fake.address) as cluster:
        found = cluster.topics(["t"], Deadline.after(5_000))
        assert found["t"].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        with pytest.raises(BrokerError, match=r"Metadata of t-0.*UNKNOWN_TOPIC_OR_PARTITION"):
            cluster.leader(TopicPartition("t", 0), Deadline.after(5_000))


@pytest.mark.parametrize(
    ("position", "version", "remedy"),
    [
        (1_700_000_000_000, 0, "Kafka 0.10.1 or newer"),
        (MAX_TIMESTAMP, 6, "Kafka 3.0 or newer"),
        (LATEST_TIERED_TIMESTAMP, 8, "Kafka 3.9 or newer"),
    ],
)
def test_a_broker_that_is_too_old_for_a_position(position: int, version: int, remedy: str) -> None:
    with leading(version) as fake, cluster_of(fake.address) as cluster:
        with pytest.raises(UnsupportedVersionError, match=remedy):
            list_offsets(cluster, {TopicPartition("t", 0): position}, Deadline.after(5_000))
        assert not [r for r, _ in fake.requests if isinstance(r, ListOffsetsRequest)]


@pytest.mark.parametrize(("version", "isolation_level"), [(0, 0), (1, 0), (2, 1), (11, 1)])
def test_the_last_stable_offset_where_there_is_one(version: int, isolation_level: int) -> None:
    with leading(version) as fake:
        options = {
            "bootstrap.servers": str(fake.address),
            "isolation.level": "read_committed",
        }
        cluster = Cluster(ClientConfig.from_options(options))
        try:
            latest = {TopicPartition("t", 0): LATEST_TIMESTAMP}
            found = list_offsets(cluster, latest, Deadline.after(5_000))
        finally:
            cluster.close()
        assert [*found.values()] == [7]
        asked, _ = fake.requests[-1]
        assert isinstance(asked, ListOffsetsRequest)
        assert asked.isolation_level == isolation_level


def test_a_connection_whose_place_another_takes_is_closed_when_its_last_answer_came() -> None:
    """Whoever was asked refuses, so that the same node is asked on a new connection."""
    soon = Deadline.after(5_000)
    refusal = faults.refusing_all(ErrorCode.REBOOTSTRAP_REQUIRED)
    with ScriptedCluster() as cluster, ExitStack() as stack:
        client = cluster.client()
        stack.callback(client.close)
        client.topics([], soon)
        idle = client.broker(1, soon)
        cluster.spoil(MetadataRequest, faults.only(2, refusal))  # there, and as bootstrap server
        client.topics([], soon)
        busy = client.broker(1, soon)
        assert busy is not idle
        assert idle.is_closed

        sent = busy.send(ListOffsetsRequest(topics=[]), soon)
        cluster.spoil(MetadataRequest, faults.only(1, refusal))
        client.topics([], soon)
        assert client.broker(1, soon) is not busy
        busy.receive(sent, ListOffsetsResponse, soon)
        client.close()
        assert busy.is_closed


def leading(version: int) -> ScriptedBroker:
    """A broker that leads t-0 and speaks ListOffsets up to a version."""
    partition = Topic.MetadataResponsePartition(partition_index=0, leader_id=1)
    Answer = ListOffsetsResponse.ListOffsetsTopicResponse
    answer = Answer.ListOffsetsPartitionResponse(partition_index=0)
    if version == 0:
        answer.old_style_offsets = [7]
    else:
        answer.offset = 7

    def versions(_request: ApiVersionsRequest, _version: int) -> ApiVersionsResponse:
        offered = versions_of(MetadataRequest, ListOffsetsRequest)
        offered.api_keys[-1].max_version = version
        return offered

    def metadata(_request: MetadataRequest, _version: int) -> MetadataResponse:
        here = MetadataResponse.MetadataResponseBroker(
            node_id=1, host=fake.address.host, port=fake.address.port
        )
        return MetadataResponse(brokers=[here], topics=[Topic(name="t", partitions=[partition])])

    fake = ScriptedBroker(
        {
            ApiVersionsRequest: versions,
            MetadataRequest: metadata,
            ListOffsetsRequest: lambda _r, _v: ListOffsetsResponse(
                topics=[Answer(name="t", partitions=[answer])]
            ),
        }
    )
    return fake


def test_fault_05_a_kept_connection_that_is_dead_leaves_time_for_the_others() -> None:
    asked = 0

    def once(_request: MetadataRequest, _version: int) -> MetadataResponse | None:
        nonlocal asked
        asked += 1
        return MetadataResponse(topics=[Topic(name="t")]) if asked == 1 else None

    with (
        ScriptedBroker({MetadataRequest: once}) as dying,
        answering(MetadataResponse(topics=[Topic(name="t")])) as healthy,
        cluster_of(dying.address, healthy.address) as cluster,
    ):
        cluster.topics(["t"], Deadline.after(5_000))
        assert [*cluster.topics(["t"], Deadline.after(5_000))] == ["t"]
        assert asked >= 2


def test_a_broker_that_knows_of_no_brokers_is_not_believed() -> None:
    with leading(11) as fake, cluster_of(fake.address) as cluster:
        leader, _ = cluster.leader(TopicPartition("t", 0), Deadline.after(5_000))
        broker = cluster.broker(leader.node_id, Deadline.after(5_000))
        fake.handlers[MetadataRequest] = lambda _r, _v: MetadataResponse(topics=[Topic(name="t")])
        cluster.topics(["t"], Deadline.after(5_000))
        assert not broker.is_closed
        assert cluster.broker(leader.node_id, Deadline.after(5_000)) is broker


def test_fault_13_versions_of_a_cluster_that_names_no_brokers() -> None:
    """As Kafka 0.8 does before there is a topic."""
    with answering(MetadataResponse()) as fake, cluster_of(fake.address) as cluster:
        versions = cluster.common_versions(Deadline.after(5_000))
        assert versions.range_of(MetadataRequest) == MetadataRequest.versions


def test_a_slow_broker_has_time_to_answer_however_many_others_there_are() -> None:
    def slow(_request: MetadataRequest, _version: int) -> MetadataResponse:
        time.sleep(0.4)
        return MetadataResponse(topics=[Topic(name="t")])

    with ScriptedBroker({MetadataRequest: slow}) as fake:
        nowhere = [Address("127.0.0.1", 1)] * 20
        with cluster_of(fake.address, *nowhere, setup_ms=2_000) as cluster:
            assert [*cluster.topics(["t"], Deadline.after(5_000))] == ["t"]
