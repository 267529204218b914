"""`format("pykafka")` on Sail: batch reads and writes, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyspark
import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, Producer
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from kafka_spark_source.testing import CONVENIENT, KafkaCluster
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.integration import made_rows
from tests.integration.conftest import Consume, MakeTopic, Read, Write
from tests.integration.example_processes import ROOT, run_example
from tests.jobs import rows_of_topics
from tests.witness import IN_ORDER

pytestmark = pytest.mark.integration

COUNT = 500  # in each of two partitions
START_MS = 1_760_000_000_000
HEADERS: list[tuple[str, str | bytes | None]] = [("kind", b"test"), ("empty", None)]


def key_of(number: int) -> bytes | None:
    return b"key %d" % (number % 7) if number % 3 else None


def value_of(number: int) -> bytes | None:
    return b"value %d" % number if number % 11 else None


@pytest.fixture
def topic(kafka_cluster: KafkaCluster, make_topic: MakeTopic) -> str:
    """A topic that librdkafka filled; the records of both partitions are equal."""
    name = make_topic(partitions=2)
    producer = Producer({"bootstrap.servers": kafka_cluster.bootstrap_servers, **IN_ORDER})
    for partition in range(2):
        for number in range(COUNT):
            producer.produce(
                name,
                value_of(number),
                key_of(number),
                partition,
                timestamp=START_MS + number,
                headers=HEADERS,
            )
    assert producer.flush(30) == 0
    return name


def rows_of(df: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in df.select("partition", "offset", *columns).collect())


def test_the_client_has_no_jars(spark: SparkSession) -> None:
    assert not [*Path(pyspark.__file__).parent.rglob("*.jar")]
    assert type(spark).__module__.startswith("pyspark.sql.connect")


@pytest.mark.core
def test_every_column(read: Read, topic: str) -> None:
    df = read(subscribe=topic, includeHeaders="true")
    assert df.columns == [
        *("key", "value", "topic", "partition", "offset", "timestamp", "timestampType"),
        "headers",
    ]
    millis = df.selectExpr("*", "unix_millis(timestamp) AS ms")
    rows = rows_of(millis, "key", "value", "topic", "ms", "timestampType", "headers")
    assert rows == [
        (partition, number, key_of(number), value_of(number), topic, START_MS + number, 0, HEADERS)
        for partition in range(2)
        for number in range(COUNT)
    ]


def test_a_projection_with_any_types(spark: SparkSession, read: Read, topic: str) -> None:
    """Sail gives timestamps the session's time zone, and the items of lists a name of its own."""
    headers = "headers array<struct<key string, value binary>>"
    schema = f"{headers}, timestamp timestamp, offset long"
    rows = read(schema, subscribe=topic, includeHeaders="true").where("offset = 3").collect()
    at = datetime.fromtimestamp((START_MS + 3) / 1000, timezone.utc).replace(tzinfo=None)
    assert rows == [(HEADERS, at, 3)] * 2


@pytest.mark.parametrize("push_down", ["false", "true"])
def test_filters(read: Read, topic: str, push_down: str) -> None:
    df = read(subscribe=topic, pushDownPredicate=push_down)
    late = f"timestamp >= timestamp_millis({START_MS + 490})"
    filtered = df.where(f"partition = 1 AND offset < 495 AND {late}")
    assert rows_of(filtered) == [(1, number) for number in range(490, 495)]
    assert df.where("offset >= 100").count() == 2 * (COUNT - 100)


def test_offsets(read: Read, topic: str) -> None:
    ends = {"startingOffsets": f'{{"{topic}": {{"0": 10, "1": -2}}}}'}
    ends["endingOffsets"] = f'{{"{topic}": {{"0": 12, "1": 1}}}}'
    assert rows_of(read(subscribe=topic, **ends)) == [(0, 10), (0, 11), (1, 0)]


@pytest.mark.core
def test_the_newest_record_of_each_key(read: Read, topic: str) -> None:
    table = read(subscribe=topic, envelope="upsert", **{"upsert.nullKeys": "keep"})
    newest = {key_of(number): number for number in range(COUNT)}
    assert rows_of(table, "key", "value", "op") == [
        (partition, number, key, value_of(number), "u")
        for partition in range(2)
        for key, number in sorted(newest.items(), key=lambda each: each[1])
        if value_of(number) is not None
    ]


@pytest.mark.parametrize("name", made_rows.RECORDS)
def test_rows_that_are_made_of_records(
    name: str, read: Read, kafka_cluster: KafkaCluster, make_topic: MakeTopic, consume: Consume
) -> None:
    topic, letters = make_topic(), make_topic()
    made_rows.fill(kafka_cluster.bootstrap_servers, {name: topic})
    query = rows_of_topics.QUERIES[name]
    aside = {"deadLetterTopic": letters} if name == "dead letters" else {}
    df = read(query.schema, subscribe=topic, **query.options, **aside)
    made_rows.check(name, rows_of_topics.rows_of(df.selectExpr(*query.columns)))
    if aside:
        assert [each.value() for each in consume(letters, 0, 1)] == [made_rows.BROKEN]


