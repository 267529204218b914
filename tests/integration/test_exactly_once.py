"""Exactly once on real brokers: drivers and workers are killed, and another client looks on.

Random moments come from a seed, which is printed; CRASH_SEED repeats a run.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.waiting import Deadline
from tests.integration.conftest import MakeTopic, Write
from tests.jobs.copy_exactly_once import TRANSACTION_TIMEOUT_MS
from tests.jobs.pausing_sink import PAUSE_AT, PAUSE_FOLDER, PAUSED, PAUSES
from tests.stream_driver import Driver
from tests.stream_records import Journal
from tests.witness import values_of

pytestmark = [pytest.mark.integration, pytest.mark.spark]

log = logging.getLogger(__name__)

PARTITIONS = 3
SOON_SECONDS = 120
# What a dead task has left open is rolled back by then: brokers look every ten seconds.
TIME_OUT_SECONDS = SOON_SECONDS + TRANSACTION_TIMEOUT_MS // 1_000 + 10

Moment = Callable[[Driver], None]


class Copy:
    """A topic that exactly-once writes go to, and how to read it."""

    def __init__(self, spark: SparkSession, servers: str, topic: str) -> None:
        self._servers = servers
        self.topic = topic
        self.options = {
            "kafka.bootstrap.servers": servers,
            "topic": topic,
            "deliveryGuarantee": "exactly_once",
            "transactionalIdPrefix": topic,
        }

    def save(self, df: DataFrame) -> None:
        df.write.format("pykafka").options(**self.options).mode("append").save()

    def values(self) -> list[str]:
        return sorted(values_of(self._servers, self.topic, 0))


@pytest.fixture
def copy(spark: SparkSession, kafka_cluster: KafkaCluster, make_topic: MakeTopic) -> Copy:
    return Copy(spark, kafka_cluster.bootstrap_servers, make_topic())


def test_a_batch_is_there_as_a_whole_or_not_at_all(spark: SparkSession, copy: Copy) -> None:
    numbers = spark.range(0, 40, 1, 4)
    value = F.col("id").cast("string").alias("value")
    broken = F.when(F.col("id") == 39, F.raise_error(F.lit("the last row"))).otherwise(value)
    with pytest.raises(Exception, match="the last row"):
        copy.save(numbers.select(broken.cast("string").alias("value")))
    assert copy.values() == []
    for _ in range(2):
        copy.save(numbers.select(value))
    assert copy.values() == sorted(2 * [str(number) for number in range(40)])


def test_a_micro_batch_that_spark_runs_again_is_not_written_again(
    spark: SparkSession, copy: Copy, make_topic: MakeTopic, write: Write, tmp_path: Path
) -> None:
    source = make_topic(partitions=2)

    def run() -> None:
        reader = spark.readStream.format("pykafka").option("subscribe", source)
        reader = reader.option("kafka.bootstrap.servers", copy.options["kafka.bootstrap.servers"])
        rows = reader.option("startingOffsets", "earliest").load().select("value")
        writer = rows.writeStream.format("pykafka").options(**copy.options)
        writer = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
        query = writer.start()
        try:
            assert query.awaitTermination(SOON_SECONDS)
        finally:
            query.stop()

    for batch in range(2):
        values = spark.range(10 * batch, 10 * batch + 10)
        write(values.selectExpr("cast(id as string) as value"), topic=source)
        run()
        expected = sorted(str(number) for number in range(10 * batch + 10))
        assert copy.values() == expected
        last = max((tmp_path / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        # As if the driver had died before it was written.
        last.unlink()
        last.with_name(f".{last.name}.crc").unlink()
        run()
        assert copy.values() == expected


def test_the_log_of_decisions_is_compacted(
    spark: SparkSession, copy: Copy, kafka_cluster: KafkaCluster
) -> None:
    copy.save(spark.range(1).selectExpr("'a' as value"))
    admin = AdminClient({"bootstrap.servers": kafka_cluster.bootstrap_servers})
    resource = ConfigResource("topic", "pykafka-commit-log")
    (found,) = admin.describe_configs([resource]).values()
    assert found.result(SOON_SECONDS)["cleanup.policy"].value == "compact"


def test_a_log_that_forgets_is_refused(
    spark: SparkSession, copy: Copy, make_topic: MakeTopic
) -> None:
    copy.options["commitLogTopic"] = make_topic(cleanup_policy="delete")
    with pytest.raises(PySparkException, match=r"has cleanup\.policy=delete.*set it to compact"):
        copy.save(spark.range(1).selectExpr("'a' as value"))


# --- Killed --------------------------------------------------------------------------------------


def moments(chance: random.Random, folder: Path) -> dict[str, Moment]:
    """What happens to a driver before it is killed with all that it has started."""

    def nothing(driver: Driver) -> None:
        driver.live_for(chance.uniform(0, 1))

    def workers_die(driver: Driver) -> None:
        for _ in range(3):
            driver.live_for(chance.uniform(0, 0.3))
            workers = driver.workers()
            if workers:
                os.kill(chance.choice(workers), signal.SIGKILL)
        driver.live_for(chance.uniform(0, 0.3))

    def pause(driver: Driver) -> None:
        paused = folder / PAUSED
        assert Deadline(SOON_SECONDS).wait_for(paused.exists), driver.printed()
        paused.unlink()

    return {"running": nothing, "workers die": workers_die, **dict.fromkeys(PAUSES, pause)}


def chosen(chance: random.Random, count: int) -> list[str]:
    """As many of each kind as of any other, in any order."""
    kinds = ["running", "workers die", *PAUSES]
    names = [kinds[number % len(kinds)] for number in range(count)]
    chance.shuffle(names)
    return names


@pytest.mark.parametrize("kills", [8, pytest.param(32, marks=pytest.mark.slow)])
@pytest.mark.skipif(sys.platform != "linux", reason="what a driver leaves is found by /proc")
@pytest.mark.timeout(1800)
def test_fault_55_and_57_once_whatever_is_killed_whenever(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic, tmp_path: Path, kills: int
) -> None:
    seed = int(os.environ.get("CRASH_SEED") or random.SystemRandom().randrange(10**9))
    log.warning("CRASH_SEED=%d", seed)
    chance = random.Random(seed)
    servers = kafka_cluster.bootstrap_servers
    options = {
        "servers": servers,
        "source": make_topic(partitions=PARTITIONS),
        "copy": make_topic(partitions=PARTITIONS),
        "limit": "100",
    }
    journal = Journal(servers)
    kinds = moments(chance, tmp_path)
    with journal.writing(options["source"], writers=2, interval_seconds=0.05):
        for name in chosen(chance, kills):
            environment = {PAUSE_FOLDER: str(tmp_path)}
            if name in PAUSES:
                environment[PAUSE_AT] = name
            driver = Driver(tmp_path, "pykafka", options, "copy_exactly_once", environment)
            try:
                driver.wait_for_start()
                kinds[name](driver)
                driver.expect_running()
            finally:
                driver.kill()
            log.warning("killed: %s", name)
    written = {
        partition: [each.value for each in sorted(journal.records) if each.partition == partition]
        for partition in range(PARTITIONS)
    }
    unlimited = {**options, "limit": "1000000"}
    driver = Driver(tmp_path, "pykafka", unlimited, "copy_exactly_once")

    def is_complete() -> bool:
        driver.expect_running()
        return all(
            len(values_of(servers, options["copy"], each)) >= len(written[each]) for each in written
        )

    try:
        assert Deadline(TIME_OUT_SECONDS).wait_for(is_complete), driver.printed()
    finally:
        driver.kill()
    for partition, values in written.items():
        assert values_of(servers, options["copy"], partition) == values
