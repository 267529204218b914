"""Real brokers: they start, serve, break as asked, and are gone afterwards.

confluent-kafka is the client here: what this repository implements must not vouch for itself.
"""

import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_spark_source.testing import (
    RELEASES,
    BrokerStartError,
    KafkaCluster,
    LocalBrokerError,
    probe,
)
from kafka_spark_source.testing.identity import ProcessIdentity
from kafka_spark_source.testing.plugin import ClusterFactory
from kafka_spark_source.testing.ports import HOST, HeldPorts
from kafka_spark_source.testing.waiting import Deadline

pytestmark = pytest.mark.integration

GONE_SECONDS = 20.0
CLIENT_SECONDS = 30.0


def admin_of(cluster: KafkaCluster, **more: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers, **more})


def create_topic(admin: AdminClient, topic: str, partitions: int = 1, replicas: int = 1) -> None:
    admin.create_topics([NewTopic(topic, partitions, replicas)])[topic].result(CLIENT_SECONDS)


def produce(cluster: KafkaCluster, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(CLIENT_SECONDS) == 0


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


def traces_of(cluster: KafkaCluster) -> Callable[[], bool]:
    """Asks later whether anything of the cluster is left."""
    pids = [cluster.supervisor_pid, *(broker.pid for broker in cluster.brokers if broker.pid)]
    processes = [ProcessIdentity.of(pid) for pid in pids]
    folder = cluster.folder.parent
    return lambda: folder.exists() or any(process.is_alive for process in processes)


def never(check: Callable[[], None]) -> bool:
    check()
    return False


def test_records_go_in_and_come_out(kafka_cluster: KafkaCluster) -> None:
    create_topic(admin_of(kafka_cluster), "lifecycle")
    produce(kafka_cluster, "lifecycle", [b"one", b"two"])
    assert read(kafka_cluster, "lifecycle", 2) == [b"one", b"two"]
    assert list((kafka_cluster.log_dir(1) / "lifecycle-0").glob("*.log"))
    (broker,) = kafka_cluster.brokers
    assert kafka_cluster.bootstrap_servers == f"{broker.host}:{broker.port}"
    assert "INFO" in broker.log_file.read_text()


def test_the_factory_gives_the_same_cluster(
    kafka_cluster: KafkaCluster, kafka_cluster_factory: ClusterFactory
) -> None:
    assert kafka_cluster_factory(nodes=1) is kafka_cluster


def test_nobody_listens_beyond_loopback(kafka_cluster: KafkaCluster) -> None:
    text = (kafka_cluster.folder / "1" / "server.properties").read_text()
    listeners = next(line for line in text.splitlines() if line.startswith("listeners="))
    assert listeners.count("://") == listeners.count("://127.0.0.1:") == 3


def test_topics_are_created_with_a_client_where_there_is_no_zookeeper(
    kafka_cluster: KafkaCluster,
) -> None:
    with pytest.raises(LocalBrokerError, match="create topics with a Kafka client"):
        kafka_cluster.create_topic("topic")


def test_one_of_three_nodes_is_killed_paused_and_comes_back() -> None:
    with KafkaCluster(nodes=3) as cluster:
        admin = admin_of(cluster)
        assert set(admin.list_topics(timeout=CLIENT_SECONDS).brokers) == {1, 2, 3}
        create_topic(admin, "replicated", replicas=3)
        produce(cluster, "replicated", [b"kept"])
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
        any_left = traces_of(cluster)
    assert not any_left()


def test_a_node_that_is_stopped_keeps_its_data() -> None:
    with KafkaCluster() as cluster:
        create_topic(admin_of(cluster), "kept")
        produce(cluster, "kept", [b"value"])
        cluster.stop_node(1)
        with pytest.raises(LocalBrokerError, match="has no node 2"):
            cluster.start_node(2)
        cluster.start_node(1)
        with pytest.raises(LocalBrokerError, match="node 1 runs already"):
            cluster.start_node(1)
        assert read(cluster, "kept", 1) == [b"value"]


@pytest.mark.parametrize("version", ["4.3.1", pytest.param("1.1.1", marks=pytest.mark.slow)])
def test_clients_of_a_sasl_ssl_listener_prove_who_they_are(
    version: str, kafka_cluster_factory: ClusterFactory
) -> None:
    cluster = kafka_cluster_factory(version, security="SASL_SSL")
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
        assert_refused(admin_of(cluster, **options, **{"sasl.password": "wrong"}))


def test_clients_of_a_tls_listener_trust_the_clusters_authority(
    kafka_cluster_factory: ClusterFactory,
) -> None:
    cluster = kafka_cluster_factory(security="SSL")
    assert cluster.username is cluster.password is None
    trusting = {"security.protocol": "SSL", "ssl.ca.location": str(cluster.ca_file)}
    assert admin_of(cluster, **trusting).list_topics(timeout=CLIENT_SECONDS).brokers
    assert_refused(admin_of(cluster, **{"security.protocol": "SSL"}))


def assert_refused(admin: AdminClient) -> None:
    # librdkafka tries again until the time is over.
    with pytest.raises(Exception, match=r"_TRANSPORT|_AUTHENTICATION|_ALL_BROKERS_DOWN"):
        admin.list_topics(timeout=2)


def test_an_advertised_listener_can_lead_nowhere() -> None:
    config = {"advertised.listeners": "PLAINTEXT://192.0.2.1:9"}
    with KafkaCluster(config=config) as cluster:
        (broker,) = admin_of(cluster).list_topics(timeout=CLIENT_SECONDS).brokers.values()
        assert f"{broker.host}:{broker.port}" == "192.0.2.1:9"


def test_a_broker_that_dies_at_its_start_is_reported_at_once() -> None:
    cluster = KafkaCluster(config={"metric.reporters": "no.such.Reporter"})
    with pytest.raises(
        BrokerStartError, match=r"Kafka 4\.3\.1: node 1 \(127\.0\.0\.1:\d+\)"
    ) as info:
        cluster.start()
    assert "ended with exit code 1. The end of its log:" in str(info.value)
    assert any("no.such.Reporter" in line for line in info.value.log_tail)
    assert len(info.value.log_tail) <= 20
    assert "stopped" in repr(cluster)


def test_a_property_that_kafka_does_not_take_is_reported_at_once() -> None:
    with pytest.raises(BrokerStartError, match="Invalid value nonsense for configuration"):
        KafkaCluster(config={"process.roles": "nonsense"}).start()


def test_a_broker_that_dies_later_is_reported_when_asked() -> None:
    with KafkaCluster("0.8.2.2") as cluster:
        cluster.check()
        os.kill(cluster.brokers[0].pid or 0, signal.SIGKILL)
        with pytest.raises(BrokerStartError, match=r"node 1 .* was ended by SIGKILL"):
            Deadline(GONE_SECONDS).wait_for(partial(never, cluster.check))
        cluster.start_node(1)
        cluster.check()


def test_a_broker_that_is_not_ready_in_time_is_reported_with_its_log() -> None:
    with pytest.raises(BrokerStartError, match=r"was not ready after 1\.5 s|did not end within"):
        KafkaCluster(start_timeout=1.5).start()


def test_a_port_that_somebody_else_takes_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    take = HeldPorts.take
    with socket.create_server((HOST, 0)) as somebody:
        taken: list[int] = [somebody.getsockname()[1]]
        monkeypatch.setattr(HeldPorts, "take", lambda *args: taken.pop() if taken else take(*args))
        with KafkaCluster("0.10.2.2", on_progress=told.append) as cluster:
            assert cluster.brokers[0].port != somebody.getsockname()[1]
    assert "a port was taken by another process: trying other ones" in told


def test_a_port_that_was_asked_for_is_used_or_refused() -> None:
    ports = HeldPorts()
    port = ports.take()
    ports.close()
    with KafkaCluster("0.10.2.2", port=port) as cluster:
        assert cluster.bootstrap_servers == f"127.0.0.1:{port}"
        with pytest.raises(LocalBrokerError, match=f"port {port} of 127.0.0.1 cannot be had"):
            KafkaCluster("0.10.2.2", port=port).start()


# Starts a cluster, tells about it, and does what the test says.
PARENT = """
    import os, sys, time
    from kafka_spark_source.testing import KafkaCluster
    with KafkaCluster() as cluster:
        print(cluster.supervisor_pid, cluster.brokers[0].pid, cluster.folder.parent, flush=True)
        time.sleep(600)
"""


@pytest.mark.parametrize(
    "number",
    [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGINT],
)
def test_a_cluster_does_not_outlive_its_parent(number: signal.Signals, tmp_path: Path) -> None:
    with (
        (tmp_path / "stderr").open("w") as stderr,
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(PARENT)], stdout=subprocess.PIPE, stderr=stderr
        ) as parent,
    ):
        assert parent.stdout is not None
        supervisor, java, folder = parent.stdout.readline().decode().split()
        processes = [ProcessIdentity.of(int(supervisor)), ProcessIdentity.of(int(java))]
        parent.send_signal(number)
        assert Deadline(GONE_SECONDS).wait_for(
            lambda: not Path(folder).exists() and not any(each.is_alive for each in processes)
        )
        parent.kill()