@pytest.mark.core
def test_a_write_is_read_back(
    write: Write, topic: str, read: Read, make_topic: MakeTopic, consume: Consume
) -> None:
    copy = make_topic(partitions=2)
    write(read(subscribe=topic, includeHeaders="true"), topic=copy)
    for partition in range(2):
        records = consume(copy, partition, COUNT)
        assert [(each.key(), each.value()) for each in records] == [
            (key_of(number), value_of(number)) for number in range(COUNT)
        ]
        assert all(each.headers() == HEADERS for each in records)
        assert records[5].timestamp() == (TIMESTAMP_CREATE_TIME, START_MS + 5)


def test_structs_as_json(spark: SparkSession, read: Read, write: Write, topic: str) -> None:
    df = spark.sql("SELECT struct(7 AS id, array('a', 'b') AS tags) AS value")
    json = {"value.format": "json", "value.schema": "id int, tags array<string>"}
    written = {"startingOffsets": f'{{"{topic}": {{"0": {COUNT}, "1": {COUNT}}}}}'}
    write(df, topic=topic, value_format="json")
    rows = read(subscribe=topic, **written, **json).select("value.*").collect()
    assert rows == [(7, ["a", "b"])]


def test_exactly_once_is_refused(spark: SparkSession, write: Write, topic: str) -> None:
    df = spark.sql("SELECT 'a' AS value")
    guarantee = {"deliveryGuarantee": "exactly_once", "transactionalIdPrefix": "job"}
    expect("exactly_once' needs Apache Spark", lambda: write(df, topic=topic, **guarantee))


def test_options_of_streams_are_refused(read: Read, topic: str) -> None:
    df = read(subscribe=topic, maxOffsetsPerTrigger="10")
    expect("'maxOffsetsPerTrigger' needs Apache Spark", df.count)


def test_overwriting_is_refused(spark: SparkSession, servers: dict[str, str]) -> None:
    writer = spark.sql("SELECT 'a' AS value").write.format("pykafka").options(**servers, topic="t")
    expect("Save mode Overwrite not allowed", writer.mode("overwrite").save)


def test_a_missing_topic_is_named(read: Read) -> None:
    expect(r"topic 'missing' .* UNKNOWN_TOPIC_OR_PARTITION", read(subscribe="missing").count)


@pytest.mark.parametrize("is_local", [False, True])
def test_the_example(kafka_cluster_factory: ClusterFactory, is_local: bool) -> None:
    own = (
        ()
        if is_local
        else ("--servers", kafka_cluster_factory(config=CONVENIENT).bootstrap_servers)
    )
    shown = run_example("examples/sail.py", *own)
    lines = {tuple(cell.strip() for cell in line.split("|")) for line in shown.splitlines()}
    assert {row[1:3] for row in lines if len(row) > 3} >= {("ann", "2 pears"), ("bob", "1 plum")}


def test_docs_show_the_example() -> None:
    code = (ROOT / "examples" / "sail.py").read_text().split("# --- docs ---\n")[1]
    docs = (ROOT / "docs" / "sail.md").read_text()
    assert code.replace(": servers}", ': "localhost:9092"}') in docs


def expect(error: str, action: Callable[[], object]) -> None:
    """The sentence of an error of ours arrives at the client."""
    with pytest.raises(PySparkException, match=error):
        action()


def test_many_queries_with_many_small_batches(
    read: Read, kafka_cluster: KafkaCluster, make_topic: MakeTopic
) -> None:
    """Sail 0.7.2 hangs where batches refer to Python's memory (docs/upstream/sail.md)."""
    name = make_topic(partitions=8)
    producer = Producer({"bootstrap.servers": kafka_cluster.bootstrap_servers, **IN_ORDER})
    for number in range(8 * COUNT):
        producer.produce(name, value_of(number), key_of(number), number % 8, headers=HEADERS)
    assert producer.flush(30) == 0
    for _ in range(20):
        df = read(subscribe=name, includeHeaders="true", maxRecordsPerPartition="20")
        assert df.where("offset >= 0").count() == 8 * COUNT


def test_a_filtered_write_of_one_partition(
    write: Write, topic: str, read: Read, make_topic: MakeTopic, consume: Consume
) -> None:
    """Without `coalesce` Sail 0.7.2 fails after it has written (docs/upstream/sail.md)."""
    copy = make_topic()
    rows = read(subscribe=topic).where("partition = 0 AND offset >= 400")
    write(rows.select("key", "value").coalesce(1), topic=copy)
    values = [each.value() for each in consume(copy, 0, COUNT - 400)]
    assert values == [value_of(number) for number in range(400, COUNT)]
