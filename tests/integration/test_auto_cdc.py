"""AUTO CDC with changes of a database: the pipeline `examples/auto_cdc`, run as users run it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from kafka_spark_source.testing import KafkaCluster
from tests.auto_cdc import WITH_HISTORY, PipelineServer, pipeline_server
from tests.change_data.debezium import topic_of
from tests.pages.statements import statements_of
from tests.witness import produce

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    # SCD type 2 is new in 4.3; tests/change_data runs the pipeline on 4.2.
    pytest.mark.newest,
    pytest.mark.slow,
    pytest.mark.timeout(900),
]
_FLUSH_SECONDS: Final = 60
_REFUSED: Final = "AUTOCDC_TARGET_DOES_NOT_SUPPORT_MERGE"

Row = tuple[str, int, int, str]
"""A change: op, position in the database's log, id, name."""

PAGE: Final = "docs/change-data.md"
HEAD: Final = """
import os
from pyspark import pipelines as dp
from pyspark.sql import SparkSession
from kafka_spark_source.changes import change_sequence

spark = SparkSession.active()
usual = {"kafka.bootstrap.servers": os.environ["KAFKA_SERVERS"], "startingOffsets": "earliest"}
usual |= {"value.format": "json"}
debezium = usual | {"subscribe": "shop.public.customers", "envelope": "debezium"}
upsert = usual | {"subscribe": "names", "envelope": "upsert", "value.schema": "name string"}
upsert |= {"key.format": "json", "key.schema": "id bigint"}
"""
"""What the pipelines of the page take from the program around them."""

FIRST: Final[tuple[Row, ...]] = (
    ("r", 5, 9, "snapshot"),
    ("c", 10, 1, "ann"),
    ("c", 20, 2, "bob"),
    ("u", 30, 1, "Ann"),
    ("d", 40, 2, "bob"),
    ("c", 50, 3, "cid"),
    # An update of the key, from 3 to 4.
    ("d", 60, 3, "cid"),
    ("c", 60, 4, "cid"),
    # The same position in the log, as of a delete and an insert in one statement.
    ("d", 70, 9, "snapshot"),
    ("c", 70, 9, "again"),
)
LATER: Final[tuple[Row, ...]] = (
    # Debezium writes changes again after a restart.
    *FIRST[1:5],
    # Older than a row, and older than a delete.
    ("u", 15, 1, "late"),
    ("u", 35, 2, "late"),
    ("c", 80, 5, "eve"),
    ("u", 85, 5, "eve"),
    ("d", 90, 4, "cid"),
    # PostgreSQL did not log the value.
    ("u", 95, 9, "__debezium_unavailable_value"),
)


@pytest.fixture(scope="module")
def brokers() -> Iterator[KafkaCluster]:
    """Brokers of its own: the names of the topics are Debezium's."""
    with KafkaCluster() as cluster:
        for table in ("customers", "products", "orders"):
            cluster.create_topic(topic_of(table))
        yield cluster


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PipelineServer]:
    """The server with tables that AUTO CDC takes."""
    with pipeline_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def runs(server: PipelineServer, brokers: KafkaCluster) -> dict[str, list[list[dict[str, Any]]]]:
    """The rows of `customers` after each of two runs, in the databases `rows` and `versions`."""
    server.create("rows")
    server.create("versions")
    specs = {"rows": server.project("rows"), "versions": server.project("versions", **WITH_HISTORY)}
    seen: dict[str, list[list[dict[str, Any]]]] = {database: [] for database in specs}
    for changes in (FIRST, LATER):
        produce(brokers.bootstrap_servers, topic_of("customers"), map(_event, changes))
        for database, spec in specs.items():
            code, printed = server.run(spec, brokers.bootstrap_servers)
            assert code == 0, printed
            seen[database].append(server.rows(f"SELECT * FROM lake.{database}.customers"))
    return seen


def _event(change: Row) -> str:
    op, lsn, id_, name = change
    row = {"id": id_, "name": name, "is_regular": True}
    before, after = (row, None) if op == "d" else (None, row)
    return json.dumps(
        {"op": op, "before": before, "after": after, "source": {"lsn": lsn}, "ts_ms": lsn}
    )


