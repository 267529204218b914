"""Faults of a write that need a real broker: missing replicas, limits, refusals, ACLs, quotas.

The code of a task runs in this process. librdkafka reads the result. The numbers are those of the
list of faults.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as WitnessPartition

from kafka_protocol.arrow_io.row_writer import RowWriter
from kafka_protocol.client.broker import broker
from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.client.producer.producer_id import warn_of_missing_ids
from kafka_protocol.columnar.writing.sink_columns import SinkColumns
from kafka_protocol.errors import BrokerError
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP
from kafka_protocol.options.partitioners import DEFAULT
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.plugin import ClusterFactory
from kafka_spark_source.writing.delivery import AtLeastOnce, TaskAttempt
from tests.integration.access import CLUSTER, DESCRIBE, IDEMPOTENT_WRITE, WRITE, allow, limit_rate
from tests.integration.clients import SOON_MS, connect, connected, soon
from tests.integration.conftest import Consume, MakeTopic
from tests.secret_check import guard

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("workers_end")]

COLUMNS = SinkColumns(value=0, key=1, topic=None, partition=None, headers=None, timestamp=2)


def write(kafka: KafkaCluster, topic: str, batches: list[pa.RecordBatch], **options: str) -> int:
    """Run a task; return how many records it reports as written."""
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


@pytest.mark.slow
def test_fault_43_too_few_replicas_until_one_is_back(three_brokers: KafkaCluster) -> None:
    """Fails after delivery.timeout.ms, and succeeds if the replica is back within that time."""
    kafka = three_brokers
    client = connect(kafka)
    create_topic(
        client, NewTopic("safe", replication_factor=3, configs={"min.insync.replicas": "3"}), soon()
    )
    client.close()
    kafka.stop_node(3)
    quick = {"request_timeout_ms": "500", "delivery_timeout_ms": "1500"}
    with pytest.raises(BrokerError, match=r"Produce to safe-0 .*min\.insync\.replicas"):
        write(kafka, "safe", rows(b"never"), **quick)
    assert log_end_offsets(kafka, "safe") == [0]
    with starting(kafka, 3):
        assert write(kafka, "safe", rows(b"a", b"b")) == 2
    assert log_end_offsets(kafka, "safe") == [2]


@contextmanager
def starting(kafka: KafkaCluster, node_id: int) -> Iterator[None]:
    """A broker starts while the block runs."""
    thread = threading.Thread(target=kafka.start_node, args=(node_id,))
    thread.start()
    try:
        yield
    finally:
        thread.join()


def log_end_offsets(kafka: KafkaCluster, topic: str) -> list[int]:
    """The log end offset of each partition, as librdkafka finds it."""
    with closing(
        Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "witness"})
    ) as consumer:
        partitions = consumer.list_topics(topic, SOON_MS / 1000).topics[topic].partitions
        places = (WitnessPartition(topic, number) for number in sorted(partitions))
        return [consumer.get_watermark_offsets(place, SOON_MS / 1000)[1] for place in places]


# --- Limits, and records that brokers refuse -----------------------------------------------------


def test_fault_44_batches_too_large_for_the_topic_are_split(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic, consume: Consume
) -> None:
    topic = make_topic(max_message_bytes="1000")
    values = [b"%d" % number * 50 for number in range(200)]
    assert write(kafka_cluster, topic, rows(*values)) == 200
    assert values_of(consume(topic, 0, 200)) == values
    assert log_end_offsets(kafka_cluster, topic) == [200]


def test_fault_44_a_record_too_large_for_the_topic(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic
) -> None:
    """The error has its size, no later record is written, and the next task can write."""
    topic = make_topic(max_message_bytes="1000")
    with pytest.raises(BrokerError, match=r"-0 .*of one record of 5,\d\d\d bytes") as caught:
        write(kafka_cluster, topic, rows(b"before", b"x" * 5_000, b"behind"))
    assert not caught.value.retriable
    assert log_end_offsets(kafka_cluster, topic) == [1]
    assert write(kafka_cluster, topic, rows(b"again")) == 1
    assert log_end_offsets(kafka_cluster, topic) == [2]


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
def test_fault_46_a_refused_record_is_named_by_its_index(
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
    assert log_end_offsets(kafka_cluster, topic) == [0]


def test_a_missing_topic_is_an_error_and_not_created(
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
    ids=["no rights", "DESCRIBE only"],
)
def test_fault_26_a_topic_that_may_not_be_written(
    guarded: KafkaCluster, allowed: int | None, message: str
) -> None:
    topic = "no-way-in" if allowed else "no-way-in-at-all"
    with connected(guarded.client_options) as client:
        create_topic(client, NewTopic(topic), soon())
        allow(client, topic, "somebody-else", WRITE)
        if allowed:
            allow(client, topic, str(guarded.username), allowed)
    with pytest.raises(BrokerError, match=message) as caught:
        write(guarded, topic, rows(b"a"))
    assert not caught.value.retriable


@pytest.mark.slow
def test_fault_26_below_2_8_idempotent_writes_need_a_right(
    own_clusters: ClusterFactory,
) -> None:
    kafka = own_clusters(
        "1.1.1",
        security="SASL_PLAINTEXT",
        config={
            "authorizer.class.name": "kafka.security.auth.SimpleAclAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
            "super.users": "User:ANONYMOUS",  # the broker's own requests
        },
    )
    guard(kafka.password)
    with connected(kafka.client_options) as client:
        create_topic(client, NewTopic("plain"), soon())
        allow(client, "kafka-cluster", "somebody-else", IDEMPOTENT_WRITE, CLUSTER)
    with pytest.raises(BrokerError, match=r"CLUSTER_AUTHORIZATION_FAILED.*IDEMPOTENT_WRITE"):
        write(kafka, "plain", rows(b"a"))
    assert write(kafka, "plain", rows(b"a"), enable_idempotence="false") == 1


def test_fault_41_a_quota_delays_a_write_and_loses_nothing(
    guarded: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    with connected(guarded.client_options) as client:
        create_topic(client, NewTopic("slowed"), soon())
        limit_rate(client, "slowed-writer", "producer_byte_rate", 20_000)
        values = rows(*[b"x" * 10_000] * 4)
        options = {"client_id": "slowed-writer", "batch_size": "10000"}
        with caplog.at_level(logging.DEBUG, broker.__name__):
            assert write(guarded, "slowed", values, **options) == 4
        assert any("throttles this client" in record.getMessage() for record in caplog.records)
        end = {TopicPartition("slowed", 0): LATEST_TIMESTAMP}
        assert [*list_offsets(client, end, soon()).values()] == [4]


# --- Old brokers ---------------------------------------------------------------------------------


def test_a_write_to_an_old_broker_logs_one_warning(
    kafka_cluster_factory: ClusterFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """Brokers before 0.11 cannot detect a batch that is sent twice."""
    kafka = kafka_cluster_factory("0.10.2.2")
    kafka.create_topic("old", partitions=3)
    warn_of_missing_ids.cache_clear()  # another test may have logged it
    values = [b"%d" % number for number in range(1_000)]
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            assert write(kafka, "old", rows(*values), batch_size="1000") == 1_000
    assert sum(log_end_offsets(kafka, "old")) == 2_000
    (line,) = [record.getMessage() for record in caplog.records]
    assert "older than Kafka 0.11" in line
    assert "twice" in line
