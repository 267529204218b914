"""Faults of a batch read that need a real broker: idle connections, restarts, ACLs, quotas.

The read is planned, pickled and run in this process as Spark does it, so that tests can look at
what a worker keeps from task to task. The numbers are those of the list of faults.
"""

from __future__ import annotations

import logging
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kafka_protocol.client.broker import broker
from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.errors import BrokerError
from kafka_protocol.schema import Request
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.waiting import Deadline
from tests.fakes.batch_reading import Rows, plan
from tests.fakes.reading import write
from tests.integration.access import DESCRIBE, READ, allow, limit_rate
from tests.integration.clients import SOON_MS, connect, connected, soon
from tests.integration.topics import fill

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("workers_end")]


# --- Connections ---------------------------------------------------------------------------------


ESTABLISHED, CLOSE_WAIT = "01", "08"


def connections_to(port: int) -> list[str]:
    """The states of the connections to a local port, in the kernel's numbers."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [row[3] for row in rows if row[2].endswith(f":{port:04X}")]


@pytest.mark.slow
def test_fault_07_the_broker_closed_idle_connections(caplog: pytest.LogCaptureFixture) -> None:
    """A worker finds them closed at its next task, connects again, and logs nothing."""
    with KafkaCluster(config={"connections.max.idle.ms": "1000"}) as kafka:
        client = connect(kafka)
        create_topic(client, NewTopic("idle"), soon())
        rows = fill(client, "idle", 3)
        client.close()
        (task,) = plan([kafka.bootstrap_servers], subscribe="idle")
        with caplog.at_level(logging.INFO):
            assert task.rows() == rows
            assert Deadline(SOON_MS / 1_000).wait_for(partial(are_closed, kafka.brokers[0].port))
            assert task.rows() == rows
        assert not caplog.records


def are_closed(port: int) -> bool:
    """Whether the broker has closed its end of all connections to it."""
    states = connections_to(port)
    return CLOSE_WAIT in states and ESTABLISHED not in states


@pytest.mark.slow
def test_fault_19_the_leader_dies_five_times_under_a_task(three_brokers: KafkaCluster) -> None:
    """Killed and stopped in turn: each record is read once, in order."""
    kafka = three_brokers
    client = connect(kafka)
    create_topic(client, NewTopic("bounced", replication_factor=3), soon())
    rows = fill(client, "bounced", 300)
    partition = TopicPartition("bounced", 0)
    options: dict[str, Any] = {"kafkaConsumer.pollTimeoutMs": 60_000}
    (task,) = plan(
        [kafka.bootstrap_servers],
        subscribe="bounced",
        kafka_max_partition_fetch_bytes=1,
        kafka_retry_backoff_ms=50,
        **options,
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


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The API names of all requests that are sent from now on."""
    sent: list[str] = []
    send = Broker.send

    def spy(self: Broker, request: Request, *arguments: object) -> object:
        sent.append(type(request).api_name)
        return send(self, request, *arguments)  # type: ignore[arg-type]

    # A real broker does not tell what it was asked.
    monkeypatch.setattr(Broker, "send", spy)
    return sent


@pytest.mark.parametrize(
    ("allowed", "failing", "message"),
    [
        (None, "Metadata", r"topic 'no-entry-nothing'.*TOPIC_AUTHORIZATION_FAILED.*DESCRIBE"),
        (DESCRIBE, "Fetch", r"Fetch of no-entry-names-0 .*TOPIC_AUTHORIZATION_FAILED.*READ"),
    ],
    ids=["no rights", "DESCRIBE only"],
)
def test_fault_26_a_topic_that_may_not_be_read(
    guarded: KafkaCluster, requests: list[str], allowed: int | None, failing: str, message: str
) -> None:
    """The driver fails without DESCRIBE, else the task; the request is sent once."""
    topic = f"no-entry-{'names' if allowed else 'nothing'}"
    options: dict[str, Any] = {
        f"kafka.{name}": value for name, value in guarded.client_options.items()
    }
    with connected(guarded.client_options) as client:
        create_topic(client, NewTopic(topic), soon())
        fill(client, topic, 1)
        allow(client, topic, "somebody-else", READ)
        if allowed:
            allow(client, topic, str(guarded.username), allowed)
    requests.clear()
    with pytest.raises(BrokerError, match=message) as caught:
        (task,) = plan([guarded.bootstrap_servers], subscribe=topic, **options)
        task.rows()
    assert not caught.value.retriable
    assert requests.count(failing) == 1


@pytest.mark.slow
def test_fault_41_a_quota_delays_a_task_and_loses_nothing(
    guarded: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    values = [b"%d" % number * 10_000 for number in range(4)]
    with connected(guarded.client_options) as client:
        create_topic(client, NewTopic("limited"), soon())
        for value in values:
            write(client, value, topic_partition=TopicPartition("limited", 0))
        limit_rate(client, "limited-task", "consumer_byte_rate", 20_000)
    options: dict[str, Any] = {
        f"kafka.{name}": value for name, value in guarded.client_options.items()
    }
    options |= {"kafka.client.id": "limited-task", "kafka.max.partition.fetch.bytes": "1"}
    (task,) = plan([guarded.bootstrap_servers], subscribe="limited", **options)
    with caplog.at_level(logging.DEBUG, broker.__name__):
        assert task.rows() == [*enumerate(values)]
    assert any("throttles this client" in record.getMessage() for record in caplog.records)
