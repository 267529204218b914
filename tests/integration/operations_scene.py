"""What docs/operations.md tells about: topics, groups, checkpoints and files with their troubles.

On a real broker with access rules. The checkpoints are files as Spark writes them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ConsumedPartition

from kafka_protocol.client.clock import now_ms
from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.groups import commit_offsets
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transactions import begin
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.reading.dead_letters import HEADER_PREFIX
from kafka_spark_source.testing import KafkaCluster
from tests.fakes.log import batch_of
from tests.fakes.registry import subjects
from tests.integration.access import DESCRIBE, READ, allow
from tests.integration.clients import connected, soon
from tests.spark.tools.positions.test_checkpoints import write_batch
from tests.terminal import Terminal

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS
_JOIN_SECONDS = 60
# In the current folder, and as short as users have it: tables are as wide as on the page.
_CONFIG = ".config"
# The second is where `pykafka broker start` keeps its contexts: not those of this machine.
VARIABLES = {"XDG_CONFIG_HOME": _CONFIG, "XDG_RUNTIME_DIR": "."}

_TOPICS = {
    "orders": 3,
    "orders-copy": 2,
    "orders-dead-letters": 1,
    "orders-test": 1,
    "customers": 1,
    "payments": 1,
    "refunds": 1,
}
# How many records of each partition of `orders` are how old.
_ORDERS = (
    {3 * _HOUR_MS: 71, _HOUR_MS: 79},
    {91 * _MINUTE_MS: 120},
    {3 * _HOUR_MS: 70, _HOUR_MS: 80},
)
_CUSTOMER = {
    "type": "record",
    "name": "Customer",
    "fields": [{"name": "id", "type": "long"}, {"name": "who", "type": "string"}],
}
SUBJECTS = subjects(customers__value=[{"schema": json.dumps(_CUSTOMER), "id": 1}])


class Scene:
    """Makes them on a broker and in a folder; its methods happen between commands of the page."""

    def __init__(self, kafka: KafkaCluster, registry_url: str, folder: Path) -> None:
        self._kafka = kafka
        self._folder = folder
        self._now_ms = now_ms()
        self.terminal = Terminal(
            {
                "localhost:9092": kafka.bootstrap_servers,
                "http://localhost:8081": registry_url,
                "~/.config/": f"{_CONFIG}/",
            }
        )

    def begin(self) -> None:
        """Make what is there before the first command. The current folder is the one given."""
        self._make_contexts("kafka-1:9092,kafka-2:9092")
        self._make_topics()
        self._write_records()
        self._make_checkpoint("orders", {"orders": {"0": 150, "1": 0, "2": 150}})
        self._make_checkpoint("refunds", {"refunds": {"0": 150}})
        (self._folder / "checkpoints" / "tmp").mkdir()

    def end_micro_batch(self) -> None:
        """The query has caught up, and has been stopped."""
        self._add_micro_batch("orders", 1, {"orders": {"0": 150, "1": 120, "2": 150}})

    def begin_transaction(self) -> None:
        """A query writes in a transaction, and is killed."""
        with connected(self._kafka.client_options) as cluster:
            producer = Producer(cluster, begin(cluster, "orders-copy-3-0", soon()))
            for partition, count in enumerate((70, 51)):
                producer.add(TopicPartition("orders-copy", partition), batch_of(*[b"copy"] * count))
            producer.flush()

    def reach_production(self) -> None:
        """The context `prod` has the address of the broker."""
        self._make_contexts(self._kafka.bootstrap_servers)

    @contextmanager
    def member(self) -> Iterator[None]:
        """The group `search` has a member, which has read some records."""
        options = {
            **self._client_options(),
            "group.id": "search",
            "client.id": "search-1",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        consumer = Consumer(options)
        try:
            consumer.subscribe(["orders"])
            assert consumer.poll(_JOIN_SECONDS) is not None
            read = [ConsumedPartition("orders", 0, 100), ConsumedPartition("orders", 1, 120)]
            consumer.commit(offsets=read, asynchronous=False)
            yield
        finally:
            consumer.close()

    # --- What is there before --------------------------------------------------------------------

    def _client_options(self) -> dict[str, Any]:
        """Those of librdkafka."""
        return {
            "bootstrap.servers": self._kafka.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": self._kafka.client_options["sasl.mechanism"],
            "sasl.username": self._kafka.username,
            "sasl.password": self._kafka.password,
        }

    def _make_contexts(self, production: str) -> None:
        """The user's own, which has the credentials, and that of the brokers in production."""
        folder = self._folder / _CONFIG / "pykafka"
        folder.mkdir(parents=True, exist_ok=True)
        for name, servers in {"default": "localhost:9092", "prod": production}.items():
            options = self._kafka.client_options | {"bootstrap.servers": servers}
            lines = [f"{key}={_escaped(value)}\n" for key, value in sorted(options.items())]
            (folder / f"{name}.properties").write_text("".join(lines))

    def _make_topics(self) -> None:
        with connected(self._kafka.client_options) as cluster:
            for name, partitions in _TOPICS.items():
                create_topic(cluster, NewTopic(name, partitions), soon())
            allow(cluster, "payments", "somebody-else", READ)
            allow(cluster, "payments", str(self._kafka.username), DESCRIBE)
            read = {TopicPartition("orders", 0): 150, TopicPartition("orders", 1): 120}
            commit_offsets(cluster, "reports", read, soon())

    def _write_records(self) -> None:
        for partition, ages in enumerate(_ORDERS):
            each_age = [age for age, count in ages.items() for _ in range(count)]
            orders = (self._order(number, age) for number, age in enumerate(each_age))
            self._write(f"orders --partition {partition}", orders)
        self._write("refunds", (self._order(number, _HOUR_MS) for number in range(40)))
        letters = (self._dead_letter(number) for number in (17, 41, 41))
        self._write("orders-dead-letters", letters)
        avro = "-O value.format=avro -O schema.registry.url=http://localhost:8081"
        customer = {"key": "k1", "value": {"id": 1, "who": "Ann"}}
        self._write(f"customers {avro}", [customer])
        self._write("customers", [{"key": "k2", "value": "broken"}])
        lines = [f"customer-{number}\t{number}\n" for number in range(41)]
        (self._folder / "orders.tsv").write_text("".join([*lines, "customer-41\n", *lines]))

    def _order(self, number: int, age_ms: int) -> dict[str, Any]:
        return {
            "timestamp_ms": self._now_ms - age_ms + number,
            "key": f"customer-{number % 10}",
            "value": f'{{"id":{number}}}',
        }

    def _dead_letter(self, offset: int) -> dict[str, Any]:
        headers = {
            "topic": "orders",
            "partition": "0",
            "offset": str(offset),
            "stage": "VALUE_CONVERTER",
            "exception.class.name": "kafka_formats.errors.PayloadError",
            "exception.message": "the value: it is not JSON: it ends in the middle",
        }
        named = [{"name": f"{HEADER_PREFIX}{key}", "value": text} for key, text in headers.items()]
        return self._order(offset, _HOUR_MS) | {"value": '{"id":', "headers": named}

    def _write(self, where: str, records: Iterable[Mapping[str, Any]]) -> None:
        lines = self._folder / "lines.json"
        lines.write_text("".join(f"{json.dumps(each)}\n" for each in records))
        given = f"--input json --from-file {lines} -b localhost:9092"
        assert "written to" in self.terminal.run(f"pykafka write {where} {given}")

    def _make_checkpoint(self, name: str, ends: Mapping[str, Any]) -> None:
        folder = self._folder / "checkpoints" / name
        folder.mkdir(parents=True)
        (folder / "metadata").write_text('{"id":"0c2a4b1e-9d55-4f0c-8a5e-2f6b1d3c7e90"}')
        self._add_micro_batch(name, 0, ends)

    def _add_micro_batch(self, name: str, number: int, ends: Mapping[str, Any]) -> None:
        """A micro-batch that ended some minutes ago."""
        folder = self._folder / "checkpoints" / name
        planned_at_ms = self._now_ms - (5 - number) * _MINUTE_MS
        text = json.dumps(ends, separators=(",", ":"))
        write_batch(folder, number, text, planned_at_ms=planned_at_ms)
        for each in [folder, *folder.rglob("*")]:
            os.utime(each, (planned_at_ms / 1000, planned_at_ms / 1000))


def _escaped(value: str) -> str:
    """As files of properties have it."""
    return value.replace("\\", "\\\\")
