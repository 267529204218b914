"""An address that leads to another cluster, or to another broker, on real brokers (KIP-1242).

A proxy stands for the DNS entry, port forward or load balancer that is wrong.
"""

from __future__ import annotations

from contextlib import closing

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.errors import MisroutedError
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.endurance.proxy import Proxy
from tests.integration.clients import connect, soon
from tests.integration.topics import numbered, write_batches

pytestmark = pytest.mark.integration

# The advertised host of a node; the brokers themselves listen at 127.0.0.1.
HOST = "127.0.1.{node_id}"
TOPIC = TopicPartition("misrouted", 0)


def leading_to(cluster: KafkaCluster, node: int, other: KafkaCluster, other_node: int) -> Proxy:
    """The advertised address of a node, leading to a node of a cluster."""
    at = {each.node_id: each for each in cluster.brokers}[node]
    to = {each.node_id: each for each in other.brokers}[other_node]
    return Proxy(HOST.format(node_id=node), at.port, (to.host, to.port))


def client_of(cluster: KafkaCluster, **more: str) -> Cluster:
    return Cluster(ClientConfig.from_options(cluster.client_options | more))


def latest(client: Cluster, within_ms: float) -> int:
    return list_offsets(client, {TOPIC: LATEST_TIMESTAMP}, Deadline.after(within_ms))[TOPIC]


@pytest.mark.slow
def test_fault_65_an_address_that_leads_to_another_cluster(
    own_clusters: ClusterFactory, kafka_cluster: KafkaCluster, spark: SparkSession
) -> None:
    advertised = f"PLAINTEXT://{HOST}:{{port}}"
    ours = own_clusters(config={"advertised.listeners": advertised})
    theirs = kafka_cluster
    with closing(connect(theirs)) as client:
        create_topic(client, NewTopic(TOPIC.topic), soon())
        write_batches(client, TOPIC, numbered(7))
    with closing(connect(ours)) as client:
        with leading_to(ours, 1, ours, 1):
            create_topic(client, NewTopic(TOPIC.topic), soon())
            write_batches(client, TOPIC, numbered(3))
        with leading_to(ours, 1, theirs, 1):
            with pytest.raises(MisroutedError) as caught:
                latest(client, 3_000)
            options = {
                "kafka.bootstrap.servers": ours.bootstrap_servers,
                "kafka.default.api.timeout.ms": "3000",
                "subscribe": TOPIC.topic,
            }
            query = spark.read.format("pykafka").options(**options)
            with pytest.raises(
                PySparkException, match="leads to a broker of cluster"
            ):  # the driver finds it
                query.load().count()
        with leading_to(ours, 1, ours, 1):
            assert latest(client, 10_000) == 3
            assert query.load().count() == 3
    with closing(connect(theirs)) as client:
        client.topics([], soon())
        their_id = client._addresses.cluster_id
    assert f"leads to a broker of cluster {their_id}. Check" in str(caught.value)


@pytest.mark.slow
def test_fault_65_an_address_that_leads_to_another_broker(own_clusters: ClusterFactory) -> None:
    """With SASL: the same users, but a broker looks at the identity only after authentication."""
    advertised = f"SASL_PLAINTEXT://{HOST}:{{port}}"
    cluster = own_clusters(
        nodes=2, security="SASL_PLAINTEXT", config={"advertised.listeners": advertised}
    )
    with closing(client_of(cluster)) as client, leading_to(cluster, 1, cluster, 2):
        client.topics([], soon())
        with pytest.raises(
            MisroutedError, match=r"is broker 1, but .* broker 2 of the same cluster"
        ):
            client.broker(1, soon())
        with leading_to(cluster, 2, cluster, 2):
            assert client.broker(2, soon()).node_id == 2
    with closing(client_of(cluster, **{"metadata.cluster.check.enable": "false"})) as client:
        with leading_to(cluster, 1, cluster, 2):
            client.topics([], soon())
            assert client.broker(1, soon()).node_id == 1
