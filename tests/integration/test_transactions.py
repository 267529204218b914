"""Transactions on a real broker: librdkafka's, read by ours, and ours, read by librdkafka."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from kafka_protocol.arrow_io.topic import read_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.pool import close_shared_clusters, shared_cluster
from kafka_protocol.client.producer.end_transactions import end
from kafka_protocol.client.producer.producer import Producer as OurProducer
from kafka_protocol.client.producer.transaction_outcome import Views, was_committed
from kafka_protocol.client.producer.transactions import Transaction, TransactionFencedError, begin
from kafka_protocol.topic_partition import TopicPartition as OurPartition
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes.waiting import Deadline as Patience
from tests.fakes.log import batch_of
from tests.integration.clients import connect, soon
from tests.integration.conftest import MakeTopic
from tests.integration.stable import expect_all_stable, latest

pytestmark = pytest.mark.integration


class Transactions:
    """Writes to partition 0 of a topic with librdkafka, in transactions or without."""

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
            # A batch for each record, so that a transaction has several.
            assert producer.flush(30) == 0
        if end == "commit":
            producer.commit_transaction(30)
        elif end == "abort":
            producer.abort_transaction(30)
        return producer


def committed_values(servers: str, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "witness",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    with closing(consumer):
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        return [message.value() for message in consumer.consume(count, timeout=30)]


@pytest.mark.parametrize("fetch_bytes", ["100", "2000000"])
def test_fault_35_and_36_committed_aborted_and_open(
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
    transactions.write(id_of("c"), 0, end="abort")  # no record: perhaps not even a marker
    transactions.write(id_of("d"), 2, end="commit")
    expect_all_stable(kafka_cluster, topic, 30)
    still_open = transactions.write(id_of("e"), 2, end="leave open")
    transactions.write(id_of("f"), 3, end="commit")  # after the open one, so not stable yet

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
        values: list[bytes] = read_topic(topic, options).read_all()["value"].to_pylist()
        return values

    stable = values("a plain d", [3, 2, 2])
    assert read("read_committed") == stable
    assert read("read_uncommitted") == values("a b plain d e f", [3, 4, 2, 2, 2, 3])
    assert latest(kafka_cluster, topic, "read_committed") < latest(
        kafka_cluster, topic, "read_uncommitted"
    )
    still_open.abort_transaction(30)
    expect_all_stable(kafka_cluster, topic, 30)
    everything = stable + values("f", [3])
    assert read("read_committed") == everything
    assert committed_values(servers, topic, len(everything)) == everything


# --- Ours ----------------------------------------------------------------------------------------

TIME_OUT_SECONDS = 60


def values_of(name: str, count: int = 3) -> list[bytes]:
    return [f"{name}-{number}".encode() for number in range(count)]


class Ours:
    """Writes to a topic of one partition, in transactions of one id."""

    def __init__(self, kafka: KafkaCluster, topic: str, cluster: Cluster) -> None:
        self.topic = topic
        self.id = f"ours-{topic}"
        self._servers = kafka.bootstrap_servers
        self._cluster = cluster

    def begin(self) -> Transaction:
        return begin(self._cluster, self.id, soon())

    def write(self, transaction: Transaction, name: str) -> None:
        producer = OurProducer(self._cluster, transaction)
        for value in values_of(name):
            producer.add(OurPartition(self.topic, 0), batch_of(value))
        producer.flush()

    def end(self, transaction: Transaction, *, committed: bool) -> None:
        end(self._cluster, transaction, soon(), committed=committed)

    def commit(self, name: str) -> None:
        transaction = self.begin()
        self.write(transaction, name)
        self.end(transaction, committed=True)

    def are_seen(self, *names: str) -> bool:
        """Whether librdkafka reads exactly these, and then one more transaction."""
        self.commit("last")
        expected = [value for name in (*names, "last") for value in values_of(name)]
        return committed_values(self._servers, self.topic, len(expected)) == expected


@pytest.fixture
def ours(kafka_cluster: KafkaCluster, make_topic: MakeTopic, cluster: Cluster) -> Ours:
    return Ours(kafka_cluster, make_topic(), cluster)


def test_committed_records_are_read_and_aborted_ones_are_not(ours: Ours) -> None:
    for name, committed in (("a", True), ("b", False), ("c", True), ("d", False)):
        transaction = ours.begin()
        ours.write(transaction, name)
        for _ in range(2):  # as if the response had been lost
            ours.end(transaction, committed=committed)
    assert ours.are_seen("a", "c")


def test_a_committed_transaction_cannot_be_aborted(ours: Ours) -> None:
    transaction = ours.begin()
    ours.write(transaction, "a")
    ours.end(transaction, committed=True)
    with pytest.raises(TransactionFencedError, match="INVALID_TXN_STATE"):
        ours.end(transaction, committed=False)
    assert ours.are_seen("a")


def test_fault_47_the_next_begin_fences_and_aborts(ours: Ours) -> None:
    zombie = ours.begin()
    ours.write(zombie, "zombie")
    winner = ours.begin()
    attempts: list[Callable[[], None]] = [
        lambda: ours.write(zombie, "zombie again"),
        lambda: ours.end(zombie, committed=True),
        lambda: ours.end(zombie, committed=False),
    ]
    for attempt in attempts:
        with pytest.raises(TransactionFencedError, match=r"another attempt .*'ours-"):
            attempt()
    ours.write(winner, "winner")
    ours.end(winner, committed=True)
    assert ours.are_seen("winner")


@pytest.mark.slow
def test_fault_48_a_time_out(kafka_cluster: KafkaCluster, make_topic: MakeTopic) -> None:
    quick = connect(kafka_cluster, transaction_timeout_ms="1000")
    ours = Ours(kafka_cluster, make_topic(), quick)
    transaction = ours.begin()
    ours.write(transaction, "a")

    def is_aborted() -> bool:
        ends = [
            latest(kafka_cluster, ours.topic, level)
            for level in ("read_committed", "read_uncommitted")
        ]
        return ends[0] == ends[1]

    with closing(quick):
        assert Patience(TIME_OUT_SECONDS).wait_for(is_aborted)
        attempts: list[Callable[[], None]] = [
            lambda: ours.write(transaction, "b"),
            lambda: ours.end(transaction, committed=True),
        ]
        for attempt in attempts:
            with pytest.raises(
                TransactionFencedError,
                match=r"open for \d+\.\d s.*kafka\.transaction\.timeout\.ms is 1000",
            ) as caught:
                attempt()
            assert caught.value.may_have_timed_out
        assert ours.are_seen()


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "aborted"])
def test_the_outcome_of_a_transaction_after_the_next_began(
    cluster: Cluster, make_topic: MakeTopic, *, committed: bool
) -> None:
    topic = make_topic()
    partition = OurPartition(topic, 0)
    transaction = begin(cluster, f"{topic}-id", soon())
    producer = OurProducer(cluster, transaction)
    for value in (b"a", b"b"):
        producer.add(partition, batch_of(value))
    producer.flush()
    end(cluster, transaction, soon(), committed=committed)
    begin(cluster, f"{topic}-id", soon())
    with pytest.raises(TransactionFencedError):
        end(cluster, transaction, soon(), committed=committed)
    offset = producer.joined[partition]
    views = Views(
        *(
            shared_cluster(replace(cluster.config, isolation_level=level))
            for level in ("read_committed", "read_uncommitted")
        )
    )
    try:
        outcome = was_committed(views, transaction, partition, offset, soon())
    finally:
        close_shared_clusters()
    assert outcome is committed
