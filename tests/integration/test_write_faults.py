"""Faults under a write that only real brokers have: replicas away, limits, refusals, ACLs, quotas.

What a task does is run in this process. The numbers are those of the list of faults; the witness
that looks into the topics is librdkafka.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any, TypeAlias

import pyarrow as pa
import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as WitnessPartition

from kafka_protocol.client.broker import broker
from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.client.pool import close_shared_clusters
from kafka_protocol.client.producer.producer_id import tell_that_there_is_none
from kafka_protocol.errors import BrokerError
from kafka_protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP
from kafka_protocol.partitioners import DEFAULT
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.schema import SinkColumns
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.plugin import ClusterFactory
from kafka_spark_source.writing.delivery import AtLeastOnce, TaskAttempt
from kafka_spark_source.writing.row_writer import RowWriter
from tests.integration.conftest import SOON_MS, MakeTopic, connect
from tests.integration.test_read_faults import DESCRIBE, allow, soon
from tests.secret_check import guard

pytestmark = pytest.mark.integration

Consume: TypeAlias = Callable[[str, int, int], list[Any]]

COLUMNS = SinkColumns(value=0, key=1, topic=None, partition=None, headers=None, timestamp=2)
# As Kafka numbers operations and kinds of resources.
WRITE, IDEMPOTENT_WRITE = 4, 12
CLUSTER = 4


@pytest.fixture(autouse=True)
def _workers_end() -> Iterator[None]:
    yield
    close_shared_clusters()


def write(kafka: KafkaCluster, topic: str, batches: list[pa.RecordBatch], **options: str) -> int:
    """What a task does; returns how many records it says that it wrote."""
    named = {name.replace("_", "."): value for name, value in options.items()}
    config = ClientConfig.from_options(kafka.client_options | named)
    rows = RowWriter(COLUMNS, topic, DEFAULT, config)
    return AtLeastOnce(rows).write(batches, TaskAttempt(0, 0, None)).write.records


def rows(
    *values: bytes, keys: list[bytes | None] | None = None, time: datetime | None = None
) -> list[pa.RecordBatch]:
    columns = {
        "value": pa.array(values, pa.binary()),
        "key": pa.array(keys or [None] * len(values), pa.binary()),
        "timestamp": pa.array([time] * len(values), pa.timestamp("us", "UTC")),
    }
    return [pa.record_batch(columns)]


def values_of(messages: list[Any]) -> list[bytes | None]:
    return [message.value() for message in messages]


# --- Replicas ------------------------------------------------------------------------------------


def test_fault_43_too_few_replicas_until_one_is_back() -> None:
    """Fails within delivery.timeout.ms, and goes on where the replica comes back in that time."""
    with KafkaCluster(nodes=3) as kafka:
        client = connect(kafka)
        create_topic(
            client,
            NewTopic("safe", replication_factor=3, configs={"min.insync.replicas": "3"}),
            soon(),
        )
        client.close()
        kafka.stop_node(3)
        quick = {"request_timeout_ms": "500", "delivery_timeout_ms": "1500"}
        with pytest.raises(BrokerError, match=r"Produce to safe-0 .*min\.insync\.replicas"):
            write(kafka, "safe", rows(b"never"), **quick)
        assert ends_of(kafka, "safe") == [0]
        with starting(kafka, 3):
            assert write(kafka, "safe", rows(b"a", b"b")) == 2
        assert ends_of(kafka, "safe") == [2]


@contextmanager
def starting(kafka: KafkaCluster, node_id: int) -> Iterator[None]:
    """A broker comes up meanwhile."""
    thread = threading.Thread(target=kafka.start_node, args=(node_id,))
    thread.start()
    try:
        yield
    finally:
        thread.join()


def ends_of(kafka: KafkaCluster, topic: str) -> list[int]:
    """How many records librdkafka sees in each partition."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "witness"})
    try:
        partitions = consumer.list_topics(topic, SOON_MS / 1000).topics[topic].partitions
        places = (WitnessPartition(topic, number) for number in sorted(partitions))
        return [consumer.get_watermark_offsets(place, SOON_MS / 1000)[1] for place in places]
    finally:
        consumer.close()


# --- Limits, and what brokers do not take --------------------------------------------------------


def test_fault_44_batches_too_large_for_the_topic_are_split(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic, consume: Consume
) -> None:
    topic = make_topic(max_message_bytes="1000")
    values = [b"%d" % number * 50 for number in range(200)]
    assert write(kafka_cluster, topic, rows(*values)) == 200
    assert values_of(consume(topic, 0, 200)) == values
    assert ends_of(kafka_cluster, topic) == [200]


def test_fault_44_a_record_too_large_for_the_topic_is_told_with_its_size(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic
) -> None:
    """Nothing behind it is written; the worker's next task is free of it."""
    topic = make_topic(max_message_bytes="1000")
    with pytest.raises(BrokerError, match=r"-0 .*of one record of 5,\d\d\d bytes") as caught:
        write(kafka_cluster, topic, rows(b"before", b"x" * 5_000, b"behind"))
    assert not caught.value.retriable
    assert ends_of(kafka_cluster, topic) == [1]
    assert write(kafka_cluster, topic, rows(b"again")) == 1
    assert ends_of(kafka_cluster, topic) == [2]