def names_of(rows: list[dict[str, Any]]) -> dict[int, str | None]:
    """The name of each row; each id has one row."""
    names = {row["id"]: row["name"] for row in rows}
    assert len(names) == len(rows)
    return names


def test_deletes_and_changed_keys(runs: dict[str, list[list[dict[str, Any]]]]) -> None:
    assert names_of(runs["rows"][0]) == {1: "Ann", 4: "cid", 9: "again"}


def test_repeated_late_and_unavailable_values(runs: dict[str, list[list[dict[str, Any]]]]) -> None:
    assert names_of(runs["rows"][1]) == {1: "Ann", 5: "eve", 9: None}


def test_the_columns_of_the_table(runs: dict[str, list[list[dict[str, Any]]]]) -> None:
    (row,) = (row for row in runs["rows"][1] if row["id"] == 5)
    sequence = row.pop("__spark_autocdc_metadata")["upsertSequence"]
    assert row == {"id": 5, "name": "eve", "is_regular": True}
    assert sequence == {"source_lsn": 85, "offset": len(FIRST) + LATER.index(("u", 85, 5, "eve"))}


def test_history(runs: dict[str, list[list[dict[str, Any]]]]) -> None:
    versions = [
        (
            row["id"],
            row["name"],
            row["__START_AT"]["source_lsn"],
            (row["__END_AT"] or {}).get("source_lsn"),
        )
        for row in runs["versions"][1]
    ]
    # The second of two equal versions of 5 is none.
    assert sorted(versions, key=lambda each: (each[0], each[2])) == [
        (1, "ann", 10, 15),
        (1, "late", 15, 30),
        (1, "Ann", 30, None),
        (2, "bob", 20, 35),
        (2, "late", 35, 40),
        (3, "cid", 50, 60),
        (4, "cid", 60, 90),
        (5, "eve", 80, None),
        (9, "snapshot", 5, 70),
        (9, "again", 70, 95),
        (9, None, 95, None),
    ]


def test_the_pipelines_of_the_page(server: PipelineServer) -> None:
    server.create("page")
    blocks = [each.text for each in statements_of(PAGE) if each.text.startswith("@dp.")]
    with KafkaCluster() as brokers:
        for topic in (topic_of("customers"), "names"):
            brokers.create_topic(topic)
        produce(brokers.bootstrap_servers, topic_of("customers"), map(_event, FIRST))
        records = [(1, "ann"), (2, "bob"), (1, "Ann"), (2, None), (3, "cid")]
        producer = Producer({"bootstrap.servers": brokers.bootstrap_servers})
        for id_, name in records:
            value = None if name is None else json.dumps({"name": name})
            producer.produce("names", value, json.dumps({"id": id_}))
        assert producer.flush(_FLUSH_SECONDS) == 0
        spec = server.project("page")
        (spec.parent / "transformations" / "shop.py").write_text("\n".join([HEAD, *blocks]))
        code, printed = server.run(spec, brokers.bootstrap_servers)
    assert code == 0, printed
    rows = {each: server.rows(f"SELECT * FROM lake.page.{each}") for each in ("customers", "names")}
    assert names_of(rows["customers"]) == {1: "Ann", 4: "cid", 9: "again"}
    assert names_of(rows["names"]) == {1: "Ann", 3: "cid"}


@pytest.mark.usefixtures("runs")
def test_a_change_without_a_position_fails(server: PipelineServer, brokers: KafkaCluster) -> None:
    server.create("unknown")
    code, printed = server.run(
        server.project(
            "unknown",
            **{'change_sequence("source.lsn")': 'change_sequence("nullif(source.lsn, 30)")'},
        ),
        brokers.bootstrap_servers,
    )
    assert code != 0
    assert "AUTOCDC_MICROBATCH_VALIDATION.NULL_SEQUENCE" in printed
    assert server.rows("SELECT * FROM lake.unknown.customers") == []


def test_tables_of_parquet_are_refused(server: PipelineServer, brokers: KafkaCluster) -> None:
    server.rows("CREATE SCHEMA spark_catalog.plain", "SELECT 1")
    code, printed = server.run(
        server.project("plain", catalog="spark_catalog"), brokers.bootstrap_servers
    )
    assert code != 0
    assert _REFUSED in printed
