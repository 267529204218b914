"""A real broker, a topic of one's own, and other clients as witnesses."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as WitnessPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.secret_check import guard

SOON_MS = 30_000

_numbers = itertools.count(1)


def connect(kafka: KafkaCluster, **options: str) -> Cluster:
    named = {name.replace("_", "."): value for name, value in options.items()}
    servers = {"bootstrap.servers": kafka.bootstrap_servers}
    return Cluster(ClientConfig.from_options(servers | named))


@pytest.fixture
def cluster(kafka_cluster: KafkaCluster) -> Iterator[Cluster]:
    """Our client, connected to the shared broker."""
    client = connect(kafka_cluster)
    yield client
    client.close()


MakeTopic = Callable[..., str]


@pytest.fixture
def make_topic(cluster: Cluster) -> MakeTopic:
    """Creates a topic that no other test knows: `make_topic(partitions=3, **configs)`."""

    def make(partitions: int = 1, **configs: str) -> str:
        name = f"topic-{next(_numbers)}"
        named = {key.replace("_", "."): value for key, value in configs.items()}
        create_topic(cluster, NewTopic(name, partitions, configs=named), Deadline.after(SOON_MS))
        return name

    return make


@pytest.fixture
def consume(kafka_cluster: KafkaCluster) -> Callable[[str, int, int], list[Any]]:
    """Reads `count` records of one partition with librdkafka, checksums verified."""

    def read(topic: str, partition: int, count: int) -> list[Any]:
        consumer = Consumer(
            {
                "bootstrap.servers": kafka_cluster.bootstrap_servers,
                "group.id": "witness",
                "enable.auto.commit": False,
                "check.crcs": True,
            }
        )
        try:
            consumer.assign([WitnessPartition(topic, partition, 0)])
            messages: list[Any] = []
            while len(messages) < count:
                batch = consumer.consume(count - len(messages), timeout=20)
                assert batch, f"{len(messages)} of {count} records came"
                assert not any(message.error() for message in batch)
                messages += batch
            return messages
        finally:
            consumer.close()

    return read


@pytest.fixture(scope="session")
def guarded(kafka_cluster_factory: ClusterFactory) -> KafkaCluster:
    """Whoever logs in may do what no rule is about. Quotas are rates over one second, not ten."""
    kafka = kafka_cluster_factory(
        security="SASL_PLAINTEXT",
        config={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
            "super.users": "User:ANONYMOUS",  # the broker to itself
            "quota.window.num": "2",
        },
    )
    guard(kafka.password)
    return kafka


@pytest.fixture
def servers(kafka_cluster: KafkaCluster) -> dict[str, str]:
    return {"kafka.bootstrap.servers": kafka_cluster.bootstrap_servers}


@pytest.fixture
def read(spark: SparkSession, servers: dict[str, str]) -> Callable[..., DataFrame]:
    """`read(subscribe=topic, ...)`, with an optional `schema`."""

    def load(schema: StructType | str | None = None, **options: object) -> DataFrame:
        reader = spark.read.format("pykafka").options(**servers, **options)  # type: ignore[arg-type]
        return (reader.schema(schema) if schema else reader).load()

    return load


@pytest.fixture
def write(servers: dict[str, str]) -> Callable[..., None]:
    """`write(df, topic=..., ...)`; dots in option names as underscores of `kafka_`."""

    def save(df: DataFrame, **options: str) -> None:
        named = {name.replace("_", "."): value for name, value in options.items()}
        df.write.format("pykafka").options(**servers, **named).mode("append").save()

    return save


Read = Callable[..., DataFrame]
Write = Callable[..., None]
