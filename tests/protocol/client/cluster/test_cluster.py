"""Bootstrap and metadata: a bad address or partition does not affect the others."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.metadata import request_metadata
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.errors import (
    BrokerConnectionError,
    BrokerError,
    ErrorCode,
    KafkaTimeoutError,
    ProtocolError,
    UnsupportedVersionError,
)
from kafka_protocol.messages.api_versions import ApiVersionsRequest
from kafka_protocol.messages.list_offsets import (
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.options.topic_names import is_topic_name
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import Request, VersionRange
from kafka_spark_source.testing.processes.waiting import Deadline as WaitDeadline
from tests.fakes import faults
from tests.fakes.broker import Handler, ScriptedBroker, versions_of
from tests.fakes.cluster import FakeCluster, client_of
from tests.fakes.reading import PARTITION, one_partition
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.fakes.tls import foreign_server
from tests.hostile.names import HOSTILE_NAMES

Topic = MetadataResponse.MetadataResponseTopic
RequestedTopic = MetadataRequest.MetadataRequestTopic
HTTP = b"HTTP/1.1 400 Bad Request\r\n\r\n"


def responding_with(response: MetadataResponse) -> ScriptedBroker:
    return ScriptedBroker({MetadataRequest: lambda _request, _version: response})


def test_fault_01_one_bootstrap_server_is_no_kafka() -> None:
    topic = Topic(name="t")
    with foreign_server(HTTP) as http, responding_with(MetadataResponse(topics=[topic])) as good:
        with closing(client_of(http, good.address)) as cluster:
            assert [*cluster.topics(["t"], Deadline.after(5_000))] == ["t"]


def test_fault_03_no_bootstrap_server_is_kafka() -> None:
    with foreign_server(HTTP) as http, closing(client_of(http)) as cluster:
        with pytest.raises(ProtocolError, match="an HTTP server answered"):
            cluster.topics(["t"], Deadline.after(5_000))


def test_fault_05_silent_servers_share_the_time() -> None:
    """Together they take no longer than one time-out."""
    with ExitStack() as stack:
        silent = [
            stack.enter_context(ScriptedBroker({MetadataRequest: lambda _r, _v: None}))
            for _ in range(10)
        ]
        for broker in silent:
            broker.handlers = {request: lambda _r, _v: None for request in broker.handlers}
        cluster = stack.enter_context(
            closing(client_of(*(b.address for b in silent), connection_setup_timeout_ms=1_000))
        )
        started = time.monotonic()
        with pytest.raises(
            BrokerConnectionError, match=r"No broker of kafka.bootstrap.servers"
        ) as e:
            cluster.topics(["t"], Deadline.after(60_000))
        assert time.monotonic() - started < 5
        assert all(str(broker.address) in str(e.value) for broker in silent)


def test_fault_22_a_deadline_used_up_before_says_so() -> None:
    """The brokers are not blamed, who were not asked."""
    with responding_with(MetadataResponse()) as fake, closing(client_of(fake.address)) as cluster:
        with pytest.raises(KafkaTimeoutError, match=r"used up.*kafka\.default\.api\.timeout\.ms"):
            cluster.topics(["t"], Deadline.after(0))
        assert fake.requests == []


def test_fault_22_waiting_for_a_topic_leaves_time_for_the_rest() -> None:
    missing = Topic(name="t", error_code=int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    with (
        responding_with(MetadataResponse(topics=[missing])) as fake,
        closing(client_of(fake.address)) as cluster,
        sleeps_take_no_time(),
    ):
        deadline = Deadline.after(2_000)
        found = cluster.settled_topics(["t"], deadline)
        assert found["t"].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert 500 < deadline.remaining_ms < 1_500
        assert len(fake.requests) > 2


def test_fault_18_waiting_for_a_leader_takes_few_requests() -> None:
    partitions = [TopicPartition("t", number) for number in range(8)]
    with FakeCluster() as cluster, closing(cluster.client()) as client:
        cluster.add_topic("t", 8)
        for each in partitions[4:]:
            cluster.move_leader(each, -1)

        def elect(_: MetadataResponse) -> None:
            if len(cluster.asked(MetadataRequest)) == 8:
                for each in partitions[4:]:
                    cluster.move_leader(each, 1)

        cluster.add_fault(MetadataRequest, faults.changed(elect))
        wanted = dict.fromkeys(partitions, LATEST_TIMESTAMP)
        assert list_offsets(client, wanted, Deadline.after(5_000)) == dict.fromkeys(partitions, 0)
        assert len(cluster.nodes[1].broker.requests) < 30


def test_a_missing_leader_names_the_partition() -> None:
    partition = Topic.MetadataResponsePartition(leader_id=-1)
    response = MetadataResponse(topics=[Topic(name="t", partitions=[partition])])
    with responding_with(response) as fake, closing(client_of(fake.address)) as cluster:
        with pytest.raises(BrokerError, match=r"Metadata of t-0: .*LEADER_NOT_AVAILABLE"):
            cluster.leader(TopicPartition("t", 0), Deadline.after(1_000))
        with pytest.raises(BrokerError, match=r"Metadata of t-1: .*UNKNOWN_TOPIC_OR_PARTITION"):
            cluster.leader(TopicPartition("t", 1), Deadline.after(1_000))


@pytest.mark.parametrize(
    ("version", "topics"), [(0, []), (1, None), (3, None)], ids=["v0", "v1", "v3"]
)
def test_reading_never_creates_a_topic(version: int, topics: list[RequestedTopic] | None) -> None:
    """Below v4 a broker creates the topics in the request, so all topics are requested."""
    existing = MetadataResponse(topics=[Topic(name="other"), Topic(name="t")])
    handlers: dict[type[Request], Handler] = {
        ApiVersionsRequest: lambda _r, _v: versions_of(MetadataRequest, highest=version),
        MetadataRequest: lambda _r, _v: existing,
    }
    with ScriptedBroker(handlers) as fake, closing(client_of(fake.address)) as cluster:
        found = cluster.topics(["t", "missing"], Deadline.after(5_000))
        assert {name: topic.error_code for name, topic in found.items()} == {
            "t": ErrorCode.NONE,
            "missing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
        assert fake.requests[-1] == (MetadataRequest(topics=topics), version)
        cluster.topics(["t"], Deadline.after(5_000), create=True)
        by_name = MetadataRequest(topics=[RequestedTopic(name="t")])
        assert fake.requests[-1] == (by_name, version)


def test_fault_22_a_topic_missing_in_metadata_is_unknown() -> None:
    with responding_with(MetadataResponse()) as fake, closing(client_of(fake.address)) as cluster:
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
    ids=["timestamp", "max timestamp", "latest tiered"],
)
def test_a_broker_too_old_for_a_position(position: int, version: int, remedy: str) -> None:
    with one_partition() as (cluster, client):
        cluster.offer(ListOffsetsRequest, VersionRange(0, version))
        with pytest.raises(UnsupportedVersionError, match=remedy):
            list_offsets(client, {PARTITION: position}, Deadline.after(5_000))
        assert not cluster.asked(ListOffsetsRequest)


@pytest.mark.parametrize(("version", "isolation_level"), [(0, 0), (1, 0), (2, 1), (11, 1)])
def test_read_committed_is_sent_from_v2_on(version: int, isolation_level: int) -> None:
    with one_partition((b"a",), isolation_level="read_committed") as (cluster, client):
        cluster.offer(ListOffsetsRequest, VersionRange(0, version))
        latest = {PARTITION: LATEST_TIMESTAMP}
        assert list_offsets(client, latest, Deadline.after(5_000)) == {PARTITION: 1}
        ((_, request, _),) = cluster.asked(ListOffsetsRequest)
        assert request.isolation_level == isolation_level


def test_a_replaced_connection_closes_after_its_last_response() -> None:
    """An error of the connected node leads to a new connection to the same node."""
    soon = Deadline.after(5_000)
    refusal = faults.refusing_all(ErrorCode.REBOOTSTRAP_REQUIRED)
    with FakeCluster() as cluster, ExitStack() as stack:
        client = cluster.client()
        stack.callback(client.close)
        client.topics([], soon)
        idle = client.broker(1, soon)
        cluster.add_fault(MetadataRequest, refusal, count=2)  # as node, and as bootstrap server
        client.topics([], soon)
        busy = client.broker(1, soon)
        assert busy is not idle
        assert idle.is_closed

        sent = busy.send(ListOffsetsRequest(topics=[]), soon)
        cluster.add_fault(MetadataRequest, refusal, count=1)
        client.topics([], soon)
        assert client.broker(1, soon) is not busy
        busy.receive(sent, ListOffsetsResponse, soon)
        client.close()
        assert busy.is_closed


def test_fault_05_after_one_time_out_no_older_connection_is_trusted() -> None:
    """Half-open connections to three leaders and to the bootstrap server cost one time-out."""
    partitions = [TopicPartition("t", number) for number in range(3)]
    latest = dict.fromkeys(partitions, LATEST_TIMESTAMP)
    with FakeCluster(nodes=3) as cluster:
        cluster.add_topic("t", 3)
        half_open = faults.HalfOpen()
        for kind in (MetadataRequest, ListOffsetsRequest):
            cluster.add_fault(kind, half_open)
        with closing(cluster.client(request_timeout_ms=1_000)) as client:
            list_offsets(client, latest, Deadline.after(30_000))
            half_open.silence()
            # One time-out after the other would be three seconds, for the leaders alone.
            assert list_offsets(client, latest, Deadline.after(2_800)) == dict.fromkeys(
                partitions, 0
            )
    assert half_open.swallowed == len(partitions)


def test_fault_05_half_open_connections_cost_metadata_one_time_out() -> None:
    with FakeCluster(nodes=3) as cluster:
        half_open = faults.HalfOpen()
        for kind in (MetadataRequest, ListOffsetsRequest):
            cluster.add_fault(kind, half_open)
        with closing(cluster.client()) as client:
            soon = Deadline.after(60_000)
            client.topics([], soon)
            for node_id in client.node_ids:
                broker = client.broker(node_id, soon)
                broker.request(ListOffsetsRequest(topics=[]), ListOffsetsResponse, soon)
            half_open.silence()
            client.topics([], soon)
    assert half_open.swallowed == 1


def test_a_connection_that_responded_meanwhile_is_kept() -> None:
    with FakeCluster(nodes=2) as cluster, closing(cluster.client()) as client:
        soon = Deadline.after(60_000)
        client.topics([], soon)
        silent, good = client.broker(1, soon), client.broker(2, soon)
        cluster.add_fault(ListOffsetsRequest, faults.response_lost, node=1)
        sent = silent.send(ListOffsetsRequest(topics=[]), soon)
        good.request(ListOffsetsRequest(topics=[]), ListOffsetsResponse, soon)
        with pytest.raises(KafkaTimeoutError):
            silent.receive(sent, ListOffsetsResponse, Deadline.after(300))
        assert client.broker(2, soon) is good
        assert client.broker(1, soon) is not silent


def test_fault_41_a_throttled_broker_has_longer_for_requests_in_flight() -> None:
    """It does not read them before the throttle time is over (KIP-219)."""

    def throttle(response: ListOffsetsResponse) -> None:
        response.throttle_time_ms = 10_000

    def throttled_first(handler: Handler) -> Handler:
        return faults.in_turn(faults.changed(throttle)(handler), faults.delayed(600)(handler))

    with FakeCluster() as cluster, closing(cluster.client(request_timeout_ms=400)) as client:
        soon = Deadline.after(60_000)
        client.topics([], soon)
        cluster.add_fault(ListOffsetsRequest, throttled_first)
        broker = client.broker(1, soon)
        sent = [broker.send(ListOffsetsRequest(topics=[]), soon) for _ in range(2)]
        for each in sent:
            broker.receive(each, ListOffsetsResponse, soon)
        assert broker.is_throttled


IDLE = {"connections_max_idle_ms": 1_000}


def test_an_idle_connection_is_replaced_before_it_is_used() -> None:
    """The broker, or a firewall, may have dropped it."""
    with FakeCluster() as cluster, sleeps_take_no_time() as pass_seconds:
        with closing(cluster.client(**IDLE)) as client:
            soon = Deadline.after(60_000)
            client.topics([], soon)
            first = client.broker(1, soon)
            for _ in range(2):
                pass_seconds(0.9)
                first.request(ListOffsetsRequest(topics=[]), ListOffsetsResponse, soon)
                assert client.broker(1, soon) is first
            pass_seconds(1.1)
            assert client.broker(1, soon) is not first
            assert first.is_closed


def test_a_quiet_connection_that_was_closed_is_replaced_without_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """By a load balancer after some minutes: nothing fails, waits or is logged."""
    with FakeCluster() as cluster, sleeps_take_no_time() as time:
        with closing(cluster.client()) as client:
            soon = Deadline.after(600_000)
            client.topics([], soon)
            first = client.broker(1, soon)
            assert client.broker(1, soon) is first
            time(240)
            cluster.nodes[1].broker.close_connections()
            assert WaitDeadline(5).wait_for(lambda: first.has_response)
            second = client.broker(1, soon)
            assert second is not first
            second.request(ListOffsetsRequest(topics=[]), ListOffsetsResponse, soon)
            assert (time.pauses_ms, caplog.messages) == ([], [])


def test_new_metadata_closes_idle_connections() -> None:
    """So those of a stream's driver to brokers that lead nothing any more."""
    with FakeCluster(nodes=2) as cluster, sleeps_take_no_time() as pass_seconds:
        with closing(cluster.client(**IDLE)) as client:
            soon = Deadline.after(60_000)
            client.topics([], soon)
            idle, busy = client.broker(1, soon), client.broker(2, soon)
            sent = busy.send(ListOffsetsRequest(topics=[]), soon)
            pass_seconds(1.1)
            client.topics([], soon)
            assert idle.is_closed
            busy.receive(sent, ListOffsetsResponse, soon)


