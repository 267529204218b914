"""Topics of a shop, the queries that make tables of them, and what the tables have to hold."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer
from pyspark.sql import SparkSession

from kafka_protocol.arrow_io.topic import create_topic
from kafka_spark_source.tables import topics_to_tables
from kafka_spark_source.tables.progress import TableProgress
from kafka_spark_source.tables.query import TopicsToTables
from tests.admin import Admin
from tests.change_data.lake import ICEBERG

SCHEMA: Final = "id bigint, name string"
_SECONDS: Final = 300

Key = str | bytes | None


class Shop:
    """Topics whose names begin with a prefix of their own, and tables in a schema of their own."""

    def __init__(self, spark: SparkSession, servers: str, provider: str, folder: Path) -> None:
        self.spark = spark
        self.provider = provider
        self.prefix = f"shop-{uuid.uuid4().hex[:8]}"
        schema = self.prefix.replace("-", "_")
        self.schema_name = schema
        catalog = ICEBERG if provider == "iceberg" else "spark_catalog"
        self.schema = f"{catalog}.{schema}"
        self.checkpoint = str(folder / "checkpoint")
        self.options: dict[str, object] = {
            "kafka.bootstrap.servers": servers,
            "subscribePattern": rf"{self.prefix}\..*",
            "startingOffsets": "earliest",
            "value.format": "json",
            "value.schema": SCHEMA,
        }
        self._servers = servers
        self._producer = Producer({"bootstrap.servers": servers})
        spark.sql(f"CREATE SCHEMA {self.schema}")

    def close(self) -> None:
        """Remove the tables and their schema."""
        for row in self.spark.sql(f"SHOW TABLES IN {self.schema}").collect():
            self.spark.sql(f"DROP TABLE {self.schema}.{row['tableName']}")
        self.spark.sql(f"DROP SCHEMA {self.schema}")

    def topic(self, name: str, partitions: int = 2) -> str:
        """Create a topic."""
        topic = f"{self.prefix}.{name}"
        create_topic(topic, {"bootstrap.servers": self._servers}, partitions=partitions)
        return topic

    def recreate(self, name: str) -> None:
        """Delete a topic of one partition, and create it again when it is gone."""
        topic = f"{self.prefix}.{name}"
        admin = Admin(self._servers, replicas=1)
        admin.delete(topic)
        admin.create(topic, 1, {})

    def send(self, topic: str, records: Iterable[tuple[Key, Any]]) -> None:
        """Write records; a value that is neither None nor bytes is a document of JSON."""
        for key, value in records:
            is_payload = value is None or isinstance(value, bytes)
            self._producer.produce(topic, value if is_payload else json.dumps(value), key)
        assert self._producer.flush(_SECONDS) == 0

    def tables(self, options: Mapping[str, object] = {}, **arguments: Any) -> TopicsToTables:
        """The topics of the shop as tables."""
        usual = {"table": f"{self.schema}.{{topic}}", "provider": self.provider}
        return topics_to_tables(self.spark, self.options | dict(options), **(usual | arguments))

    def run(self, **arguments: Any) -> dict[str, TableProgress]:
        """Write all that the topics have now to their tables; `backfill` is an argument of it."""
        backfill = arguments.pop("backfill", ())
        running = self.tables(**arguments).start(
            self.checkpoint, trigger={"availableNow": True}, backfill=backfill
        )
        try:
            assert running.query.awaitTermination(_SECONDS)
            assert running.awaitTermination(_SECONDS)
        finally:
            running.stop()
        return {each.topic: each for each in running.tables()}

    def forget_last_commit(self) -> None:
        """As after a crash directly before Spark took the last micro-batch for done."""
        self._forget_last("commits")

    def forget_last_micro_batch(self) -> None:
        """As with a checkpoint that is one micro-batch older."""
        for folder in ("offsets", "commits"):
            self._forget_last(folder)

    def _forget_last(self, folder: str) -> None:
        files = Path(self.checkpoint, folder).iterdir()
        last = max((each for each in files if each.name.isdigit()), key=_number)
        for each in (last, last.with_name(f".{last.name}.crc")):
            each.unlink(missing_ok=True)

    def name(self, topic: str) -> str:
        """The table of a topic."""
        return f"{self.schema}.{topic.replace('.', '_').replace('-', '_')}"

    def rows(self, topic: str, *columns: str, where: str = "true") -> list[tuple[Any, ...]]:
        """Columns of the rows of a topic's table, in order."""
        name = self.name(topic)
        self.spark.sql(f"REFRESH TABLE {name}")
        frame = self.spark.table(name).where(where).selectExpr(*columns or ("id", "name"))
        return sorted((tuple(row) for row in frame.collect()), key=repr)

    def types(self, topic: str) -> dict[str, str]:
        """The names and types of the columns of a topic's table."""
        self.spark.sql(f"REFRESH TABLE {self.name(topic)}")
        return dict(self.spark.table(self.name(topic)).dtypes)


def orders(numbers: Iterable[int]) -> list[tuple[Key, Any]]:
    """Records of SCHEMA."""
    return [(f"{each}", {"id": each, "name": f"name {each}"}) for each in numbers]


def rows_of(numbers: Iterable[int]) -> list[tuple[Any, ...]]:
    """Their rows, as `Shop.rows` gives them."""
    return sorted(((each, f"name {each}") for each in numbers), key=repr)


def _number(file: Path) -> int:
    return int(file.name)
