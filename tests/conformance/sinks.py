"""The same rows written through both connectors into topics of their own, and read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.conformance.sides import FORMATS, text_of
from tests.conformance.streams import LiveTopics


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
            for message in self.live.messages(topic)
        ]
