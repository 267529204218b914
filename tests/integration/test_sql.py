"""Each statement of docs/sql.md, on a real broker and each release of PySpark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafka_spark_source.schema import source_schema
from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import MakeTopic, run_stream
from tests.pages.tour import Tour
from tests.witness import produce, values_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.timeout(300),
]

NAMELESS: Final = "there is no option at all. If this is a table"
UNADDRESSED: Final = "'kafka.bootstrap.servers' must be specified .* also to write to a table"
SCHEMA: Final = source_schema(include_headers=False)


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session without tables after the test."""
    yield spark
    for table in spark.catalog.listTables():
        kind = "VIEW" if table.isTemporary else "TABLE"
        spark.sql(f"DROP {kind} IF EXISTS {table.name}")


class Topic:
    """A topic with one partition, and the options of a table of it."""

    def __init__(self, servers: str, name: str) -> None:
        self.name = name
        self.servers = servers
        self.options = {"kafka.bootstrap.servers": servers, "topic": name}

    @property
    def sql(self) -> str:
        return ", ".join(f"'{name}' '{value}'" for name, value in self.options.items())

    def write(self, *values: str) -> None:
        produce(self.servers, self.name, values)

    def values(self) -> list[str]:
        return values_of(self.servers, self.name, 0)


NewTopic = Callable[[], Topic]


@pytest.fixture
def new_topic(kafka_cluster: KafkaCluster, make_topic: MakeTopic) -> NewTopic:
    return lambda: Topic(kafka_cluster.bootstrap_servers, make_topic(1))


def test_the_statements_of_the_page(
    session: SparkSession, new_topic: NewTopic, tmp_path: Path
) -> None:
    orders, copy = new_topic(), new_topic()
    orders.write("first")
    replaced = {"localhost:9092": orders.servers, "/data/": f"{tmp_path}/"}
    for name, topic in (("orders", orders), ("copy", copy)):
        for before in ("topic ", "topic = ", "subscribe "):
            replaced[f"{before}'{name}'"] = f"{before}'{topic.name}'"
        replaced[f'"topic": "{name}"'] = f'"topic": "{topic.name}"'
    every = ["first", '{"id": 1}']
    with Tour("docs/sql.md", {"spark": session}, replaced) as tour:
        tour.run_to("readStream")
        tour.run()
        assert streamed(tour.names["rows"], tmp_path) == ["first"]
        tour.run_to('df.writeTo("new_orders")')
        assert copy.values() == [*every, *every, *every]
        assert orders.values() == every * 2
        write_as_the_table_says(tour, session)
        every = orders.values()
        assert every[4:] == ["writeTo a view", "insertInto a view"]
        assert copy.values()[6:] == ["writeTo", "saveAsTable", *every]
        tour.run_to('df.writeTo("t")')
        try_what_spark_cannot_do(tour, session)
        assert (orders.values(), copy.values()[14:]) == (every, ["saveAsTable", "create"])
    results = tour.results
    (columns,) = (rows for statement, rows in results.items() if statement.startswith("DESCRIBE"))
    assert [each.col_name for each in columns][:3] == ["key", "value", "topic"]
    assert [rows[0][0] for each, rows in results.items() if "count(*)" in each] == [6]
    assert not session.catalog.tableExists("orders")


def write_as_the_table_says(tour: Tour, session: SparkSession) -> None:
    for value in ("writeTo a view", "insertInto a view"):
        tour.names["df"] = session.createDataFrame([("k", value)], "key string, value string")
        tour.run('"new_orders"')
    for value in ("writeTo", "saveAsTable"):
        tour.names["df"] = row_of("orders", value, session)
        tour.run('"orders"')
    stream = session.readStream.option("startingOffsets", "earliest").table("orders")
    tour.names["stream"] = stream
    tour.run("toTable")
    (query,) = session.streams.active
    query.processAllAvailable()
    query.stop()
    with pytest.raises(PySparkException, match=UNADDRESSED):
        tour.run("insertInto")


def try_what_spark_cannot_do(tour: Tour, session: SparkSession) -> None:
    session.sql("CREATE TABLE t USING pykafka OPTIONS ('kafka.bootstrap.servers' 'b:1', topic 't')")
    for call in ("writeTo", "insertInto"):
        tour.names["df"] = row_of("t", "refused", session)
        with pytest.raises(PySparkException, match=UNADDRESSED):
            tour.run(call)
    for call in ("saveAsTable", "create"):
        session.sql("DROP TABLE t")
        tour.names["df"] = session.createDataFrame([(call,)], "value string")
        tour.run(call)


def row_of(table: str, value: str, session: SparkSession) -> DataFrame:
    """A row with the columns of a table and nothing else of it."""
    columns = [
        f"{each.name} {each.dataType.simpleString()}" for each in session.table(table).schema
    ]
    row = [value.encode() if name.startswith("value ") else None for name in columns]
    return session.createDataFrame([tuple(row)], ", ".join(columns))


def streamed(rows: object, folder: Path) -> list[str]:
    to = rows.writeStream.format("memory").queryName("streamed")  # type: ignore[attr-defined]
    run_stream(to.option("checkpointLocation", str(folder)))
    table = rows.sparkSession.table("streamed")  # type: ignore[attr-defined]
    return [bytes(row.value).decode() for row in table.orderBy("offset").collect()]


# --- Where rows go -------------------------------------------------------------------------------


def insert_from_view(rows: DataFrame, table: str) -> None:
    rows.createOrReplaceTempView("new_rows")
    rows.sparkSession.sql(f"INSERT INTO {table} SELECT * FROM new_rows")


