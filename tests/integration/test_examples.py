"""The examples run as a user runs them, and the docs show their code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow.dataset
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_spark_source.testing import CONVENIENT, KafkaCluster, SchemaRegistry
from kafka_spark_source.testing.plugin import ClusterFactory
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.addressed import lengths
from tests.integration.clients import connect, soon
from tests.integration.command_line import Command, pykafka
from tests.integration.conftest import Consume, MakeTopic, Read, run_stream
from tests.integration.example_processes import EXAMPLES, ROOT, run_example
from tests.integration.witnesses import framed
from tests.pages.tour import Tour
from tests.witness import IN_ORDER, messages_of, produce, values_of

__all__ = ["pykafka"]  # a fixture

pytestmark = [pytest.mark.integration, pytest.mark.spark]

ID = {"name": "id", "type": "long"}
CUSTOMER = {"name": "customer", "type": "string"}
README_MARK = "# --- README ---\n"


@pytest.fixture
def convenient(kafka_cluster_factory: ClusterFactory) -> str:
    """A broker that makes topics when they are first used."""
    return kafka_cluster_factory(config=CONVENIENT).bootstrap_servers


def expect_quickstart(shown: str) -> None:
    lines = {tuple(cell.strip() for cell in line.split("|")) for line in shown.splitlines()}
    assert {row[1:3] for row in lines if len(row) > 3} >= {("ann", "2 pears"), ("bob", "1 plum")}


@pytest.mark.usefixtures("spark")
def test_the_readme_runs(convenient: str, capsys: pytest.CaptureFixture[str]) -> None:
    example = (ROOT / "examples" / "quickstart.py").read_text().split(README_MARK)[1]
    with Tour("README.md", {}, {"localhost:9092": convenient}) as tour:
        assert example.replace(": servers}", ': "localhost:9092"}') in tour.next_text
        tour.run()
        expect_quickstart(capsys.readouterr().out)
        tour.run_all()
    assert tour.names["stream"].isStreaming


# What each example prints, run without arguments: a word of each line that matters.
ALONE = {
    "quickstart.py": ("2 pears", "1 plum"),
    "arrow.py": ("1,000 records",),
    "orders_avro.py": ("[{pear, 2}]", "it has no schema id", "[plum, fig]"),
    "streaming_orders.py": ("|apples|2026-01-01 00:00:00|", "| pears|"),
    "demo.py": ("All 30,000 records came back; everything is stopped again.",),
    "run_pipeline.py": ("bob 100", "cid 250"),
}
# In test_streaming_examples.py, sail/test_sail.py and tests/change_data.
RUN_ELSEWHERE = {"live_progress.py", "sail.py", "change_data.py", "topics_to_tables.py"}


def test_each_example_has_a_test() -> None:
    files = {path.name for path in EXAMPLES.glob("*.py")}
    assert files == {*ALONE, *RUN_ELSEWHERE, "local_kafka.py"}


@pytest.mark.slow
@pytest.mark.newest
@pytest.mark.parametrize("name", ALONE)
def test_without_arguments(name: str) -> None:
    shown = run_example(f"examples/{name}")
    assert [each for each in ALONE[name] if each not in shown] == []


@pytest.mark.slow
@pytest.mark.newest
def test_demo_on_ones_own_brokers(convenient: str) -> None:
    shown = run_example("examples/demo.py", "--servers", convenient, "--topic", "of-the-demo")
    assert "All 30,000 records came back" in shown
    assert lengths(convenient)["of-the-demo"] == 30_000


@pytest.mark.parametrize(
    ("name", "package", "cure"),
    [
        ("quickstart.py", "pyspark", 'pip install -e ".[spark,cli]"'),
        ("live_progress.py", "rich", 'pip install -e ".[spark,cli]"'),
        ("sail.py", "pysail", 'pip install -e . pysail==0.7.2 pyspark-client==4.2.0 "pandas<3"'),
        ("run_pipeline.py", "grpc", 'pip install "pyspark[connect,pipelines]"'),
        ("arrow.py", "kafka_spark_source", 'pip install -e ".[spark,cli]"'),
    ],
)
def test_a_missing_package_is_a_sentence(name: str, package: str, cure: str) -> None:
    without = f"import runpy, sys; sys.modules[{package!r}] = None; "
    code = f"{without}runpy.run_path({name!r}, run_name='__main__')"
    path = os.pathsep.join([".", str(ROOT), str(ROOT / "protocol")])
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=EXAMPLES,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr == f"This example needs {package}: {cure}\n"


@pytest.mark.slow
def test_quickstart(convenient: str) -> None:
    before = Counter(lengths(convenient))
    expect_quickstart(run_example("examples/quickstart.py", "--servers", convenient))
    assert Counter(lengths(convenient)) - before == {"orders": 2}


@pytest.mark.slow
def test_orders_avro(convenient: str, schema_registry: SchemaRegistry) -> None:
    before = Counter(lengths(convenient))
    shown = run_example(
        *("examples/orders_avro.py", "--servers", convenient),
        *("--registry", schema_registry.url),
    )
    lines = [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in shown.splitlines()]
    assert ("1", "ann", "12.5", "[{pear, 2}]") in lines
    assert ("2", "bob", "3.0", "[{plum, 1}, {fig,...") in lines
    assert [cells[2] for cells in lines if len(cells) == 3 and "schema id" in cells[2]] == [
        "the value: it has no schema id: it begins with the bytes 6e 6f 74 20 61, and has 12 in all"
    ]
    assert {cells[:2] for cells in lines if len(cells) == 3} >= {
        ("1", "[pear]"),
        ("2", "[plum, fig]"),
    }
    written = Counter(lengths(convenient)) - before
    assert written == {"orders-avro": 3, "orders-dead": 1}
    letters = Consumer(
        {"bootstrap.servers": convenient, "group.id": "letters"} | {"auto.offset.reset": "earliest"}
    )
    with closing(letters):
        letters.subscribe(["orders-dead"])
        (letter,) = letters.consume(1, timeout=30)
        assert letter.value() == b"not an order"


def test_arrow(make_topic: MakeTopic, kafka_cluster: KafkaCluster) -> None:
    topic = make_topic(partitions=2)
    producer = Producer({"bootstrap.servers": kafka_cluster.bootstrap_servers, **IN_ORDER})
    for number in range(1_000):
        producer.produce(topic, f"value {number}".encode(), partition=number % 2)
    assert producer.flush(30) == 0
    own = ("--servers", kafka_cluster.bootstrap_servers, "--topic", topic)
    shown = run_example("examples/arrow.py", *own)
    assert "1,000 records" in shown
    assert lengths(kafka_cluster.bootstrap_servers)[topic] == 1_000
    assert [line.split() for line in shown.splitlines()[-2:]] == [
        ["0", "500", "499"],
        ["1", "500", "499"],
    ]


def test_docs_show_the_arrow_example() -> None:
    code = (ROOT / "examples" / "arrow.py").read_text().split("# --- docs ---\n")[1]
    assert code in (ROOT / "docs" / "arrow.md").read_text()


def test_docs_show_the_example_of_change_data() -> None:
    code = (ROOT / "examples" / "change_data.py").read_text().split("# --- docs ---\n")[1]
    assert code.strip() in (ROOT / "docs" / "change-data.md").read_text()


def test_the_code_of_the_page_without_spark(
    make_topic: MakeTopic,
    kafka_cluster: KafkaCluster,
    schema_registry: SchemaRegistry,
    registered: SchemaRegistryClient,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    topic, copy, decoded = make_topic(3), make_topic(3), make_topic()
    servers = kafka_cluster.bootstrap_servers
    order: dict[str, Any] = {"type": "record", "name": "Order", "fields": [ID, CUSTOMER]}
    produce(servers, decoded, framed(registered, decoded, order, [{"id": 1, "customer": "ann"}]))
    names = {"duckdb": duckdb, "polars": polars, "pyarrow": pyarrow}
    replaced = {"localhost:9092": servers, "/tmp/": f"{tmp_path}/", '"orders"': repr(topic)}
    replaced |= {'"a"': repr(topic), '"b"': repr(copy)}
    replaced |= {"http://127.0.0.1:8081/apis/ccompat/v7": schema_registry.url}
    monkeypatch.chdir(tmp_path)
    with Tour("docs/arrow.md", names, replaced) as tour:
        tour.run()
        names = tour.names
        while "reader" in tour.next_text or "(batch)" in tour.next_text:
            records = names["read_topic"](topic, names["kafka"])
            names["batch"] = pyarrow.RecordBatch.from_pylist([], records.schema)
            names["reader"] = records
            tour.run()
        tour.run("write_table(orders")
        tour.run("write_table(read_topic(")
        tour.run_to("import duckdb")
        assert "100%\n" in capsys.readouterr().out
        for each in (topic, copy):
            assert names["read_topic"](each, names["kafka"]).read_all().num_rows == 2
        tour.run()
        with duckdb.connect(f"{tmp_path}/orders.duckdb") as database:
            assert database.sql(
                "SELECT count(*), count(DISTINCT topic) FROM records"
            ).fetchall() == [(2, 1)]
        tour.run("follow=True")
        replaced['"orders"'] = repr(decoded)
        tour.run("value.format")
        assert names["orders"].column("value").to_pylist() == [{"id": 1, "customer": "ann"}]


# --- Records that cannot be decoded are kept in a topic: the page about them, on a real broker ----


SOON_SECONDS = 120
GOOD = [b'{"id": 1}', b'{"id": 2}', b'{"id": 3}']
BROKEN = [b'{"id": "x"}', b"\xff\xfe"]
VALUES = [GOOD[0], BROKEN[0], GOOD[1], BROKEN[1], GOOD[2]]


def headers_of(message: Any) -> dict[str, bytes | None]:
    return dict(message.headers() or [])


@pytest.mark.core
def test_the_page(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    consume: Consume,
    make_topic: MakeTopic,
    cluster: Cluster,
    pykafka: Command,
    tmp_path: Path,
) -> None:
    topic, servers = make_topic(1), kafka_cluster.bootstrap_servers
    for name in (f"{topic}-dead-letters", f"{topic}-dead-letters-again"):
        create_topic(cluster, NewTopic(name, 1), soon())
    produce(servers, topic, VALUES)
    replaced = {'"orders': f'"{topic}', "localhost:9092": servers}
    tour = Tour("docs/dead-letters.md", {"spark": spark}, replaced)
    tour.run()
    to = tour.names["orders"].select("value.id").writeStream.format("parquet")
    to = to.option("path", str(tmp_path / "rows"))
    run_stream(to.option("checkpointLocation", str(tmp_path / "checkpoint")))
    rows = spark.read.parquet(str(tmp_path / "rows")).collect()
    assert sorted(row["id"] for row in rows) == [1, 2, 3]
    messages = consume(f"{topic}-dead-letters", 0, len(BROKEN))
    assert [message.value() for message in messages] == BROKEN
    assert [headers_of(each)["__connect.errors.offset"] for each in messages] == [b"1", b"3"]
    assert headers_of(messages[0])["__connect.errors.topic"] == topic.encode()
    shown = pykafka("peek", f"{topic}-dead-letters")
    assert f"\n  dead letter of {topic}-0@1, VALUE_CONVERTER: the value: field id: " in shown
    (count,) = json.loads(pykafka("dead-letters", f"{topic}-dead-letters", "-o", "json"))
    assert (count["topic"], count["records"], count["repeated"]) == (topic, len(BROKEN), 0)
    assert count["exception"] == "kafka_formats.errors.PayloadError"
    with tour:
        tour.run()
    assert [tuple(row) for row in tour.names["reasons"].collect()] == [("x", "1")]
    (last,) = consume(f"{topic}-dead-letters-again", 0, 1)
    assert last.value() == BROKEN[1]


@pytest.mark.slow
def test_retention_does_not_delete_the_dead_letters_of_old_records(
    spark: SparkSession, own_clusters: ClusterFactory
) -> None:
    """The default of brokers looks for what is too old every five minutes."""
    kafka = own_clusters(config={"log.retention.check.interval.ms": "500"})
    servers, topic, letters, control = kafka.bootstrap_servers, "old", "letters", "control"
    with closing(connect(kafka)) as cluster:
        create_topic(cluster, NewTopic(topic, 1), soon())
        for name in (letters, control):
            week = {"retention.ms": str(7 * 86_400_000)}
            create_topic(cluster, NewTopic(name, 1, configs=week), soon())
    old_ms = int(time.time() * 1000) - 30 * 86_400_000
    producer = Producer({"bootstrap.servers": servers})
    for name, value in ((topic, BROKEN[0]), (topic, GOOD[0])):
        producer.produce(name, value, timestamp=old_ms)
    assert producer.flush(SOON_SECONDS) == 0
    options = {"kafka.bootstrap.servers": servers, "kafka.acks": "1", "subscribe": topic}
    options |= {"value.format": "json", "value.schema": "id bigint", "deadLetterTopic": letters}
    rows = spark.read.format("pykafka").options(**options).load().selectExpr("value.id")
    assert [row["id"] for row in rows.collect()] == [1]
    producer.produce(control, b"old", timestamp=old_ms)
    assert producer.flush(SOON_SECONDS) == 0
    # When the broker has deleted this one, it has looked at the dead letters as well.
    assert Deadline(SOON_SECONDS).wait_for(lambda: not values_of(servers, control, 0))
    (letter,) = messages_of(servers, letters, [0])
    assert headers_of(letter)["__pykafka.errors.timestamp"] == str(old_ms).encode()


def test_nothing_is_dropped_if_the_topic_cannot_be_written(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic, read: Read
) -> None:
    topic, small = make_topic(1), make_topic(1, max_message_bytes="200")
    produce(kafka_cluster.bootstrap_servers, topic, [GOOD[0], b"[" * 1_000])
    options = {"value.format": "json", "value.schema": "id bigint"}
    rows = read(subscribe=topic, deadLetterTopic=small, **options)
    with pytest.raises(PySparkException) as raised:
        rows.collect()
    message = str(raised.value)
    assert f"{topic}-0 at offset 1: the value: " in message
    assert f"because the topic '{small}' of the option deadLetterTopic" in message


# --- The loop of docs/schema-evolution.md, with a real registry, while a producer moves on --------


ANY_ID = {"name": "id", "type": ["long", "null"]}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
SIZE = {"name": "size", "type": "int", "default": 0}


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Order", "fields": [*fields]}


@pytest.mark.slow
def test_the_loop_of_the_page(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    schema_registry: SchemaRegistry,
    registered: SchemaRegistryClient,
    make_topic: MakeTopic,
    tmp_path: Path,
) -> None:
    topic, servers = make_topic(1), kafka_cluster.bootstrap_servers
    replaced = {'"orders"': f'"{topic}"', "localhost:9092": servers, "/tmp/": f"{tmp_path}/"}
    replaced |= {"http://127.0.0.1:8081/apis/ccompat/v7": schema_registry.url}
    tour = Tour("docs/schema-evolution.md", {"spark": spark}, replaced)

    def write(schema: dict[str, Any], *orders: dict[str, Any]) -> None:
        produce(servers, topic, framed(registered, topic, schema, orders))

    def rows() -> list[dict[str, Any]]:
        try:
            read = spark.read.option("mergeSchema", True).parquet(str(tmp_path / "orders"))
        except PySparkException:
            return []
        return [row.asDict() for row in read.orderBy("id").collect()]

    # How many micro-batches have written -> the rows then: reading them takes time of the query.
    read: dict[int, list[dict[str, Any]]] = {}

    def rows_now() -> list[dict[str, Any]]:
        done = len([*(tmp_path / "orders" / "_spark_metadata").glob("[0-9]*")])
        return read.get(done) or read.setdefault(done, rows())

    def wait_for(count: int) -> list[dict[str, Any]]:
        soon = Deadline(SOON_SECONDS)
        assert soon.wait_for(lambda: len(rows_now()) == count or not loop.is_alive())
        return rows()

    write(record(ID), {"id": 1}, {"id": 2})
    loop = threading.Thread(target=tour.run)
    loop.start()
    try:
        assert wait_for(2) == [{"id": 1}, {"id": 2}]
        write(record(ID, NOTE), {"id": 3, "note": "c"}, {"id": 4, "note": None})
        notes = [None, None, "c", None]
        assert wait_for(4) == [{"id": n, "note": note} for n, note in enumerate(notes, 1)]
        # Twice in one micro-batch.
        produce(
            servers,
            topic,
            framed(registered, topic, record(ID, NOTE, SIZE), [{"id": 5, "note": "e", "size": 7}])
            + framed(registered, topic, record(ID, NOTE), [{"id": 6, "note": "f"}]),
        )
        assert wait_for(6)[4:] == [
            {"id": 5, "note": "e", "size": 7},
            {"id": 6, "note": "f", "size": 0},
        ]
        # Without a new field: values that the columns do not have.
        write(record(ANY_ID, NOTE, SIZE), {"id": None, "note": "g", "size": 1})
        assert wait_for(7)[0] == {"id": None, "note": "g", "size": 1}
    finally:
        for query in spark.streams.active:
            query.stop()
        loop.join(SOON_SECONDS)
    assert not loop.is_alive()
    with tour:
        tour.run_all()
