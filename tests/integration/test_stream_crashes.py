"""A stream into files whose driver dies: at random moments, and after each file that it writes.

Random moments come from a seed, which is logged; CRASH_SEED=n repeats a run.
"""

from __future__ import annotations

import logging
import os
import random
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.integration.conftest import MakeTopic
from tests.pages.tour import Tour
from tests.spark_session import settings
from tests.stream_driver import Driver
from tests.stream_folder import LOGS, RESTARTED, Log, StreamFolder
from tests.stream_records import Journal, Offsets, expect_each_once
from tests.tiers import MANY, ONE

pytestmark = [pytest.mark.integration, pytest.mark.spark]

log = logging.getLogger(__name__)

CONNECTOR = "pykafka"
PARTITIONS = 3
MORE_PARTITIONS = 5
HISTORY = 10  # records in each partition before the query is started
LONG_AGO_MS = 1_700_000_000_000
LATER_MS = LONG_AGO_MS + 3_600_000
SOON_SECONDS = 180

STARTS: dict[str, dict[str, str]] = {
    "earliest": {"startingOffsets": "earliest"},
    "latest": {"startingOffsets": "latest"},
    "timestamp": {
        "startingTimestamp": str(LATER_MS),
        # One partition has no record of that time.
        "startingOffsetsByTimestampStrategy": "latest",
    },
}


class Started(NamedTuple):
    """A topic with records, and how a stream of it must start.

    Attributes:
        topic: Its name.
        journal: All records that are written to it.
        options: Options of the stream.
        starts: The first offsets of the stream, if no records are written before its first batch.
    """

    topic: str
    journal: Journal
    options: Mapping[str, str]
    starts: Offsets


@pytest.fixture
def started(
    request: pytest.FixtureRequest, kafka_cluster: KafkaCluster, make_topic: MakeTopic
) -> Started:
    """The parameter is a key of STARTS."""
    topic = make_topic(partitions=PARTITIONS)
    journal = Journal(kafka_cluster.bootstrap_servers)
    journal.write(topic, range(PARTITIONS), HISTORY, timestamp=LONG_AGO_MS)
    journal.write(topic, range(PARTITIONS - 1), HISTORY, timestamp=LATER_MS)
    by_start: dict[str, list[int]] = {
        "earliest": [0, 0, 0],
        "latest": [2 * HISTORY, 2 * HISTORY, HISTORY],
        "timestamp": [HISTORY, HISTORY, HISTORY],
    }
    options = {
        "kafka.bootstrap.servers": kafka_cluster.bootstrap_servers,
        "subscribe": topic,
        "maxOffsetsPerTrigger": "50",
        **STARTS[request.param],
    }
    starts = dict(enumerate(by_start[request.param]))
    return Started(topic, journal, options, {topic: starts})


