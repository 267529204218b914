"""Faults of a batch read that need a real broker: idle connections, restarts, ACLs, quotas.

The read is planned, pickled and run in this process as Spark does it, so that tests can look at
what a worker keeps from task to task. The numbers are those of the list of faults.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer as Librdkafka

from kafka_protocol.client.broker import broker
from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.cluster.admin import NewTopic, create_topic, delete_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.fetch import (
    Fetched,
    LogTruncatedError,
    fetch_range,
)
from kafka_protocol.errors import BrokerError, DataLossError
from kafka_protocol.records.record import decode_records
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_protocol.wire.schema import Request
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes.waiting import Deadline
from kafka_spark_source.tools.topics.topics import list_topics
from tests.fakes.batch_reading import Rows, Task, plan
from tests.fakes.reading import read, write
from tests.integration.access import DESCRIBE, READ, allow, limit_rate
from tests.integration.clients import SOON_MS, connect, connected, soon
from tests.integration.conftest import MakeTopic
from tests.integration.topics import delete_records, fill

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


# --- Data that is lost between plan and read, on a real broker: topics, records, transactions -----


# How long a topic may be unknown before it counts as deleted.
GONE_SOON = {"kafka_topic_metadata_propagation_max_ms": 500}
LOSSES = pytest.mark.parametrize("fail_on_data_loss", [True, False], ids=["fail", "go on"])


class Plan(NamedTuple):
    """A topic, and a driver that plans reads of it."""

    servers: str
    cluster: Cluster
    topic: str

    def tasks(self, start: int | None = None, **options: Any) -> list[Task]:
        if start is not None:
            options["startingOffsets"] = json.dumps({self.topic: {"0": start}})
        return plan([self.servers], subscribe=self.topic, **options)

    def fill(self, count: int, name: str = "") -> Rows:
        return fill(self.cluster, self.topic, count, name)

    def delete_topic(self) -> None:
        delete_topic(self.cluster, self.topic, soon())


@pytest.fixture
def planned(kafka_cluster: KafkaCluster, cluster: Cluster, make_topic: MakeTopic) -> Plan:
    return Plan(kafka_cluster.bootstrap_servers, cluster, make_topic())


# --- Deleted topics ------------------------------------------------------------------------------


@LOSSES
def test_fault_23_a_topic_is_deleted_between_plan_and_read(
    planned: Plan, caplog: pytest.LogCaptureFixture, fail_on_data_loss: bool
) -> None:
    topic = planned.topic
    planned.fill(3)
    options = GONE_SOON | {"kafka_default_api_timeout_ms": 2_000}
    (task,) = planned.tasks(failOnDataLoss=fail_on_data_loss, **options)
    planned.delete_topic()
    if fail_on_data_loss:
        with pytest.raises(DataLossError, match=rf"PARTITIONS_DELETED.*{topic}-0 .*offset 0"):
            task.rows()
    else:
        with caplog.at_level(logging.WARNING):
            assert task.rows() == []
        assert f"{topic}-0 is unknown to " in caplog.text


@LOSSES
def test_fault_24_a_topic_is_recreated_between_plan_and_read(
    planned: Plan, caplog: pytest.LogCaptureFixture, fail_on_data_loss: bool
) -> None:
    """Found at once by the topic id: the propagation time-out of 30 s does not pass."""
    topic = planned.topic
    planned.fill(3)
    (task,) = planned.tasks(
        failOnDataLoss=fail_on_data_loss, kafka_topic_metadata_propagation_max_ms=30_000
    )
    planned.delete_topic()
    create_topic(planned.cluster, NewTopic(topic), soon())
    planned.fill(5, "other ")
    if fail_on_data_loss:
        with pytest.raises(DataLossError, match=rf"PARTITIONS_DELETED.*{topic}-0.*re-created"):
            task.rows()
    else:
        with caplog.at_level(logging.WARNING):
            assert task.rows() == []
        assert "re-created" in caplog.text


# --- Deleted records -----------------------------------------------------------------------------


@pytest.mark.parametrize("before", [4, 6, 12], ids=["in a batch", "between two", "at the end"])
@LOSSES
def test_fault_27_records_expire_between_plan_and_read(
    planned: Plan, caplog: pytest.LogCaptureFixture, before: int, fail_on_data_loss: bool
) -> None:
    topic = planned.topic
    values = [b"%d" % number for number in range(12)]
    for first in range(0, 12, 3):
        write(planned.cluster, *values[first : first + 3], topic_partition=TopicPartition(topic, 0))
    (fixed,) = planned.tasks(0, failOnDataLoss=fail_on_data_loss)
    (late,) = planned.tasks(failOnDataLoss=fail_on_data_loss)
    delete_records(planned.cluster, topic, before)
    rest = [*enumerate(values)][before:]
    if fail_on_data_loss:
        lost = rf"COULD_NOT_READ_OFFSET_RANGE.*\[0, 12\).*{topic}-0: .*\[{before}, 12\)"
        with pytest.raises(DataLossError, match=lost):
            fixed.rows()
        with pytest.raises(DataLossError, match=lost):
            planned.tasks(0)
    else:
        with caplog.at_level(logging.WARNING):
            assert fixed.rows() == rest
        assert f"the log holds [{before}, 12). The read continues without them" in caplog.text
    # A read from the earliest offset lost nothing.
    assert late.rows() == rest


def test_fault_27_records_expire_under_a_task(
    planned: Plan, caplog: pytest.LogCaptureFixture
) -> None:
    """The read goes on at the new log start offset, and reads no record twice."""
    topic = planned.topic
    rows = planned.fill(12)
    (task,) = planned.tasks(failOnDataLoss=False, kafka_max_partition_fetch_bytes=1)
    batches = task.batches()
    found = next(batches)
    delete_records(planned.cluster, topic, 8)
    with caplog.at_level(logging.WARNING):
        for batch in batches:
            found += batch
    read_before = len(found) - 4
    assert read_before in (1, 2)  # one Fetch was in flight
    assert found == rows[:read_before] + rows[8:]
    assert f"[{read_before}, 12)" in caplog.text


# --- Transactions ------------------------------------------------------------------------


def test_fault_36_a_read_ends_before_an_open_transaction(planned: Plan) -> None:
    """It does not wait for the transaction, and reads no record after its first one."""
    topic = planned.topic
    rows = planned.fill(3)
    options = {"bootstrap.servers": planned.servers}
    producer = Librdkafka({**options, "transactional.id": f"open-{topic}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"3")
    assert producer.flush(30) == 0
    write(planned.cluster, b"4", topic_partition=TopicPartition(topic, 0))
    committed: dict[str, Any] = {"kafka_isolation_level": "read_committed"}
    (task,) = planned.tasks(**committed)
    assert task.rows() == rows
    (everything,) = planned.tasks()
    assert everything.rows() == [*rows, (3, b"3"), (4, b"4")]
    beyond = {"endingOffsets": json.dumps({topic: {"0": 5}})}
    with pytest.raises(DataLossError, match=rf"{topic}-0: the log holds \[0, 3\)"):
        planned.tasks(0, **committed, **beyond)
    (cut,) = planned.tasks(0, **committed, **beyond, failOnDataLoss=False)
    assert cut.rows() == rows
    producer.abort_transaction(30)
    # The task finds the end of the log; the broker writes the marker after its response.
    assert Deadline(SOON_MS / 1_000).wait_for(lambda: task.rows() == [*rows, (4, b"4")])


# --- A log that an unclean election truncates under a read, on real brokers -----------------------


def rest_of(range_: Iterator[Fetched]) -> list[bytes | None]:
    return [
        r.value for fetched in range_ for batch in fetched.batches for r in decode_records(batch)
    ]


@pytest.mark.slow
def test_fault_20_an_unclean_election_under_a_read() -> None:
    """A lagging replica is elected, and its log grows beyond the position of the read."""
    config = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
    with KafkaCluster(nodes=3, config=config) as kafka:
        client = connect(kafka)
        create_topic(client, NewTopic("cut", replication_factor=2), soon())
        partition = TopicPartition("cut", 0)
        first, lagging = _replicas(client, partition)
        write(client, b"a", b"b", b"c", topic_partition=partition)
        kafka.kill(lagging)
        write(client, b"lost 3", b"lost 4", topic_partition=partition)
        range_ = fetch_range(client, OffsetRange(partition, 0, 7), SOON_MS)
        found = [r.value for batch in next(range_).batches for r in decode_records(batch)]
        kafka.kill(first)
        kafka.start_node(lagging)
        other = connect(kafka)
        write(other, b"new 3", b"new 4", b"new 5", b"new 6", topic_partition=partition)
        with pytest.raises(LogTruncatedError, match="truncated to offset 3") as caught:
            found += rest_of(range_)
        assert found == [b"a", b"b", b"c", b"lost 3", b"lost 4"]
        assert (caught.value.offset, caught.value.truncated_to) == (5, 3)
        rest = read(other, caught.value.offset, 7, topic_partition=partition)
        assert rest == [(5, b"new 5"), (6, b"new 6")]
        client.close()
        other.close()


def _replicas(client: Cluster, partition: TopicPartition) -> tuple[int, int]:
    """The leader of a partition with two replicas, and the other one."""
    ((_, _, listed),) = list_topics(client, [partition.topic], soon())
    leader = client.leader(partition, soon())[0].node_id
    (other,) = set(listed[partition.partition].replicas) - {leader}
    return leader, other