def test_no_connection_is_idle_without_a_limit() -> None:
    with FakeCluster() as cluster, sleeps_take_no_time() as pass_seconds:
        with closing(cluster.client(connections_max_idle_ms=-1)) as client:
            client.topics([], Deadline.after(5_000))
            broker = client.broker(1, Deadline.after(5_000))
            pass_seconds(1_000_000)
            client.topics([], Deadline.after(5_000))
            assert client.broker(1, Deadline.after(5_000)) is broker


def test_fault_05_a_dead_connection_leaves_time_for_others() -> None:
    requests = 0

    def once(_request: MetadataRequest, _version: int) -> MetadataResponse | None:
        nonlocal requests
        requests += 1
        return MetadataResponse(topics=[Topic(name="t")]) if requests == 1 else None

    with (
        ScriptedBroker({MetadataRequest: once}) as dying,
        responding_with(MetadataResponse(topics=[Topic(name="t")])) as healthy,
        closing(client_of(dying.address, healthy.address)) as cluster,
    ):
        cluster.topics(["t"], Deadline.after(5_000))
        assert [*cluster.topics(["t"], Deadline.after(5_000))] == ["t"]
        assert requests >= 2


def test_metadata_without_brokers_keeps_the_known_ones() -> None:
    with one_partition() as (cluster, client):
        leader, _ = client.leader(PARTITION, Deadline.after(5_000))
        broker = client.broker(leader.node_id, Deadline.after(5_000))
        cluster.add_fault(
            MetadataRequest, faults.changed(lambda response: response.brokers.clear())
        )
        client.topics(["t"], Deadline.after(5_000))
        assert not broker.is_closed
        assert client.broker(leader.node_id, Deadline.after(5_000)) is broker