def insert_by_name(rows: DataFrame, table: str) -> None:
    rows.createOrReplaceTempView("new_rows")
    rows.sparkSession.sql(f"INSERT INTO {table} BY NAME SELECT * FROM new_rows")


WAYS: Final[dict[str, Callable[[DataFrame, str], None]]] = {
    "INSERT": insert_from_view,
    "INSERT BY NAME": insert_by_name,
    "insertInto": lambda rows, table: rows.write.insertInto(table),
    "writeTo": lambda rows, table: rows.writeTo(table).append(),
    "saveAsTable": lambda rows, table: (
        rows.write.format("pykafka").mode("append").saveAsTable(table)
    ),
    "save": lambda rows, _table: rows.write.format("pykafka").mode("append").save(),
    "save with an argument": lambda rows, table: (
        rows.write.format("pykafka").mode("append").save(table)
    ),
}


@pytest.mark.parametrize(
    ("origin", "ways"),
    [
        ("a forged file", list(WAYS)),
        pytest.param("a file of its rows", ["INSERT", "save"], marks=pytest.mark.core),
        ("the table", ["INSERT BY NAME", "writeTo"]),
    ],
)
def test_what_rows_bring_along_does_not_decide_where_they_go(
    session: SparkSession, new_topic: NewTopic, tmp_path: Path, origin: str, ways: list[str]
) -> None:
    source, target, victim = new_topic(), new_topic(), new_topic()
    source.write("a")
    for name, topic in (("source", source), ("target", target), ("victim", victim)):
        session.sql(f"CREATE TABLE {name} USING pykafka OPTIONS ({topic.sql})")
    rows = session.table("source")
    if origin != "the table":
        if origin == "a forged file":
            rows = session.createDataFrame(rows.rdd, session.table("victim").schema)
        rows.write.parquet(f"{tmp_path}/rows")
        rows = session.read.parquet(f"{tmp_path}/rows")
    assert rows.schema["value"].metadata
    for way in ways:
        with pytest.raises(PySparkException, match=UNADDRESSED):
            WAYS[way](rows, "target")
    assert [each.values() for each in (source, target, victim)] == [["a"], [], []]


def test_a_stream_into_a_table_needs_its_own_options(
    session: SparkSession, new_topic: NewTopic, tmp_path: Path
) -> None:
    source, target = new_topic(), new_topic()
    source.write("a")
    for name, topic in (("source", source), ("target", target)):
        session.sql(f"CREATE TABLE {name} USING pykafka OPTIONS ({topic.sql})")
    rows = session.readStream.option("startingOffsets", "earliest").table("source")
    to = rows.writeStream.trigger(availableNow=True)
    with pytest.raises(PySparkException, match=UNADDRESSED):
        finish(to.option("checkpointLocation", f"{tmp_path}/1").toTable("target"))
    assert (source.values(), target.values()) == (["a"], [])
    to = to.options(**target.options)
    finish(to.option("checkpointLocation", f"{tmp_path}/2").toTable("target"))
    assert (source.values(), target.values()) == (["a"], ["a"])


def finish(query: StreamingQuery) -> None:
    try:
        assert query.awaitTermination(180), query.status
    finally:
        query.stop()


def test_options_of_the_write_and_of_a_view_decide(
    session: SparkSession, new_topic: NewTopic
) -> None:
    source, target = new_topic(), new_topic()
    source.write("a")
    for name, topic in (("source", source), ("target", target)):
        session.sql(f"CREATE TABLE {name} USING pykafka OPTIONS ({topic.sql})")
    columns = ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in SCHEMA)
    session.sql(f"CREATE TEMPORARY VIEW into ({columns}) USING pykafka OPTIONS ({target.sql})")
    rows = session.table("source")
    for name in ("INSERT", "INSERT BY NAME", "insertInto", "writeTo"):
        WAYS[name](rows, "into")
    rows.write.format("pykafka").options(**target.options).mode("append").save()
    rows.write.format("pykafka").options(**target.options).mode("append").saveAsTable("source")
    rows.writeTo("source").options(**target.options).append()
    assert (source.values(), target.values()) == (["a"], ["a"] * 7)
    with pytest.raises(PySparkException, match=UNADDRESSED):
        rows.write.options(**target.options).insertInto("target")


def test_options_with_a_query_count_before_those_of_the_table(
    session: SparkSession, new_topic: NewTopic
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
            UNADDRESSED,
        ),
        (
            "CREATE TABLE t USING pykafka OPTIONS ({0}) AS SELECT CAST('a' AS BINARY) AS value",
            UNADDRESSED,
        ),
        (
            "CREATE TABLE t USING pykafka OPTIONS ({0}, 'deliveryGuarantee' 'exactly_once')",
            "Option 'deliveryGuarantee' is for a write, not for a read",
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
    ids=["columns, read", "columns, insert", "as select", "of writes", "overwrite", "secret"],
)
def test_what_cannot_be_done(
    session: SparkSession, new_topic: NewTopic, statement: str, reason: str
) -> None:
    topic = new_topic()
    *before, last = statement.format(topic.sql).split("; ")
    for each in before:
        session.sql(each)
    with pytest.raises(PySparkException, match=reason):
        session.sql(last).collect()
    assert topic.values() == []


@pytest.mark.slow
def test_a_table_that_spark_made_by_itself(session: SparkSession, new_topic: NewTopic) -> None:
    rows = session.sql("SELECT CAST('a' AS BINARY) AS value")
    to = new_topic().options
    rows.write.format("pykafka").options(**to).mode("append").saveAsTable("t")
    with pytest.raises(PySparkException, match=NAMELESS):
        session.table("t").collect()