def load(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    return spark.readStream.format(CONNECTOR).options(**options).load()


@pytest.mark.slow
@pytest.mark.parametrize(
    "started",
    ["latest", *(pytest.param(each, marks=pytest.mark.slow) for each in ("earliest", "timestamp"))],
    indirect=True,
)
def test_a_driver_that_died_between_two_writes(
    tmp_path: Path, spark: SparkSession, started: Started
) -> None:
    """Every state that it can leave, the last one first, each with more records to read."""
    folder = StreamFolder(tmp_path)
    topic, journal, options, starts = started
    folder.run_to(load(spark, options), journal.ends())  # logs the start
    journal.write(topic, range(PARTITIONS), 5)
    folder.run_to(load(spark, options), journal.ends())
    expect_each_once(folder.records(spark), journal, starts)
    states: list[tuple[int, Log]] = [(batch, last) for batch in folder.batches() for last in LOGS]
    for batch, last in reversed(states):
        folder.rewind(batch, last)
        journal.write(topic, range(PARTITIONS), 5)
        folder.run_to(load(spark, options), journal.ends())
        expect_each_once(folder.records(spark), journal, starts)


@pytest.mark.newest
def test_a_driver_that_died_in_its_first_entry(
    tmp_path: Path, spark: SparkSession, kafka_cluster: KafkaCluster, make_topic: MakeTopic
) -> None:
    """It starts with the setting that the report for Spark names, and not without it."""
    with Tour("docs/upstream/spark-first-entry.md") as report:
        with pytest.raises(StreamingQueryException, match="CHECKPOINT_LOCATION_NOT_EMPTY"):
            report.run()
    topic = make_topic(partitions=PARTITIONS)
    journal = Journal(kafka_cluster.bootstrap_servers)
    journal.write(topic, range(PARTITIONS), HISTORY)
    servers = {"kafka.bootstrap.servers": kafka_cluster.bootstrap_servers}
    stream = load(spark, {**servers, "subscribe": topic, "startingOffsets": "earliest"})
    folder = StreamFolder(tmp_path)
    folder.begin_first_entry()
    with settings(spark, RESTARTED):
        folder.run_to(stream, journal.ends())
    expect_each_once(folder.records(spark), journal, {topic: dict.fromkeys(range(PARTITIONS), 0)})


Moment = Callable[[Driver, StreamFolder], None]


def moments(chance: random.Random) -> dict[str, Moment]:
    """What to wait for before a driver is killed, by name."""

    def start_up(driver: Driver, folder: StreamFolder) -> None:
        driver.live_for(chance.uniform(0, 0.4))

    def while_running(driver: Driver, folder: StreamFolder) -> None:
        driver.live_for(chance.uniform(0.4, 1.5))

    def after_a_new_entry(of_log: Log) -> Moment:
        def wait(driver: Driver, folder: StreamFolder) -> None:
            before = folder.batches(of_log)
            deadline = Deadline(SOON_SECONDS)
            while folder.batches(of_log) == before:
                driver.expect_running()
                assert not deadline.has_passed, f"no batch is written to the log {of_log}"
                time.sleep(0.005)
            driver.live_for(chance.choice([0, chance.uniform(0, 0.1)]))

        return wait

    after = {f"after a new entry of {each}": after_a_new_entry(each) for each in LOGS}
    return {**after, "while running": while_running, "start-up": start_up}


def chosen_moments(chance: random.Random, count: int) -> list[str]:
    """The first quarter at start-up, where the first batch is; then all kinds in random order.

    The last is after a commit: without one, no driver would continue after a finished batch.
    """
    names = [*moments(chance)]
    chance.shuffle(names)
    early = -(-count // 4)
    between = [names[number % len(names)] for number in range(count - early - 1)]
    return ["start-up"] * early + between + ["after a new entry of commits"]


@pytest.mark.parametrize(
    ("started", "kills"),
    [
        pytest.param("latest", 1, marks=ONE),
        pytest.param("earliest", 8, marks=MANY),
        # What differs is over with the first batch.
        *(pytest.param(start, 4, marks=MANY) for start in ("latest", "timestamp")),
    ],
    indirect=["started"],
)
@pytest.mark.skipif(sys.platform != "linux", reason="the processes of a driver are found in /proc")
@pytest.mark.timeout(1800)
def test_a_driver_that_is_killed_at_random_moments(
    tmp_path: Path, spark: SparkSession, started: Started, kills: int
) -> None:
    """While records are written and partitions are added."""
    seed = int(os.environ.get("CRASH_SEED") or random.SystemRandom().randrange(10**9))
    log.warning("CRASH_SEED=%d", seed)
    chance = random.Random(seed)
    folder = StreamFolder(tmp_path)
    topic, journal, options, starts = started
    kinds = moments(chance)
    with journal.writing(topic, writers=3, interval_seconds=0.02):
        for number, name in enumerate(chosen_moments(chance, kills)):
            if number == kills // 2:
                journal.add_partitions(topic, MORE_PARTITIONS)
            with Driver(tmp_path, CONNECTOR, options) as driver:
                driver.wait_for_start()
                kinds[name](driver, folder)
                driver.expect_running()
            log.warning("killed %s: %s", name, {each: folder.batches(each)[-1:] for each in LOGS})
    assert set(journal.ends()[topic]) == set(range(MORE_PARTITIONS)), "partitions without records"
    assert folder.batches("commits"), "no batch was ever finished"
    pinned = folder.offsets(0)
    unlimited = {**options, "maxOffsetsPerTrigger": "100000"}
    folder.run_to(load(spark, unlimited), journal.ends())
    if "latest" in options.values():
        starts = pinned
    expect_each_once(folder.records(spark), journal, starts)
