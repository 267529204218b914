"""Transactions that another client wrote, on a real broker: committed, aborted, open."""

from __future__ import annotations

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.offsets import list_offsets
from kafka_protocol.columnar.topic import read_topic
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP
from kafka_protocol.topic_partition import TopicPartition as OurPartition
from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import SOON_MS, MakeTopic, connect

pytestmark = pytest.mark.integration


class Transactions:
    """Writes to partition 0 of a topic, in one transaction after another, or in none."""

    def __init__(self, servers: str, topic: str) -> None:
        self._servers = servers
        self._topic = topic

    def write(self, name: str, count: int, *, end: str | None) -> Producer:
        options = {"bootstrap.servers": self._servers, "linger.ms": 0}
        producer = Producer(options | ({"transactional.id": name} if end else {}))
        if end:
            producer.init_transactions(30)
            producer.begin_transaction()
        for i in range(count):
            producer.produce(self._topic, f"{name}-{i}".encode(), partition=0)
            # A batch for each record, so that transactions lie in many of them.
            assert producer.flush(30) == 0
        if end == "commit":
            producer.commit_transaction(30)
        elif end == "abort":
            producer.abort_transaction(30)
        return producer


def witness(servers: str, topic: str, count: int) -> list[bytes]:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "witness",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        return [message.value() for message in consumer.consume(count, timeout=30)]
    finally:
        consumer.close()


@pytest.mark.parametrize("fetch_bytes", ["100", "2000000"])
def test_fault_35_and_36_what_is_committed_and_what_is_not(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic, fetch_bytes: str
) -> None:
    topic = make_topic()
    servers = kafka_cluster.bootstrap_servers
    # Transactional ids are the cluster's, so each topic has its own.
    id_of = f"{topic}-{{}}".format
    transactions = Transactions(servers, topic)
    transactions.write(id_of("a"), 3, end="commit")
    transactions.write(id_of("b"), 4, end="abort")
    transactions.write(id_of("plain"), 2, end=None)
    transactions.write(id_of("c"), 0, end="abort")  # a marker without data, or not even that
    transactions.write(id_of("d"), 2, end="commit")
    still_open = transactions.write(id_of("e"), 2, end="leave open")
    transactions.write(id_of("f"), 3, end="commit")  # behind the open one, so not stable yet

    def values(names: str, counts: list[int]) -> list[bytes]:
        return [
            f"{id_of(name)}-{i}".encode()
            for name, count in zip(names.split(), counts, strict=True)
            for i in range(count)
        ]

    def read(isolation_level: str) -> list[bytes]:
        options = {
            "bootstrap.servers": servers,
            "isolation.level": isolation_level,
            "max.partition.fetch.bytes": fetch_bytes,
        }
        return read_topic(topic, options).read_all()["value"].to_pylist()

    stable = values("a plain d", [3, 2, 2])
    assert read("read_committed") == stable
    assert read("read_uncommitted") == values("a b plain d e f", [3, 4, 2, 2, 2, 3])
    assert latest(kafka_cluster, topic, "read_committed") < latest(
        kafka_cluster, topic, "read_uncommitted"
    )
    still_open.abort_transaction(30)
    everything = stable + values("f", [3])
    assert read("read_committed") == everything
    assert witness(servers, topic, len(everything)) == everything


def latest(kafka: KafkaCluster, topic: str, isolation_level: str) -> int:
    cluster = connect(kafka, isolation_level=isolation_level)
    partition = OurPartition(topic, 0)
    try:
        positions = {partition: LATEST_TIMESTAMP}
        return list_offsets(cluster, positions, Deadline.after(SOON_MS))[partition]
    finally:
        cluster.close()
