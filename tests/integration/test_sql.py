"""Each statement of docs/sql.md, on a real broker and each release of PySpark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import MakeTopic, run_stream
from tests.integration.example_processes import ROOT
from tests.witness import produce, values_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.timeout(300),
]

PAGE: Final = (ROOT / "docs" / "sql.md").read_text()
# Of these a test has its own.
REST: Final = "## What Spark cannot do with a Python source"
FILLS_COLUMNS: Final = pyspark.__version__ >= "4.1"
NAMELESS: Final = "there is no option at all. If this is a table"


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session without tables after the test."""
    yield spark
    for table in spark.catalog.listTables():
        kind = "VIEW" if table.isTemporary else "TABLE"
        spark.sql(f"DROP {kind} IF EXISTS {table.name}")


def statements(text: str) -> list[str]:
    blocks = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    return [each.strip() for block in blocks for each in block.split(";") if each.strip()]


class Topic:
    """A topic with one partition, and the options of a table of it."""

    def __init__(self, servers: str, name: str) -> None:
        self.name = name
        self.options = {"kafka.bootstrap.servers": servers, "topic": name}
        self._servers = servers

    @property
    def sql(self) -> str:
        return ", ".join(f"'{name}' '{value}'" for name, value in self.options.items())

    def write(self, *values: str) -> None:
        produce(self._servers, self.name, values)

    def values(self) -> list[str]:
        return values_of(self._servers, self.name, 0)


@pytest.fixture
def new_topic(kafka_cluster: KafkaCluster, make_topic: MakeTopic) -> Callable[[], Topic]:
    return lambda: Topic(kafka_cluster.bootstrap_servers, make_topic(1))


@pytest.mark.core
def test_the_statements_of_the_page(
    session: SparkSession, new_topic: Callable[[], Topic], tmp_path: Path
) -> None:
    topic = new_topic()
    topic.write("first")
    page = PAGE.partition(REST)[0]
    page = page.replace("localhost:9092", topic.options["kafka.bootstrap.servers"])
    page = page.replace("topic 'orders'", f"topic '{topic.name}'")
    page = page.replace("subscribe 'orders'", f"subscribe '{topic.name}'")
    results = {}
    repeated = ["first"] if FILLS_COLUMNS else []
    for statement in statements(page):
        if "BY NAME" in statement and not FILLS_COLUMNS:
            continue
        if "(key, value) VALUES" in statement and not FILLS_COLUMNS:
            values = statement.partition(" VALUES ")[2]
            statement = f"INSERT INTO orders VALUES {values[:-1]}{', NULL' * 5})"  # noqa: PLW2901
        if statement.startswith("DROP"):
            (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
            names: dict[str, object] = {"spark": session}
            exec(code, names)
            rows = names["rows"]
            assert streamed(rows, tmp_path) == ["first", '{"id": 1}', *repeated]
        results[statement.split()[0] + statement[-20:]] = session.sql(statement).collect()
    columns = next(rows for key, rows in results.items() if key.startswith("DESCRIBE"))
    assert [each.col_name for each in columns][:3] == ["key", "value", "topic"]
    assert topic.values() == ["first", '{"id": 1}', *repeated, '{"id": 2}']
    count = 2 + len(repeated)
    assert any(rows and rows[0][0] == count for rows in results.values())


def streamed(rows: object, folder: Path) -> list[str]:
    to = rows.writeStream.format("memory").queryName("streamed")  # type: ignore[attr-defined]
    run_stream(to.option("checkpointLocation", str(folder)))
    table = rows.sparkSession.table("streamed")  # type: ignore[attr-defined]
    return [bytes(row.value).decode() for row in table.orderBy("offset").collect()]


@pytest.mark.slow
def test_columns_of_a_table_that_are_written_elsewhere(
    session: SparkSession, new_topic: Callable[[], Topic]
) -> None:
    """They keep the options of their table, which are not those of the write."""
    source, target = new_topic(), new_topic()
    source.write("a")
    session.sql(f"CREATE TABLE t USING pykafka OPTIONS ({source.sql})")
    rows = session.table("t")
    rows.write.format("pykafka").options(**target.options).mode("append").save()
    assert target.values() == ["a"]
    rows.writeTo("t").append()
    rows.write.insertInto("t")
    assert source.values() == ["a"] * 4


def test_options_with_a_query_count_before_those_of_the_table(
    session: SparkSession, new_topic: Callable[[], Topic]
) -> None:
    topic = new_topic()
    topic.write("a", "b")
    session.sql(
        f"CREATE TABLE t USING pykafka OPTIONS ({topic.sql}) COMMENT 'c' "
        "TBLPROPERTIES ('owner-of-data' = 'me')"
    )
    ends = f'{{"{topic.name}":{{"0":1}}}}'
    assert session.read.option("endingOffsets", ends).table("t").count() == 1
    assert session.table("t").count() == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("CREATE TABLE t (value BINARY) USING pykafka OPTIONS ({0}); SELECT * FROM t", NAMELESS),
        (
            "CREATE TABLE t (value BINARY) USING pykafka OPTIONS ({0}); "
            "INSERT INTO t VALUES (CAST('a' AS BINARY))",
            NAMELESS,
        ),
        (
            "CREATE TABLE t USING pykafka OPTIONS ({0}) AS SELECT CAST('a' AS BINARY) AS value",
            NAMELESS,
        ),
        (
            "CREATE TABLE t USING pykafka OPTIONS ({0}); INSERT OVERWRITE t SELECT * FROM t",
            "in SQL write INSERT INTO",
        ),
        (
            "CREATE TABLE t USING pykafka OPTIONS ({0}, 'schema.registry.url' 'http://u:p@a', "
            "'value.format' 'avro', 'value.schema' '\"long\"')",
            "Option 'schema.registry.url' holds a secret",
        ),
    ],
    ids=["columns, read", "columns, insert", "as select", "overwrite", "secret"],
)
def test_what_cannot_be_done(
    session: SparkSession, new_topic: Callable[[], Topic], statement: str, reason: str
) -> None:
    topic = new_topic()
    *before, last = statement.format(topic.sql).split("; ")
    for each in before:
        session.sql(each)
    with pytest.raises(PySparkException, match=re.escape(reason)):
        session.sql(last).collect()
    assert topic.values() == []


@pytest.mark.slow
def test_a_table_that_spark_made_by_itself(
    session: SparkSession, new_topic: Callable[[], Topic]
) -> None:
    rows = session.sql("SELECT CAST('a' AS BINARY) AS value")
    to = new_topic().options
    rows.write.format("pykafka").options(**to).mode("append").saveAsTable("t")
    with pytest.raises(PySparkException, match=NAMELESS):
        session.table("t").collect()
