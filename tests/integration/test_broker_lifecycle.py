"""Local brokers start, serve, stop and die on request, and leave nothing behind.

confluent-kafka is the client here, so that these tests need no code of this repository to be right.
"""

import os
import signal
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_spark_source.testing import (
    NEWEST,
    RELEASES,
    BrokerStartError,
    KafkaCluster,
    LocalBrokerError,
)
from kafka_spark_source.testing.broker import probe
from kafka_spark_source.testing.plugin import ClusterFactory
from kafka_spark_source.testing.processes import waiting
from kafka_spark_source.testing.processes.ports import HOST, HeldPorts
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.integration.leftovers import (
    GONE_SECONDS,
    never,
    traces_of,
)
from tests.witness import produce

pytestmark = pytest.mark.integration

CLIENT_SECONDS = 30.0


def admin_of(cluster: KafkaCluster, **more: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers, **more})


def create_topic(admin: AdminClient, topic: str, partitions: int = 1, replicas: int = 1) -> None:
    admin.create_topics([NewTopic(topic, partitions, replicas)])[topic].result(CLIENT_SECONDS)


def read(cluster: KafkaCluster, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "none"})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        return [message.value() for message in consumer.consume(count, CLIENT_SECONDS)]
    finally:
        consumer.close()


def leader_of(admin: AdminClient, topic: str) -> int:
    leader: int = admin.list_topics(topic, CLIENT_SECONDS).topics[topic].partitions[0].leader
    return leader


def traces_of_cluster(cluster: KafkaCluster) -> Callable[[], bool]:
    pids = [cluster.supervisor_pid, *(broker.pid for broker in cluster.brokers if broker.pid)]
    return traces_of(pids, cluster.folder.parent)


def test_records_go_in_and_come_out(kafka_cluster: KafkaCluster) -> None:
    create_topic(admin_of(kafka_cluster), "lifecycle")
    produce(kafka_cluster.bootstrap_servers, "lifecycle", [b"one", b"two"])
    assert read(kafka_cluster, "lifecycle", 2) == [b"one", b"two"]
    assert list((kafka_cluster.log_dir(1) / "lifecycle-0").glob("*.log"))
    (broker,) = kafka_cluster.brokers
    assert kafka_cluster.bootstrap_servers == f"{broker.host}:{broker.port}"
    assert "INFO" in broker.log_file.read_text()


@pytest.mark.slow
def test_the_factory_gives_the_same_cluster(
    kafka_cluster: KafkaCluster, kafka_cluster_factory: ClusterFactory
) -> None:
    assert kafka_cluster_factory("0.10.2.2") is kafka_cluster_factory("0.10.2.2", nodes=1)
    assert kafka_cluster_factory("0.10.2.2") is not kafka_cluster


def test_all_listeners_are_on_loopback(kafka_cluster: KafkaCluster) -> None:
    text = (kafka_cluster.folder / "1" / "server.properties").read_text()
    listeners = next(line for line in text.splitlines() if line.startswith("listeners="))
    assert listeners.count("://") == listeners.count("://127.0.0.1:") == 3


def test_create_topic_without_zookeeper(kafka_cluster: KafkaCluster) -> None:
    kafka_cluster.create_topic("created", partitions=3)
    known = admin_of(kafka_cluster).list_topics("created", CLIENT_SECONDS).topics["created"]
    assert {*known.partitions} == {0, 1, 2}
    with pytest.raises(LocalBrokerError, match="error 36, Topic 'created' already exists"):
        kafka_cluster.create_topic("created")
    with pytest.raises(LocalBrokerError, match="'two' was not created: error 38, "):
        kafka_cluster.create_topic("two", replication_factor=2)


