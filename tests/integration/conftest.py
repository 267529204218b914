"""Real brokers that tests share, topics of each test, and librdkafka as a second client."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as WitnessPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.pool import close_shared_clusters
from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.addressed import judges_tests_with
from tests.integration.clients import connect, soon
from tests.secret_check import guard

MakeTopic = Callable[..., str]
Read = Callable[..., DataFrame]
Write = Callable[..., None]
Consume = Callable[[str, int, int], list[Any]]

# How often a broker looks for transactions to time out; the default is ten seconds.
_TRANSACTION_CHECK = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}

_STREAM_SECONDS = 180

_numbers = itertools.count(1)


def _name_of(number: int) -> str:
    return f"topic-{number}"


def run_stream(writer: DataStreamWriter) -> None:
    """Process what is there, in a query that ends by itself."""
    query = writer.trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(_STREAM_SECONDS), query.status
    finally:
        query.stop()


_rows_go_where_they_are_addressed = judges_tests_with("kafka_cluster")


@pytest.fixture(scope="module")
def own_clusters() -> Iterator[ClusterFactory]:
    """Starts clusters that other modules do not use: they end with the module.

    Those of `kafka_cluster_factory` idle until the end of the session, each for 2 % of a core.
    """
    with ExitStack() as clusters:
        yield ClusterFactory(clusters)


@pytest.fixture(scope="session")
def kafka_cluster(kafka_cluster_factory: ClusterFactory) -> KafkaCluster:
    """One broker of the newest release, without encryption or authentication."""
    return kafka_cluster_factory(config=_TRANSACTION_CHECK)


@pytest.fixture(scope="session")
def _three_brokers(kafka_cluster_factory: ClusterFactory) -> KafkaCluster:
    # A new leader is elected two seconds after a broker was killed.
    config = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "300"}
    return kafka_cluster_factory(nodes=3, config=config)


@pytest.fixture
def three_brokers(_three_brokers: KafkaCluster) -> Iterator[KafkaCluster]:
    """A shared cluster whose brokers a test may stop and kill: afterwards all of them run again."""
    yield _three_brokers
    for broker in _three_brokers.brokers:
        if broker.pid is None:
            _three_brokers.start_node(broker.node_id)


@pytest.fixture
def cluster(kafka_cluster: KafkaCluster) -> Iterator[Cluster]:
    """Our client, connected to the shared broker."""
    client = connect(kafka_cluster)
    yield client
    client.close()


@pytest.fixture
def make_topic(cluster: Cluster) -> MakeTopic:
    """Creates a topic that no other test uses: `make_topic(partitions=3, **configs)`."""

    def make(partitions: int = 1, **configs: str) -> str:
        name = _name_of(next(_numbers))
        named = {key.replace("_", "."): value for key, value in configs.items()}
        create_topic(cluster, NewTopic(name, partitions, configs=named), soon())
        return name

    return make


@pytest.fixture
def consume(kafka_cluster: KafkaCluster) -> Consume:
    """`consume(topic, partition, count)`: reads records with librdkafka and checks their CRC."""

    def read(topic: str, partition: int, count: int) -> list[Any]:
        consumer = Consumer(
            {
                "bootstrap.servers": kafka_cluster.bootstrap_servers,
                "group.id": "witness",
                "enable.auto.commit": False,
                "check.crcs": True,
            }
        )
        with closing(consumer):
            consumer.assign([WitnessPartition(topic, partition, 0)])
            messages: list[Any] = []
            while len(messages) < count:
                batch = consumer.consume(count - len(messages), timeout=20)
                assert batch, f"only {len(messages)} of {count} records were read"
                assert not any(message.error() for message in batch)
                messages += batch
            return messages

    return read


@pytest.fixture(scope="session")
def guarded(kafka_cluster_factory: ClusterFactory) -> KafkaCluster:
    """A broker with access rules and a login. Its quotas are rates over one second, not ten."""
    kafka = kafka_cluster_factory(
        security="SASL_PLAINTEXT",
        config={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
            "super.users": "User:ANONYMOUS",  # the broker's own requests
            "quota.window.num": "2",
        },
    )
    guard(kafka.password)
    return kafka


@pytest.fixture
def workers_end() -> Iterator[None]:
    """Closes the connections that tasks keep in this process, as the end of a worker does."""
    yield
    close_shared_clusters()


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What tells of each client that is closed from now on."""
    texts: list[str] = []  # not the clients: one that is closed at its end must not live on
    close = Cluster.close

    def record_close(cluster: Cluster) -> None:
        texts.append(repr(cluster))
        close(cluster)

    # Nothing else tells that a read which nobody holds has let its connections go.
    monkeypatch.setattr(Cluster, "close", record_close)
    return texts


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
def registered(schema_registry: SchemaRegistry) -> Iterator[SchemaRegistryClient]:
    """Confluent's client of the shared registry."""
    with SchemaRegistryClient({"url": schema_registry.url}) as client:
        yield client


@pytest.fixture
def write(servers: dict[str, str]) -> Callable[..., None]:
    """`write(df, topic=..., kafka_batch_size=...)`: `_` in a name stands for a dot."""

    def save(df: DataFrame, **options: str) -> None:
        named = {name.replace("_", "."): value for name, value in options.items()}
        df.write.format("pykafka").options(**servers, **named).mode("append").save()

    return save
