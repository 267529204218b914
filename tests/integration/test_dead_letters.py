"""Records that cannot be decoded are kept in a topic: the page about them, on a real broker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_spark_source.testing import KafkaCluster
from tests.integration.clients import soon
from tests.integration.conftest import Consume, MakeTopic, Read
from tests.integration.example_processes import ROOT, python_in
from tests.integration.test_operator_commands import Command
from tests.witness import produce

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SOON_SECONDS = 120
GOOD = [b'{"id": 1}', b'{"id": 2}', b'{"id": 3}']
BROKEN = [b'{"id": "x"}', b"\xff\xfe"]
VALUES = [GOOD[0], BROKEN[0], GOOD[1], BROKEN[1], GOOD[2]]


@pytest.fixture
def pykafka(kafka_cluster: KafkaCluster, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(kafka_cluster.bootstrap_servers, capsys)


def headers_of(message: Any) -> dict[str, bytes | None]:
    return dict(message.headers() or [])


def page_of(topic: str, servers: str) -> list[str]:
    blocks = python_in((ROOT / "docs" / "dead-letters.md").read_text())
    return [
        block.replace('"orders', f'"{topic}').replace("localhost:9092", servers) for block in blocks
    ]


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
    stream, again = page_of(topic, servers)
    names: dict[str, Any] = {"spark": spark}
    exec(stream, names)
    to = names["orders"].select("value.id").writeStream.format("parquet")
    to = to.option("path", str(tmp_path / "rows")).trigger(availableNow=True)
    query = to.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        assert query.awaitTermination(SOON_SECONDS)
    finally:
        query.stop()
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
    exec(again, names)
    assert [tuple(row) for row in names["reasons"].collect()] == [("x", "1")]
    (last,) = consume(f"{topic}-dead-letters-again", 0, 1)
    assert last.value() == BROKEN[1]


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
    assert f"It is not left out, as the topic '{small}' of the option deadLetterTopic" in message
