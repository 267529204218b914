"""The examples run as a user runs them, and the docs show their code."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from confluent_kafka import Consumer, Producer

from kafka_spark_source.cli.broker import CONVENIENT
from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.integration.conftest import MakeTopic
from tests.integration.example_processes import ROOT, python_in, run_example
from tests.witness import IN_ORDER

pytestmark = [pytest.mark.integration, pytest.mark.spark]

README_MARK = "# --- README ---\n"


def test_quickstart(kafka_cluster_factory: ClusterFactory) -> None:
    kafka = kafka_cluster_factory(config=CONVENIENT)
    shown = run_example("examples/quickstart.py", kafka.bootstrap_servers)
    lines = {tuple(cell.strip() for cell in line.split("|")) for line in shown.splitlines()}
    assert {row[1:3] for row in lines if len(row) > 3} >= {("ann", "2 pears"), ("bob", "1 plum")}


def test_readme_shows_the_quickstart() -> None:
    code = (ROOT / "examples" / "quickstart.py").read_text().split(README_MARK)[1]
    readme = (ROOT / "README.md").read_text()
    assert code.replace(": servers}", ': "localhost:9092"}') in readme


@pytest.mark.slow
def test_orders_avro(
    kafka_cluster_factory: ClusterFactory, schema_registry: SchemaRegistry
) -> None:
    kafka = kafka_cluster_factory(config=CONVENIENT)
    shown = run_example("examples/orders_avro.py", kafka.bootstrap_servers, schema_registry.url)
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
    letters = Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "letters"}
        | {"auto.offset.reset": "earliest"}
    )
    with closing(letters):
        letters.subscribe(["orders-dead"])
        (letter,) = letters.consume(1, timeout=30)
        assert letter.value() == b"not an order"


@pytest.mark.slow
def test_demo() -> None:
    shown = run_example("examples/demo.py")
    assert "All 30,000 records came back; everything is stopped again." in shown


def test_arrow(make_topic: MakeTopic, kafka_cluster: KafkaCluster) -> None:
    topic = make_topic(partitions=2)
    producer = Producer({"bootstrap.servers": kafka_cluster.bootstrap_servers, **IN_ORDER})
    for number in range(1_000):
        producer.produce(topic, f"value {number}".encode(), partition=number % 2)
    assert producer.flush(30) == 0
    shown = run_example("examples/arrow.py", kafka_cluster.bootstrap_servers, topic)
    assert "1,000 records" in shown
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
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    topic = make_topic(partitions=3)
    # What needs a registry is in test_topic_formats.
    page = (ROOT / "docs" / "arrow.md").read_text().partition("## Decoded")[0]
    code = "\n".join(python_in(page))
    code = code.replace("localhost:9092", kafka_cluster.bootstrap_servers)
    code = code.replace("/tmp/", f"{tmp_path}/")
    names: dict[str, Any] = {}
    exec(code.replace('"orders"', repr(topic)), names)
    assert names["read_topic"](topic, names["kafka"]).read_all().num_rows == 2
    with duckdb.connect(f"{tmp_path}/orders.duckdb") as database:
        assert database.sql("SELECT count(*), count(DISTINCT topic) FROM records").fetchall() == [
            (2, 1)
        ]
    assert "100%\n" in capsys.readouterr().out
