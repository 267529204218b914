"""The same job on a Spark cluster and through Spark Connect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import Producer as Librdkafka

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_spark_source.testing import KafkaCluster
from tests.integration import made_rows
from tests.integration.clients import soon
from tests.integration.conftest import Consume, MakeTopic
from tests.own_process import run_module

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.slow]

PARTITIONS = 6
COUNT = 500  # in each

Written = dict[int, list[tuple[bytes | None, bytes | None]]]


def records_of(partition: int) -> list[tuple[bytes | None, bytes | None]]:
    """Records whose keys do not decide the partition; some keys and values are null."""
    return [
        (b"key %d" % (number % 7) if number % 3 else None, b"%d-%d" % (partition, number))
        for number in range(COUNT - 1)
    ] + [(b"last", None)]


@pytest.fixture
def source(kafka_cluster: KafkaCluster, make_topic: MakeTopic) -> str:
    topic = make_topic(partitions=PARTITIONS)
    producer = Librdkafka({"bootstrap.servers": kafka_cluster.bootstrap_servers})
    for partition in range(PARTITIONS):
        for key, value in records_of(partition):
            producer.produce(topic, value, key, partition)
    assert producer.flush(30) == 0
    return topic


SESSIONS = pytest.mark.parametrize(
    ("kind", "url", "executors"),
    [("master", "local-cluster[2,1,1024]", 2), ("remote", "local[2]", 1)],
    ids=["Spark cluster", "Spark Connect"],
)


@SESSIONS
def test_the_doctor_sees_every_executor(
    tmp_path: Path,
    kafka_cluster: KafkaCluster,
    make_topic: MakeTopic,
    kind: str,
    url: str,
    executors: int,
) -> None:
    servers, topic = kafka_cluster.bootstrap_servers, make_topic()
    places = run_module(tmp_path, "tests.jobs.doctor", kind, url, servers, topic)
    assert places[0] == ["driver", True]
    assert len(places) == 1 + executors
    assert all(is_good for _, is_good in places)


@SESSIONS
def test_the_same_job(
    tmp_path: Path,
    kafka_cluster: KafkaCluster,
    source: str,
    make_topic: MakeTopic,
    consume: Consume,
    kind: str,
    url: str,
    executors: int,
) -> None:
    target = make_topic(partitions=PARTITIONS)
    rows = run_module(
        tmp_path,
        "tests.jobs.copy_topic",
        kind,
        url,
        kafka_cluster.bootstrap_servers,
        source,
        target,
    )
    read = sorted(tuple(row[:4]) for row in rows)
    assert read == [
        (partition, offset, key and key.decode(), value and value.decode())
        for partition in range(PARTITIONS)
        for offset, (key, value) in enumerate(records_of(partition))
    ]
    assert len({row[4] for row in rows}) == executors
    # The sink uses the partition column, and keeps the order of the rows.
    for partition in range(PARTITIONS):
        copies = consume(target, partition, COUNT)
        assert [(each.key(), each.value()) for each in copies] == records_of(partition)


@pytest.mark.core
def test_rows_that_are_made_of_records_through_spark_connect(
    tmp_path: Path,
    kafka_cluster: KafkaCluster,
    make_topic: MakeTopic,
    consume: Consume,
    cluster: Cluster,
) -> None:
    servers = kafka_cluster.bootstrap_servers
    topics = {name: make_topic() for name in made_rows.RECORDS}
    letters = f"{topics['dead letters']}-letters"
    create_topic(cluster, NewTopic(letters, 1), soon())
    made_rows.fill(servers, topics)
    arguments = ("remote", "local[2]", servers, str(tmp_path), json.dumps(topics))
    found = run_module(tmp_path, "tests.jobs.rows_of_topics", *arguments)
    for name in made_rows.RECORDS:
        for rows in found[name]:
            made_rows.check(name, rows)
    assert [each.value() for each in consume(letters, 0, 2)] == [made_rows.BROKEN] * 2
