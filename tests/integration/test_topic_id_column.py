"""The column `topicId` through Spark, beside what librdkafka says of the topic."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Producer, TopicCollection
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import MakeTopic, Read

pytestmark = [pytest.mark.integration, pytest.mark.spark]


def id_of(servers: str, topic: str) -> str:
    """The topic's id as Kafka's tools print it: librdkafka has the other alphabet of base64."""
    admin = AdminClient({"bootstrap.servers": servers})  # its end would end the request
    described = admin.describe_topics(TopicCollection([topic]), request_timeout=30)
    return str(described[topic].result().topic_id).replace("/", "_").replace("+", "-")


def test_it_is_the_id_that_kafka_has(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic, read: Read, spark: SparkSession
) -> None:
    servers = kafka_cluster.bootstrap_servers
    topics = [make_topic(partitions=2), make_topic()]
    producer = Producer({"bootstrap.servers": servers})
    for topic in topics:
        for number in range(20):
            producer.produce(topic, b"%d" % number, b"%d" % (number % 3))
    assert producer.flush(30) == 0
    expected = {(topic, id_of(servers, topic)) for topic in topics}
    options = {"subscribe": ",".join(topics), "includeTopicId": "true"}

    def found(rows: Any) -> set[tuple[str, str]]:
        return {tuple(row) for row in rows.select("topic", "topicId").collect()}

    assert found(read(**options)) == expected
    assert found(read(subscribe=",".join(topics), envelope="upsert")) == expected
    assert found(read("topicId string, topic string", **options)) == expected
    stream = spark.readStream.format("pykafka").option("kafka.bootstrap.servers", servers)
    rows = stream.options(**options, startingOffsets="earliest").load()
    query = rows.writeStream.format("memory").queryName("topic_ids").start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    assert found(spark.table("topic_ids")) == expected
