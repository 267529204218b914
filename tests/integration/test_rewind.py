"""Queries that are rewound with `pykafka checkpoint rewind` read exactly what comes after."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.integration.command_line import Command, pykafka, topic
from tests.integration.conftest import MakeTopic, run_stream
from tests.witness import produce, values_of

__all__ = ["pykafka", "topic"]  # fixtures

pytestmark = [pytest.mark.integration, pytest.mark.spark]

ALL = [*(f"a{number}" for number in range(5)), *(f"b{number}" for number in range(3))]
OLD = 1_000_000_000
SOON_SECONDS = 120
RUNS = 2  # before PySpark 4.2 a run with availableNow is one micro-batch


def values(spark: SparkSession, servers: str, topic: str, **options: str) -> DataFrame:
    reader = spark.readStream.format("pykafka").option("kafka.bootstrap.servers", servers)
    rows = reader.options(**options).options(subscribe=topic, startingOffsets="earliest").load()
    return rows.selectExpr("cast(value as string) value")


def run(df: DataFrame, checkpoint: Path, to: str, **options: str) -> None:
    """The query reads what is there, and ends."""
    writer = df.writeStream.format(to).options(**options)
    run_stream(writer.option("checkpointLocation", str(checkpoint)))


def let_rest(checkpoint: Path) -> None:
    """As if the query had ended long ago."""
    for file in checkpoint.rglob("*"):
        os.utime(file, (OLD, OLD))


def lose_commit(checkpoint: Path, number: int) -> None:
    """As if the driver had died after the sink was done, and before Spark noted that."""
    for name in (str(number), f".{number}.crc"):
        (checkpoint / "commits" / name).unlink(missing_ok=True)


def files(spark: SparkSession, folder: Path) -> list[str]:
    return sorted(row["value"] for row in spark.read.text(str(folder)).collect())


def test_a_query_reads_from_there_on(
    spark: SparkSession, kafka_cluster: KafkaCluster, pykafka: Command, topic: str, tmp_path: Path
) -> None:
    servers, checkpoint, out = kafka_cluster.bootstrap_servers, tmp_path / "ck", tmp_path / "out"
    run(values(spark, servers, topic), checkpoint, "text", path=str(out))
    assert files(spark, out) == ALL
    rewound = ("checkpoint", "rewind", str(checkpoint), "--to", f'{{"{topic}":{{"0":3}}}}')
    pykafka(*rewound, "--yes", code=1)
    assert "may be running" in pykafka.errors
    let_rest(checkpoint)
    before = (checkpoint / "offsets" / "0").read_text()
    assert "2 records at most are read" in pykafka(*rewound, "--dry-run")
    pykafka(*rewound, code=1)
    assert "not confirmed (use --yes)" in pykafka.errors
    assert (checkpoint / "offsets" / "0").read_text() == before
    found = json.loads(pykafka(*rewound, "--yes", "-o", "json"))
    assert (found["read_again"], found["skipped"], found["is_unfinished"]) == (2, 0, False)
    assert (Path(found["copy"]) / "offsets" / "0").read_text() == before
    produce(servers, topic, ["b3"], 1)
    run(values(spark, servers, topic), checkpoint, "text", path=str(out))
    assert files(spark, out) == sorted([*ALL, "a3", "a4", "b3"])


@pytest.mark.slow
def test_a_sink_that_knows_the_unfinished_micro_batch_skips_nothing(
    spark: SparkSession, kafka_cluster: KafkaCluster, pykafka: Command, topic: str, tmp_path: Path
) -> None:
    servers, checkpoint, out = kafka_cluster.bootstrap_servers, tmp_path / "ck", tmp_path / "out"
    run(values(spark, servers, topic), checkpoint, "text", path=str(out))
    produce(servers, topic, ["a5"])
    run(values(spark, servers, topic), checkpoint, "text", path=str(out))
    lose_commit(checkpoint, 1)
    let_rest(checkpoint)
    shown = pykafka("checkpoint", "rewind", str(checkpoint), "--to", "earliest", "--yes")
    assert "Micro-batch 1 has begun and not ended" in shown
    for _ in range(RUNS):
        run(values(spark, servers, topic), checkpoint, "text", path=str(out))
    assert files(spark, out) == sorted(2 * [*ALL, "a5"])


@pytest.mark.slow
def test_an_exactly_once_write_skips_nothing(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    make_topic: MakeTopic,
    pykafka: Command,
    topic: str,
    tmp_path: Path,
) -> None:
    servers, copy = kafka_cluster.bootstrap_servers, make_topic()
    options = {
        "kafka.bootstrap.servers": servers,
        "topic": copy,
        "deliveryGuarantee": "exactly_once",
        "transactionalIdPrefix": copy,
    }
    run(values(spark, servers, topic), tmp_path, "pykafka", **options)
    produce(servers, topic, ["a5"])
    run(values(spark, servers, topic), tmp_path, "pykafka", **options)
    lose_commit(tmp_path, 1)
    let_rest(tmp_path)
    pykafka("checkpoint", "rewind", str(tmp_path), "--to", "latest-2", "--yes")
    for _ in range(RUNS):
        run(values(spark, servers, topic), tmp_path, "pykafka", **options)
    assert sorted(values_of(servers, copy, 0)) == sorted([*ALL, "a5", "a4", "a5", "b1", "b2"])


@pytest.mark.slow
def test_a_query_that_failed_in_a_micro_batch(
    spark: SparkSession, kafka_cluster: KafkaCluster, pykafka: Command, topic: str, tmp_path: Path
) -> None:
    """It continues with a limit: PySpark 4.0 does not tell its reader where."""
    found = dict[int, list[str]]()
    failed: list[int] = []

    def keep(df: DataFrame, number: int) -> None:
        rows = [row["value"] for row in df.collect()]
        if "poison" in rows and not failed:
            failed.append(number)
            raise ValueError("poison")
        found[number] = rows

    def read_until(last: str) -> list[str]:
        limited = values(spark, kafka_cluster.bootstrap_servers, topic, maxOffsetsPerTrigger="3")
        writer = limited.writeStream.foreachBatch(keep)
        query = writer.option("checkpointLocation", str(tmp_path)).start()
        try:
            assert Deadline(SOON_SECONDS).wait_for(
                lambda: any(last in rows for rows in found.values()) or not query.isActive
            )
            query.processAllAvailable()
        finally:
            query.stop()
        return sorted(itertools.chain.from_iterable(found.values()))

    produce(kafka_cluster.bootstrap_servers, topic, ["a5"])
    assert read_until("a5") == sorted([*ALL, "a5"])
    produce(kafka_cluster.bootstrap_servers, topic, ["poison"])
    with pytest.raises(StreamingQueryException, match="poison"):
        read_until("poison")
    found.clear()
    let_rest(tmp_path)
    pykafka("checkpoint", "rewind", str(tmp_path), "--to", f'{{"{topic}":{{"0":5}}}}', "--yes")
    assert read_until("poison") == ["a5", "poison"]
    assert found[failed[0]] == []