@pytest.mark.slow
def test_one_of_three_nodes_is_killed_paused_and_restarted() -> None:
    with KafkaCluster(nodes=3) as cluster:
        admin = admin_of(cluster)
        assert set(admin.list_topics(timeout=CLIENT_SECONDS).brokers) == {1, 2, 3}
        cluster.create_topic("replicated", replication_factor=3)
        produce(cluster.bootstrap_servers, "replicated", [b"kept"])
        leader = leader_of(admin, "replicated")
        before = cluster.brokers[leader - 1]

        cluster.kill(leader)
        assert cluster.brokers[leader - 1].pid is None
        assert not probe.accepts((HOST, before.port))
        moved = Deadline(CLIENT_SECONDS)
        assert moved.wait_for(lambda: leader_of(admin, "replicated") not in (leader, -1))
        assert read(cluster, "replicated", 1) == [b"kept"]

        cluster.start_node(leader)
        after = cluster.brokers[leader - 1]
        assert after.port == before.port
        assert after.pid not in (None, before.pid)

        cluster.pause(leader)
        with socket.create_connection((HOST, after.port), 5) as stream:
            stream.settimeout(0.5)
            stream.sendall(bytes([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 0, 0, 0]))
            with pytest.raises(TimeoutError):
                stream.recv(1)
        cluster.resume(leader)
        assert Deadline(CLIENT_SECONDS).wait_for(
            lambda: len(probe.registered_brokers((HOST, after.port))) == 3
        )
        any_left = traces_of_cluster(cluster)
    assert not any_left()


@pytest.mark.slow
def test_a_node_that_is_stopped_keeps_its_data() -> None:
    with KafkaCluster() as cluster:
        create_topic(admin_of(cluster), "kept")
        produce(cluster.bootstrap_servers, "kept", [b"value"])
        cluster.stop_node(1)
        with pytest.raises(LocalBrokerError, match="has no node 2"):
            cluster.start_node(2)
        cluster.start_node(1)
        with pytest.raises(LocalBrokerError, match="node 1 runs already"):
            cluster.start_node(1)
        assert read(cluster, "kept", 1) == [b"value"]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["4.4.0", pytest.param("1.1.1", marks=pytest.mark.slow)])
def test_a_sasl_ssl_listener_checks_passwords(version: str, own_clusters: ClusterFactory) -> None:
    cluster = own_clusters(version, security="SASL_SSL")
    assert cluster.username == "alice"
    assert cluster.sasl_mechanisms
    for mechanism in cluster.sasl_mechanisms:
        options = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.username": cluster.username,
            "ssl.ca.location": str(cluster.ca_file),
        }
        right = admin_of(cluster, **options, **{"sasl.password": str(cluster.password)})
        assert set(right.list_topics(timeout=CLIENT_SECONDS).brokers) == {1}
        wrong = {"bootstrap.servers": cluster.bootstrap_servers, "sasl.password": "wrong"}
        assert_refused(options | wrong, KafkaError._AUTHENTICATION)


@pytest.mark.slow
def test_a_tls_listener_has_the_clusters_certificate(own_clusters: ClusterFactory) -> None:
    cluster = own_clusters(security="SSL")
    assert cluster.username is cluster.password is None
    trusting = {"security.protocol": "SSL", "ssl.ca.location": str(cluster.ca_file)}
    assert admin_of(cluster, **trusting).list_topics(timeout=CLIENT_SECONDS).brokers
    untrusting = {"bootstrap.servers": cluster.bootstrap_servers, "security.protocol": "SSL"}
    assert_refused(untrusting, KafkaError._SSL)


def assert_refused(options: dict[str, str], code: int) -> None:
    """librdkafka retries after such an error, and reports it to its callback."""
    errors: list[KafkaError] = []
    config: dict[str, Any] = {**options, "error_cb": errors.append}
    admin = AdminClient(config)

    def is_reported() -> bool:
        admin.poll(0)
        return any(error.code() == code for error in errors)

    assert Deadline(CLIENT_SECONDS).wait_for(is_reported), errors


def test_a_broker_that_dies_at_its_start_is_reported_at_once() -> None:
    cluster = KafkaCluster(config={"metric.reporters": "no.such.Reporter"})
    with pytest.raises(
        BrokerStartError, match=r"Kafka 4\.4\.0: node 1 \(127\.0\.0\.1:\d+\)"
    ) as info:
        cluster.start()
    assert "ended with exit code 1. The end of its log:" in str(info.value)
    assert any("no.such.Reporter" in line for line in info.value.log_tail)
    assert len(info.value.log_tail) <= 20
    assert "stopped" in repr(cluster)


@pytest.mark.slow
def test_an_invalid_property_is_reported_at_once() -> None:
    with pytest.raises(BrokerStartError, match="Invalid value nonsense for configuration"):
        KafkaCluster(config={"process.roles": "nonsense"}).start()