def test_fault_13_versions_of_a_cluster_that_lists_no_brokers() -> None:
    """As Kafka 0.8 before it has a topic."""
    with responding_with(MetadataResponse()) as fake, closing(client_of(fake.address)) as cluster:
        versions = cluster.common_versions(Deadline.after(5_000))
        assert versions.range_of(MetadataRequest) == MetadataRequest.versions


def test_a_slow_broker_has_time_beside_dead_ones() -> None:
    def slow(_request: MetadataRequest, _version: int) -> MetadataResponse:
        time.sleep(0.4)
        return MetadataResponse(topics=[Topic(name="t")])

    with ScriptedBroker({MetadataRequest: slow}) as fake:
        nowhere = [Address("127.0.0.1", 1)] * 20
        with closing(client_of(fake.address, *nowhere)) as cluster:
            assert [*cluster.topics(["t"], Deadline.after(5_000))] == ["t"]


@pytest.mark.parametrize("name", [each for each in HOSTILE_NAMES if each.isprintable()])
def test_names_that_kafka_does_not_allow_are_left_out(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A name that was requested is the user's own, and its error is the broker's."""
    if is_topic_name(name):
        return
    invalid = ErrorCode.INVALID_TOPIC_EXCEPTION
    response = MetadataResponse(topics=[Topic(name="good"), Topic(name=name, error_code=invalid)])
    with responding_with(response) as broker, closing(client_of(broker.address)) as cluster:
        for _ in range(2):  # the second response is the same one
            assert [*cluster.topics(None, Deadline.after(5_000))] == ["good"]
        assert "listed 1 topics with names that Kafka does not allow" in caplog.text
        assert cluster.topics([name], Deadline.after(5_000))[name].error_code == invalid


@pytest.mark.parametrize("names", [None, ["t"]])
def test_fault_39_of_a_topic_that_is_listed_twice_the_last_one_counts(
    names: list[str] | None,
) -> None:
    response = MetadataResponse(topics=[Topic(name="t"), Topic(name="t", is_internal=True)])
    with responding_with(response) as broker, closing(client_of(broker.address)) as cluster:
        [found] = cluster.with_any_broker(
            lambda each, setup: request_metadata(each, names, setup), Deadline.after(5_000)
        ).topics
    assert found.is_internal


def test_a_warning_about_names_is_printable(caplog: pytest.LogCaptureFixture) -> None:
    response = MetadataResponse(topics=[Topic(name="a\x1b[2J\n" + "b" * 1_000)])
    with responding_with(response) as broker, closing(client_of(broker.address)) as cluster:
        assert cluster.topics(None, Deadline.after(5_000)) == {}
    [record] = caplog.records
    assert record.getMessage().isprintable()
    assert len(record.getMessage()) < 600
