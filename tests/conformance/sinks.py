"""The same rows written through both connectors into topics of their own, and read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.conformance.sides import FORMATS, text_of
from tests.conformance.streams import LiveTopics
from tests.conformance.topics import SOON_SECONDS


class Record(NamedTuple):
    """A record of a topic, without timestamp and offset."""

    partition: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


class Sinks:
    """Writes through both connectors, in a session that has both, and reads the topics."""

    def __init__(self, spark: SparkSession, live: LiveTopics) -> None:
        self.spark = spark
        self.live = live
        self.servers = {"kafka.bootstrap.servers": live.servers}

    def topic(self, partitions: int = 1, **configs: str) -> str:
        """The name of a new topic."""
        return self.live.make(self.live.name(), partitions, **configs)

    def sql(self, query: str) -> DataFrame:
        """The rows of a query in one task, so that they keep their order."""
        return self.spark.sql(query).coalesce(1)

    def write(self, connector: str, df: DataFrame, **options: str) -> None:
        """Append rows through one connector."""
        df.write.format(connector).options(**self.servers | options).mode("append").save()

    def both(self, df: DataFrame, partitions: int = 1, **options: str) -> list[Record]:
        """The records of both, which must be equal, with the same order and partitions."""
        topics = [self.topic(partitions) for _ in FORMATS]
        for connector, topic in zip(FORMATS, topics, strict=True):
            self.write(connector, df, topic=topic, **options)
        theirs, ours = map(self.records, topics)
        assert ours == theirs
        return theirs

    def error(self, connector: str, df: DataFrame, options: Mapping[str, str | None]) -> str:
        """The error text of one connector, which must fail; an option of None is left out."""
        given = {name: value for name, value in options.items() if value is not None}
        with pytest.raises((PySparkException, Py4JJavaError)) as caught:
            self.write(connector, df, **given)
        return text_of(caught.value)

    def records(self, topic: str) -> list[Record]:
        """All records of a topic, by partition and offset."""
        return [
            Record(message.partition(), message.key(), message.value(), message.headers() or [])
            for message in self.messages(topic)
        ]

    def messages(self, topic: str) -> list[Any]:
        """The same records as librdkafka's messages."""
        known = self.live._admin.list_topics(topic, SOON_SECONDS).topics[topic].partitions
        options = {"bootstrap.servers": self.live.servers, "group.id": "witness"}
        consumer = Consumer(options | {"enable.partition.eof": True, "check.crcs": True})
        try:
            consumer.assign([TopicPartition(topic, number, 0) for number in known])
            found: list[Any] = []
            ends = 0
            while ends < len(known):
                message = consumer.poll(SOON_SECONDS)
                assert message is not None, "a partition has no end"
                if error := message.error():
                    assert error.code() == KafkaError._PARTITION_EOF
                    ends += 1
                else:
                    found.append(message)
        finally:
            consumer.close()
        return sorted(found, key=lambda message: (message.partition(), message.offset()))