@pytest.mark.slow
def test_a_broker_that_dies_later_is_reported_by_check() -> None:
    with KafkaCluster("0.8.2.2") as cluster:
        cluster.check()
        os.kill(cluster.brokers[0].pid or 0, signal.SIGKILL)
        with pytest.raises(BrokerStartError, match=r"node 1 .* was ended by SIGKILL"):
            Deadline(GONE_SECONDS).wait_for(partial(never, cluster.check))
        cluster.start_node(1)
        cluster.check()


def test_a_broker_that_starts_too_slowly_is_reported() -> None:
    with pytest.raises(BrokerStartError, match=r"was not ready after 0\.1 s|did not end within"):
        KafkaCluster(start_timeout=0.1).start()


@pytest.mark.slow
def test_zookeeper_is_idle_after_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that never closes a connection logs its end for ever; often, if probed all the time."""
    # The harness never probes so often; on a fast machine it may.
    monkeypatch.setattr(waiting, "_INTERVAL_SECONDS", 0)
    with KafkaCluster("0.10.2.2") as cluster:
        log = cluster.folder / "zookeeper" / "zookeeper.log"

        def is_idle() -> bool:
            before = log.stat()
            time.sleep(1)
            return log.stat().st_mtime_ns == before.st_mtime_ns

        assert Deadline(GONE_SECONDS).wait_for(is_idle)


@pytest.mark.slow
def test_another_port_is_used_if_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    take = HeldPorts.take
    with socket.create_server((HOST, 0)) as somebody:
        taken: list[int] = [somebody.getsockname()[1]]
        # Ports are drawn at random: this one would be drawn once in a thousand years.
        monkeypatch.setattr(HeldPorts, "take", lambda *args: taken.pop() if taken else take(*args))
        with KafkaCluster("0.10.2.2", on_progress=steps.append) as cluster:
            assert cluster.brokers[0].port != somebody.getsockname()[1]
    assert "another process uses a port: trying other ones" in steps


@pytest.mark.slow
def test_a_given_port_is_used_or_refused() -> None:
    ports = HeldPorts()
    port = ports.take()
    ports.close()
    with KafkaCluster("0.10.2.2", port=port) as cluster:
        assert cluster.bootstrap_servers == f"127.0.0.1:{port}"
        with pytest.raises(LocalBrokerError, match=f"port {port} of 127.0.0.1 cannot be used"):
            KafkaCluster("0.10.2.2", port=port).start()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "nodes"),
    # A broker that is alone is away as a whole: with ZooKeeper, and without it.
    [("0.10.2.2", 1), (NEWEST, 1), *((version, 3) for version in RELEASES)],
)
def test_every_release_starts_restarts_and_stops(version: str, nodes: int) -> None:
    release = RELEASES[version]
    with KafkaCluster(version, nodes) as cluster:
        for broker in cluster.brokers:
            address = (broker.host, broker.port)
            assert probe.answers_api_versions(address) == release.has_api_versions
            if release.lists_brokers_at_once:
                assert probe.registered_brokers(address) == set(range(1, nodes + 1))
        create = cluster.create_topic if version[0] in "012" else topic_creator(cluster)
        create("topic", 2, nodes)
        cluster.stop_node(1)
        cluster.start_node(1)
        cluster.kill(1)
        cluster.start_node(1)
        assert (cluster.log_dir(1) / "topic-0").is_dir()
        any_left = traces_of_cluster(cluster)
    assert not any_left()


def topic_creator(cluster: KafkaCluster) -> Any:
    return lambda *topic: create_topic(admin_of(cluster), *topic)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"version": "0.7"}, r"Kafka 0\.7 is not one of the releases"),
        ({"nodes": 0}, "at least one node, not 0"),
        ({"security": "TLS"}, "is supported with PLAINTEXT or SSL or .* here, not TLS"),
        ({"version": "0.9.0.1", "security": "SSL"}, "is supported with PLAINTEXT here, not SSL"),
    ],
    ids=["release", "nodes", "protocol", "protocol of a release"],
)
def test_impossible_arguments_are_refused_at_once(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(LocalBrokerError, match=sentence):
        KafkaCluster(**arguments)


def test_methods_of_a_stopped_cluster_raise() -> None:
    cluster = KafkaCluster()
    for ask in (
        lambda: cluster.bootstrap_servers,
        lambda: cluster.supervisor_pid,
        cluster.detach,
        lambda: cluster.kill(1),
    ):
        with pytest.raises(
            LocalBrokerError, match=r"<KafkaCluster 4.4.0 PLAINTEXT stopped> is not"
        ):
            ask()
    cluster.stop()
