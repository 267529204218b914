"""Filters that are pushed down to the read, and a DataFrame that is used twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer as Librdkafka
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSourceReader

from kafka_protocol.client.clock import now_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.integration.clients import soon
from tests.integration.conftest import MakeTopic, Read
from tests.integration.topics import delete_records
from tests.spark_session import settings

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SWITCH = "spark.sql.python.filterPushdown.enabled"
HAS_PUSHDOWN = hasattr(DataSourceReader, "pushFilters")
since_4_1 = pytest.mark.skipif(not HAS_PUSHDOWN, reason="PySpark 4.0 pushes no filters")

START_MS = 1_760_000_000_000
PARTITIONS = 3
COUNT = 20


@pytest.fixture
def topic(kafka_cluster: KafkaCluster, make_topic: MakeTopic) -> str:
    """Three partitions of 20 records, one for each second."""
    name = make_topic(partitions=PARTITIONS)
    producer = Librdkafka({"bootstrap.servers": kafka_cluster.bootstrap_servers})
    for partition in range(PARTITIONS):
        for number in range(COUNT):
            time_ms = START_MS + number * 1_000
            producer.produce(name, b"%d" % number, None, partition, timestamp=time_ms)
    assert producer.flush(30) == 0
    return name


@pytest.fixture
def switched_on(spark: SparkSession) -> Iterator[None]:
    with settings(spark, {SWITCH: "true"}):
        yield


def kept(df: DataFrame) -> set[tuple[int, int]]:
    return {(row["partition"], row["offset"]) for row in df.select("partition", "offset").collect()}


FILTERS = [
    ("partition = 1", 1, {(1, n) for n in range(COUNT)}),
    ("partition in (0, 2) and offset >= 18", 2, {(p, n) for p in (0, 2) for n in (18, 19)}),
    ("offset between 3 and 4", 3, {(p, n) for p in range(PARTITIONS) for n in (3, 4)}),
    ("offset > 100", 0, set()),
    (
        # Spark pushes down a timestamp in microseconds.
        f"timestamp >= timestamp_millis({START_MS + 17_500}) and partition < 1",
        1,
        {(0, 18), (0, 19)},
    ),
    (f"timestamp > timestamp_millis({START_MS + 90_000})", 0, set()),
    # These limit no offsets: Spark filters the rows.
    (f"timestamp < timestamp_millis({START_MS + 1_000})", 3, {(p, 0) for p in range(PARTITIONS)}),
    ("value = '7' or partition = 0", 3, None),
]


@since_4_1
@pytest.mark.usefixtures("switched_on")
@pytest.mark.parametrize(
    ("condition", "tasks", "expected"), FILTERS, ids=[f[0][:40] for f in FILTERS]
)
def test_filters_decide_what_is_read(
    read: Read, topic: str, condition: str, tasks: int, expected: set[tuple[int, int]] | None
) -> None:
    without = kept(read(subscribe=topic).where(condition))
    assert expected is None or without == expected
    apart = {"pushDownPredicate": True, "coalescePartitions": False}
    filtered = read(subscribe=topic, **apart).where(condition)
    # Spark runs one empty task if no partition is left.
    assert filtered.rdd.getNumPartitions() == max(1, tasks)
    assert kept(read(subscribe=topic, pushDownPredicate=True).where(condition)) == without


@since_4_1
@pytest.mark.usefixtures("switched_on")
def test_rows_of_a_time_that_the_broker_does_not_find(
    kafka_cluster: KafkaCluster, cluster: Cluster, make_topic: MakeTopic, read: Read
) -> None:
    """Kafka looks into one segment: that of the deleted record with a timestamp late enough."""
    name = make_topic()
    producer = Librdkafka({"bootstrap.servers": kafka_cluster.bootstrap_servers})
    # The last record is so much later that its segment is another one.
    for timestamp_ms in (START_MS + 9_000, START_MS, now_ms()):
        producer.produce(name, b"", timestamp=timestamp_ms)
        assert producer.flush(30) == 0
    delete_records(cluster, name, 1)
    since_ms = START_MS + 5_000
    assert list_offsets(cluster, {TopicPartition(name, 0): since_ms}, soon()) == {
        TopicPartition(name, 0): -1
    }, "this Kafka finds it: the check of the log's start can be removed"
    condition = f"timestamp >= timestamp_millis({since_ms})"
    assert kept(read(subscribe=name, pushDownPredicate=True).where(condition)) == {(0, 2)}


@since_4_1
def test_without_sparks_switch_the_error_names_it(read: Read, topic: str) -> None:
    with pytest.raises(PySparkException, match=SWITCH):
        read(subscribe=topic, pushDownPredicate=True).collect()


@since_4_1
@pytest.mark.usefixtures("switched_on")
def test_without_the_option_a_data_frame_can_be_used_twice(read: Read, topic: str) -> None:
    df = read(subscribe=topic)
    both = df.where("partition = 0").union(df.where("partition = 1"))
    assert both.count() == 2 * COUNT
    assert df.count() == PARTITIONS * COUNT


@since_4_1
@pytest.mark.usefixtures("switched_on")
def test_spark_uses_the_filters_of_one_query_for_the_next(read: Read, topic: str) -> None:
    """The reason why the option is off by default: the second query gets the filters of the first.

    If this test fails, Spark has fixed it, and the option can be removed.
    """
    df = read(subscribe=topic, pushDownPredicate=True)
    assert df.where("partition = 0").count() == COUNT
    assert df.count() == COUNT  # of 60


@pytest.mark.skipif(HAS_PUSHDOWN, reason="only PySpark 4.0 pushes no filters")
def test_the_option_needs_pyspark_4_1(read: Read, topic: str) -> None:
    with pytest.raises(PySparkException, match=r"'pushDownPredicate' needs PySpark 4\.1"):
        read(subscribe=topic, pushDownPredicate=True).collect()
