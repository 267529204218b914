"""Faults under a batch read that only real brokers have: idle ends, restarts, ACLs, quotas.

The read is planned, pickled and run as Spark does it, in this process, so that what a worker keeps
from task to task can be looked at. The numbers are those of the list of faults.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_protocol.client.broker import broker
from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import close_shared_clusters
from kafka_protocol.errors import BrokerConnectionError, BrokerError
from kafka_protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from kafka_protocol.schema import Request
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.fakes.batch_reading import Rows, plan
from tests.fakes.reading import write
from tests.integration.conftest import SOON_MS, MakeTopic, connect
from tests.integration.test_quota import limit

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def _workers_end() -> Iterator[None]:
    yield
    close_shared_clusters()


def soon() -> Deadline:
    return Deadline.after(SOON_MS)


def fill(cluster: Cluster, topic: str, count: int, name: str = "") -> Rows:
    """One batch for each record; returns what is to be read if the log was empty."""
    values = [f"{name}{number}".encode() for number in range(count)]
    for value in values:
        write(cluster, value, topic_partition=TopicPartition(topic, 0))
    return [*enumerate(values)]


# --- Connections ---------------------------------------------------------------------------------


def test_fault_03_tls_to_a_port_that_speaks_none(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic
) -> None:
    """It just closes, as a broker does that stops; so it is tried again for a while."""
    server = kafka_cluster.bootstrap_servers
    with pytest.raises(
        BrokerConnectionError,
        match=rf"{server} closed the connection in the TLS handshake; does this listener speak TLS",
    ):
        plan([server], subscribe=make_topic(), kafka_security_protocol="SSL")


ESTABLISHED, CLOSE_WAIT = "01", "08"


def connections_to(port: int) -> list[str]:
    """The states of the connections to a port of this machine, as the kernel numbers them."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [row[3] for row in rows if row[2].endswith(f":{port:04X}")]


def test_fault_07_connections_that_the_broker_closed_for_being_idle(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A worker that waited for its next task finds them dead, and nobody is told."""
    with KafkaCluster(config={"connections.max.idle.ms": "1000"}) as kafka:
        client = connect(kafka)
        create_topic(client, NewTopic("idle"), soon())
        rows = fill(client, "idle", 3)
        client.close()
        (task,) = plan([kafka.bootstrap_servers], subscribe="idle")
        with caplog.at_level(logging.INFO):
            assert task.rows() == rows
            deadline = soon()
            # Both ends were open until the broker closed its own, of each connection.
            states = connections_to(kafka.brokers[0].port)
            while CLOSE_WAIT not in states or ESTABLISHED in states:
                assert not deadline.has_passed, "the broker never closed a kept connection"
                time.sleep(0.05)
                states = connections_to(kafka.brokers[0].port)
            assert task.rows() == rows
        assert not caplog.records


@pytest.mark.slow
def test_fault_19_the_leader_dies_and_returns_five_times_under_a_task() -> None:
    """Killed or stopped, in turn: each record comes once, in order."""
    config = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "300"}
    with KafkaCluster(nodes=3, config=config) as kafka:
        client = connect(kafka)
        create_topic(client, NewTopic("bounced", replication_factor=3), soon())
        rows = fill(client, "bounced", 300)
        partition = TopicPartition("bounced", 0)
        (task,) = plan(
            [kafka.bootstrap_servers],
            subscribe="bounced",
            kafka_max_partition_fetch_bytes=1,
            kafka_retry_backoff_ms=50,
            **{"kafkaConsumer.pollTimeoutMs": 60_000},
        )
        found: Rows = []
        ends = [kafka.kill, kafka.stop_node, kafka.kill, kafka.stop_node, kafka.kill]
        restart = threading.Thread()
        for batch in task.batches():
            found += batch
            if ends and len(found) % 50 == 0:
                if restart.ident is not None:
                    restart.join(timeout=60)
                client.forget(partition.topic)
                leader = client.leader(partition, soon())[0].node_id
                ends.pop()(leader)
                restart = threading.Thread(target=kafka.start_node, args=(leader,))
                restart.start()
        restart.join(timeout=60)
        client.close()
        assert not ends
        assert found == rows


# --- Access, quotas ------------------------------------------------------------------------------

READ, DESCRIBE = 3, 8
TOPIC, LITERAL, ALLOW = 2, 3, 3


def allow(cluster: Cluster, name: str, user: str, operation: int, kind: int = TOPIC) -> None:
    """From then on only those that a rule allows may."""
    rule = CreateAclsRequest.AclCreation(
        resource_type=kind,
        resource_name=name,
        resource_pattern_type=LITERAL,
        principal=f"User:{user}",
        host="*",
        operation=operation,
        permission_type=ALLOW,
    )
    controller = cluster.controller(CreateAclsRequest, soon())
    answer = controller.request(CreateAclsRequest(creations=[rule]), CreateAclsResponse, soon())
    assert [result.error_code for result in answer.results] == [0], answer


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all requests that are sent from then on."""
    sent: list[str] = []
    send = Broker.send

    def spy(self: Broker, request: Request, *arguments: object) -> object:
        sent.append(type(request).api_name)
        return send(self, request, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Broker, "send", spy)
    return sent


@pytest.mark.parametrize(
    ("allowed", "asked", "message"),
    [
        (None, "Metadata", r"topic 'no-entry-nothing'.*TOPIC_AUTHORIZATION_FAILED.*DESCRIBE"),
        (DESCRIBE, "Fetch", r"Fetch of no-entry-names-0 .*TOPIC_AUTHORIZATION_FAILED.*READ"),
    ],
    ids=["nothing", "names"],
)
def test_fault_26_a_topic_that_may_not_be_read(
    guarded: KafkaCluster, requests: list[str], allowed: int | None, asked: str, message: str
) -> None:
    """Told by the driver where not even its names may be seen, else by the task; asked once."""
    topic = f"no-entry-{'names' if allowed else 'nothing'}"
    options = {f"kafka.{name}": value for name, value in guarded.client_options.items()}
    client = Cluster(ClientConfig.from_options(guarded.client_options))
    try:
        create_topic(client, NewTopic(topic), soon())
        fill(client, topic, 1)
        allow(client, topic, "somebody-else", READ)
        if allowed:
            allow(client, topic, str(guarded.username), allowed)
    finally:
        client.close()
    requests.clear()
    with pytest.raises(BrokerError, match=message) as caught:
        (task,) = plan([guarded.bootstrap_servers], subscribe=topic, **options)
        task.rows()
    assert not caught.value.retriable
    assert requests.count(asked) == 1


def test_fault_41_a_quota_makes_a_task_slower_and_leaves_nothing_out(
    guarded: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    values = [b"%d" % number * 10_000 for number in range(4)]
    client = Cluster(ClientConfig.from_options(guarded.client_options))
    try:
        create_topic(client, NewTopic("limited"), soon())
        for value in values:
            write(client, value, topic_partition=TopicPartition("limited", 0))
        limit(client, "limited-task")
    finally:
        client.close()
    options = {f"kafka.{name}": value for name, value in guarded.client_options.items()}
    options |= {"kafka.client.id": "limited-task", "kafka.max.partition.fetch.bytes": "1"}
    (task,) = plan([guarded.bootstrap_servers], subscribe="limited", **options)
    with caplog.at_level(logging.DEBUG, broker.__name__):
        assert task.rows() == [*enumerate(values)]
    assert any("throttles this client" in record.getMessage() for record in caplog.records)