LONG_AGO = datetime(2001, 1, 1, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("config", "batches", "words"),
    [
        (
            {"cleanup_policy": "compact"},
            rows(b"a", b"b", b"c", keys=[b"k", None, b"k"]),
            r"record 1 of the batch: Compacted topic cannot accept message without key",
        ),
        (
            {"message_timestamp_before_max_ms": "60000"},
            rows(b"a", time=LONG_AGO),
            r"record 0 of the batch: Timestamp 978307200000 of message .* is out of range",
        ),
    ],
    ids=["without a key", "too old"],
)
def test_fault_46_a_refused_record_is_told_with_its_index_and_the_brokers_words(
    kafka_cluster: KafkaCluster,
    make_topic: MakeTopic,
    config: dict[str, str],
    batches: list[pa.RecordBatch],
    words: str,
) -> None:
    topic = make_topic(**config)
    with pytest.raises(BrokerError, match=words) as caught:
        write(kafka_cluster, topic, batches)
    assert not caught.value.retriable
    assert ends_of(kafka_cluster, topic) == [0]


def test_a_topic_that_is_not_there_is_told_and_not_created(
    kafka_cluster: KafkaCluster, cluster: Cluster
) -> None:
    with pytest.raises(BrokerError, match=r"topic 'never-made': .*UNKNOWN_TOPIC.* that the topic"):
        write(kafka_cluster, "never-made", rows(b"a"), max_block_ms="500")
    assert cluster.topics(["never-made"], soon())["never-made"].error_code


# --- Access, quotas ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        (None, r"topic 'no-way-in-at-all'.*TOPIC_AUTHORIZATION_FAILED.*DESCRIBE"),
        (DESCRIBE, r"Produce to no-way-in-0 .*TOPIC_AUTHORIZATION_FAILED.*WRITE"),
    ],
    ids=["nothing", "names"],
)
def test_fault_26_a_topic_that_may_not_be_written(
    guarded: KafkaCluster, allowed: int | None, message: str
) -> None:
    topic = "no-way-in" if allowed else "no-way-in-at-all"
    with told(guarded) as client:
        create_topic(client, NewTopic(topic), soon())
        allow(client, topic, "somebody-else", WRITE)
        if allowed:
            allow(client, topic, str(guarded.username), allowed)
    with pytest.raises(BrokerError, match=message) as caught:
        write(guarded, topic, rows(b"a"))
    assert not caught.value.retriable


def test_fault_26_below_2_8_idempotence_is_a_right_of_its_own(
    kafka_cluster_factory: ClusterFactory,
) -> None:
    kafka = kafka_cluster_factory(
        "1.1.1",
        security="SASL_PLAINTEXT",
        config={
            "authorizer.class.name": "kafka.security.auth.SimpleAclAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
            "super.users": "User:ANONYMOUS",  # the broker to itself
        },
    )
    guard(kafka.password)
    with told(kafka) as client:
        create_topic(client, NewTopic("plain"), soon())
        allow(client, "kafka-cluster", "somebody-else", IDEMPOTENT_WRITE, CLUSTER)
    with pytest.raises(BrokerError, match=r"CLUSTER_AUTHORIZATION_FAILED.*IDEMPOTENT_WRITE"):
        write(kafka, "plain", rows(b"a"))
    assert write(kafka, "plain", rows(b"a"), enable_idempotence="false") == 1


@contextmanager
def told(kafka: KafkaCluster) -> Iterator[Cluster]:
    client = Cluster(ClientConfig.from_options(kafka.client_options))
    try:
        yield client
    finally:
        client.close()


def test_fault_41_a_quota_makes_a_write_slower_and_leaves_nothing_out(
    guarded: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    with told(guarded) as client:
        create_topic(client, NewTopic("slowed"), soon())
        limit(client, "slowed-writer")
        values = rows(*[b"x" * 10_000] * 4)
        options = {"client_id": "slowed-writer", "batch_size": "10000"}
        with caplog.at_level(logging.DEBUG, broker.__name__):
            assert write(guarded, "slowed", values, **options) == 4
        assert any("throttles this client" in record.getMessage() for record in caplog.records)
        end = {TopicPartition("slowed", 0): LATEST_TIMESTAMP}
        assert [*list_offsets(client, end, soon()).values()] == [4]


# Rates over one second, as `guarded` measures them: the second record is too much.
BYTES_PER_SECOND = 20_000.0


def limit(cluster: Cluster, client_id: str) -> None:
    Entry = AlterClientQuotasRequest.EntryData
    entry = Entry(
        entity=[Entry.EntityData(entity_type="client-id", entity_name=client_id)],
        ops=[Entry.OpData(key="producer_byte_rate", value=BYTES_PER_SECOND)],
    )
    request = AlterClientQuotasRequest(entries=[entry])
    controller = cluster.controller(AlterClientQuotasRequest, soon())
    answer = controller.request(request, AlterClientQuotasResponse, soon())
    assert [entry.error_code for entry in answer.entries] == [0]


# --- Old brokers ---------------------------------------------------------------------------------


def test_an_old_broker_is_written_to_and_one_line_says_what_it_cannot(
    kafka_cluster_factory: ClusterFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """Before 0.11 nobody can tell a batch that comes twice from two of them."""
    kafka = kafka_cluster_factory("0.10.2.2")
    kafka.create_topic("old", partitions=3)
    tell_that_there_is_none.cache_clear()  # other tests write to this broker
    values = [b"%d" % number for number in range(1_000)]
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            assert write(kafka, "old", rows(*values), batch_size="1000") == 1_000
    assert sum(ends_of(kafka, "old")) == 2_000
    (line,) = [record.getMessage() for record in caplog.records]
    assert "older than Kafka 0.11" in line
    assert "twice" in line
