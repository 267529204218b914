"""`make demo-tables`: twenty topics into tables of Delta, by a query that is killed five times.

Producers change schemas twice, and some topics appear in the middle. At the end each table must be
equal to what was written to its topic; then the exit code is 0.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka import Message, Producer
from confluent_kafka.schema_registry import (
    Schema,
    SchemaRegistryClient,
    record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

from kafka_formats.payload.schema_text import SchemaText
from kafka_protocol.arrow_io.topic import create_topic
from kafka_spark_source.testing import KafkaCluster, LocalBrokerError, SchemaRegistry
from kafka_spark_source.testing.broker.commands import FAST_START_FLAGS
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.change_data.jars import find
from tests.change_data.lake import FORMATS
from tests.change_data.server import Server
from tests.formats.protobuf.messages import message_class

EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "topics_to_tables.py"
KILLS: Final = 5
STARTED: Final = "the query has started"
_START_SECONDS: Final = 300
_PAUSE_SECONDS: Final = 0.02

console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
Row = dict[str, Any]
Encode = Callable[[str, Row], bytes]

NEW_FIELDS: Final = (("note", "string"), ("size", "double"))
ADDED: Final = [{"name": n, "type": ["null", t], "default": None} for n, t in NEW_FIELDS]
AVRO: Final = tuple(
    [{"name": "id", "type": id_type}, {"name": "name", "type": "string"}, *ADDED[:version]]
    for version, id_type in enumerate(("int", "long", "long"))
)
PROTOBUF: Final = (
    "",
    "optional string note = 3;",
    "optional string note = 3; optional double size = 4;",
)
RECORD_TYPES: Final = ("Order", "Payment", "Refund")


class Kind(NamedTuple):
    """A kind of topics.

    Attributes:
        topics: How many topics there are; the last one of them appears in the middle.
        rows: What records are: `append` or `upsert`.
        options: The options of their reads, beside the registry.
    """

    topics: int
    rows: str
    options: Mapping[str, str]


KINDS: Final = {
    "avro": Kind(6, "append", {"value.format": "avro"}),
    "protobuf": Kind(4, "append", {"value.format": "protobuf"}),
    "json": Kind(
        4,
        "append",
        {
            **{"value.format": "json", "value.framing": "none"},
            "value.schema": "id bigint, name string, note string, size double",
        },
    ),
    "cache": Kind(5, "upsert", {"value.format": "avro", "key.format": "raw"}),
    "types": Kind(
        1,
        "append",
        {"value.format": "avro", "value.subjects": ",".join(f"shop.{n}" for n in RECORD_TYPES)},
    ),
}
TOPICS: Final = {
    f"shop.{kind}.{n}": kind for kind, each in KINDS.items() for n in range(each.topics)
}
LATE: Final = {f"shop.{kind}.{KINDS[kind].topics - 1}" for kind in ("avro", "protobuf", "cache")}
"""Topics that appear in the middle."""


class Shop:
    """Writes to the topics, and knows what it has written."""

    def __init__(self, servers: str, client: SchemaRegistryClient) -> None:
        self._servers = servers
        self._client = client
        self._producer = Producer({"bootstrap.servers": servers})
        self.version = 0
        self.written: dict[str, dict[tuple[int, int], tuple[str, Row | None]]] = defaultdict(dict)
        self._encoders: dict[tuple[str, int], Encode] = {}
        self._next = 0

    def create(self, topics: Iterator[str]) -> None:
        """Create topics."""
        for topic in topics:
            compact = {"cleanup.policy": "compact"} if TOPICS[topic] == "cache" else {}
            options = {"bootstrap.servers": self._servers}
            create_topic(topic, options, partitions=2, configs=compact)
            self.written[topic] = {}

    def write(self) -> None:
        """Write a record to each topic."""
        for topic in self.written:
            self._next += 1
            number = self._next % 50 if TOPICS[topic] == "cache" else self._next
            row: Row | None = {"id": number, "name": f"name {self._next}"}
            if self.version > 0 and row:
                row["note"] = f"note {self._next}"
            if self.version > 1 and row:
                row["size"] = self._next / 4
            if TOPICS[topic] == "cache" and self._next % 7 == 0:
                row = None
            self._send(topic, str(number), row)
        self._producer.poll(0)

    def flush(self) -> None:
        """Return when all records are acknowledged."""
        assert self._producer.flush(60) == 0

    def _send(self, topic: str, key: str, row: Row | None) -> None:
        if TOPICS[topic] == "types":
            row = {"id": self._next, "name": RECORD_TYPES[self._next % len(RECORD_TYPES)]}

        def delivered(error: object, message: Message) -> None:
            assert error is None, error
            partition, offset = message.partition(), message.offset()
            assert partition is not None and offset is not None
            self.written[topic][partition, offset] = key, row

        payload = None if row is None else self._encoder(topic, row)(topic, row)
        self._producer.produce(topic, payload, key, on_delivery=delivered)

    def _encoder(self, topic: str, row: Row) -> Encode:
        kind = TOPICS[topic]
        name = row["name"] if kind == "types" else kind
        if (name, self.version) not in self._encoders:
            self._encoders[name, self.version] = self._new_encoder(kind, name)
        return self._encoders[name, self.version]

    def _new_encoder(self, kind: str, name: str) -> Encode:
        if kind == "json":
            return lambda _, row: json.dumps(row).encode()
        if kind == "protobuf":
            parts = f"int64 id = 1; string name = 2; {PROTOBUF[self.version]}"
            text = f'syntax = "proto3"; package shop; message Row {{ {parts} }}'
            return self._protobuf(text)
        fields = AVRO[0] if kind == "types" else AVRO[self.version]
        schema = {"type": "record", "name": f"shop.{name}", "fields": fields}
        conf = {"subject.name.strategy": record_subject_name_strategy} if kind == "types" else {}
        avro = AvroSerializer(self._client, json.dumps(schema), conf=conf)
        return lambda topic, row: _bytes(avro(row, _context(topic)))

    def _protobuf(self, text: str) -> Encode:
        """As Confluent's serializer, which registers a form that Apicurio does not compare."""
        message = message_class(SchemaText(text), "shop.Row")

        def encode(topic: str, row: Row) -> bytes:
            id_ = self._client.register_schema(f"{topic}-value", Schema(text, "PROTOBUF"))
            value: bytes = message(**row).SerializeToString()
            return b"\0" + id_.to_bytes(4, "big") + b"\0" + value

        return encode