ZOOKEEPER_ALWAYS = "0.10.2.2"


@pytest.mark.parametrize(
    "version",
    [
        pytest.param(each, marks=() if each == ZOOKEEPER_ALWAYS else pytest.mark.slow)
        for each in RELEASES
    ],
)
@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.slow)])
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
        any_left = traces_of(cluster)
    assert not any_left()


def topic_creator(cluster: KafkaCluster) -> Any:
    return lambda *topic: create_topic(admin_of(cluster), *topic)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"version": "0.7"}, r"Kafka 0\.7 is none of the releases"),
        ({"nodes": 0}, "at least one node, not 0"),
        ({"security": "TLS"}, "is started with PLAINTEXT or SSL or .* here, not TLS"),
        ({"version": "0.9.0.1", "security": "SSL"}, "is started with PLAINTEXT here, not SSL"),
    ],
)
def test_what_cannot_be_had_is_refused_before_anything_starts(
    arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(LocalBrokerError, match=sentence):
        KafkaCluster(**arguments)


def test_a_cluster_that_does_not_run_says_so() -> None:
    cluster = KafkaCluster()
    for ask in (
        lambda: cluster.bootstrap_servers,
        lambda: cluster.supervisor_pid,
        cluster.detach,
        lambda: cluster.kill(1),
    ):
        with pytest.raises(
            LocalBrokerError, match=r"<KafkaCluster 4.3.1 PLAINTEXT stopped> is not"
        ):
            ask()
    cluster.stop()