def _context(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def _bytes(payload: bytes | None) -> bytes:
    assert payload is not None
    return payload


class Comparison(NamedTuple):
    """A topic beside its table."""

    topic: str
    records: int
    rows: int
    different: int


def expected(topic: str, written: Mapping[tuple[int, int], tuple[str, Row | None]]) -> set[Any]:
    """The rows that a topic's table has to have."""
    if TOPICS[topic] != "cache":
        return {(*place, *_values(topic, row)) for place, (_, row) in written.items() if row}
    newest = {key: row for _, (key, row) in sorted(written.items())}
    return {_values(topic, row) for row in newest.values() if row}


def _values(topic: str, row: Row) -> tuple[Any, ...]:
    if TOPICS[topic] == "types":
        return (f"shop.{row['name']}", row["id"])
    return tuple(row.get(each) for each in ("id", "name", "note", "size"))


def rows_of(spark: SparkSession, folder: Path, topic: str) -> list[Any]:
    """The rows that it has."""
    path = folder / "tables" / topic.replace(".", "_")
    if not path.is_dir():
        return []
    frame = spark.read.format("delta").load(str(path))
    place = ["_kafka_partition", "_kafka_offset"]
    # It grows when the query has caught up.
    frame = frame.withColumns(
        {each: F.lit(None) for each, _ in NEW_FIELDS if each not in frame.columns}
    )
    if TOPICS[topic] == "types":
        ids = ", ".join(f"{each}.id" for each in RECORD_TYPES)
        frame = frame.selectExpr(*place, "_type", f"coalesce({ids}) AS id")
    elif TOPICS[topic] == "cache":
        if "_tombstone" not in frame.columns:
            return []
        frame = frame.where("_tombstone IS NOT TRUE").selectExpr("id", "name", "note", "size")
    else:
        frame = frame.selectExpr(*place, "id", "name", "note", "size")
    return [tuple(row) for row in frame.collect()]


def run(seconds: float, report: Callable[[str], None]) -> list[Comparison]:
    """Run the demo; the tables are compared until they are equal, or too much time is over."""
    with ExitStack() as stack:
        report("starting Apache Kafka and a schema registry")
        cluster = stack.enter_context(KafkaCluster(on_progress=report))
        registry = stack.enter_context(SchemaRegistry())
        client = stack.enter_context(SchemaRegistryClient({"url": registry.url}))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        shop = Shop(cluster.bootstrap_servers, client)
        shop.create(each for each in TOPICS if each not in LATE)
        shop.write()
        server = stack.enter_context(Server("query"))
        command = _command(cluster.bootstrap_servers, registry.url, folder)
        for number in range(KILLS + 1):
            report(
                "starting the query" if number == 0 else f"killed (SIGKILL): {number} of {KILLS}"
            )
            before = commits_in(folder)
            server.start(command)
            server.wait(lambda: STARTED in server.log, _START_SECONDS)
            # It is killed in the middle of a micro-batch: some of its tables have it.
            _write_for(seconds / (KILLS + 1), shop, server, folder, before + 3)
            if number in {1, 3}:
                shop.version += 1
                report("producers write with new fields and wider types from now on")
            if number == 2:
                shop.create(iter(sorted(LATE)))
                report(f"{len(LATE)} more topics")
            if number < KILLS:
                server.kill()
        shop.flush()
        report("comparing the tables")
        return _compare(shop, server, folder, report)


def commits_in(folder: Path) -> int:
    """How many commits all tables have."""
    return len([*folder.glob("tables/*/_delta_log/*.json")])


def _write_for(seconds: float, shop: Shop, server: Server, folder: Path, commits: int) -> None:
    """Write for some seconds, and until the tables have so many commits."""
    began = time.monotonic()
    while (past := time.monotonic() - began) < seconds or commits_in(folder) < commits:
        server.check()
        if past > _START_SECONDS:
            raise TimeoutError(f"the query writes no table: {server.log[-2000:]}")
        shop.write()
        time.sleep(_PAUSE_SECONDS)


def _command(servers: str, registry_url: str, folder: Path) -> list[str]:
    registry = {"schema.registry.url": registry_url}
    topics = {
        topic: {
            "rows": KINDS[kind].rows,
            "options": {**({} if kind == "json" else registry), **KINDS[kind].options},
        }
        for topic, kind in TOPICS.items()
    }
    file = folder / "topics.json"
    file.write_text(json.dumps(topics))
    return [
        *(sys.executable, "-u", str(EXAMPLE), "--servers", servers, "--folder", str(folder)),
        *("--topics", str(file), "--jars", str(find(FORMATS["delta"]))),
    ]


def _compare(
    shop: Shop, server: Server, folder: Path, report: Callable[[str], None]
) -> list[Comparison]:
    from tests.change_data.lake import lake_session  # noqa: PLC0415

    sessions = lake_session(folder / "warehouse")
    spark = next(sessions)
    compared: list[Comparison] = []

    def are_equal() -> bool:
        server.check()
        compared.clear()
        for topic, written in sorted(shop.written.items()):
            rows, wanted = rows_of(spark, folder, topic), expected(topic, written)
            different = len({*rows} ^ wanted) + len(rows) - len({*rows})
            compared.append(Comparison(topic, len(written), len(rows), different))
        is_done = not any(each.different for each in compared)
        if not is_done:
            time.sleep(5)
        return is_done

    try:
        Deadline(_START_SECONDS).wait_for(are_equal)
    finally:
        report("the last screen of the query:")
        console.print("\n".join(server.log.splitlines()[-(len(TOPICS) + 4) :]), markup=False)
        for _ in sessions:
            pass
    return compared


def show(compared: list[Comparison]) -> int:
    """Print what it has shown; the exit code."""
    table = Table(title=f"After {KILLS} kills", title_justify="left")
    table.add_column("topic")
    for heading in ("records in Kafka", "rows in Delta", "different"):
        table.add_column(heading, justify="right")
    for each in compared:
        table.add_row(each.topic, *(f"{count:,}" for count in each[1:]))
    console.print(table)
    if any(each.different for each in compared):
        console.print("[bold red]Tables differ.[/]")
        return 1
    console.print("[bold green]Each table is equal to its topic; everything is stopped again.[/]")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="make demo-tables", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long records are written")
    seconds = parser.parse_args().seconds
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("JAVA_TOOL_OPTIONS", " ".join(FAST_START_FLAGS))
    began = time.monotonic()

    def report(what: str) -> None:
        console.print(f"[dim]{time.monotonic() - began:5.0f} s[/] {what}")

    try:
        return show(run(seconds, report))
    except LocalBrokerError as error:
        console.print(f"make demo-tables: {error}", markup=False)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
