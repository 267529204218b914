"""Exactly once on a real broker while drivers and workers are killed; librdkafka reads the result.

Random moments come from a seed, which is logged; CRASH_SEED=n repeats a run.
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

from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.integration.conftest import MakeTopic
from tests.jobs.copy_exactly_once import TRANSACTION_TIMEOUT_MS
from tests.jobs.pausing_sink import PAUSE_AT, PAUSE_FOLDER, PAUSED, PAUSES
from tests.stream_driver import Driver
from tests.stream_records import Journal
from tests.tiers import MANY, ONE
from tests.witness import values_of

pytestmark = [pytest.mark.integration, pytest.mark.spark]

log = logging.getLogger(__name__)

PARTITIONS = 3
SOON_SECONDS = 180
# By then the broker has aborted the transactions of dead tasks.
TIME_OUT_SECONDS = SOON_SECONDS + TRANSACTION_TIMEOUT_MS // 1_000

Moment = Callable[[Driver], None]
KINDS = ("running", "workers die", *PAUSES)


def moments(chance: random.Random, folder: Path) -> dict[str, Moment]:
    """What happens to a driver before it and all its processes are killed."""

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
    """The kinds of moments in equal numbers and random order."""
    kinds = [*KINDS]
    chance.shuffle(kinds)
    names = [kinds[number % len(kinds)] for number in range(count)]
    chance.shuffle(names)
    return names


@pytest.mark.parametrize(
    "kills", [pytest.param(1, marks=ONE), pytest.param(len(KINDS), marks=MANY)]
)
@pytest.mark.skipif(sys.platform != "linux", reason="the processes of a driver are found in /proc")
@pytest.mark.timeout(1800)
def test_fault_55_and_57_each_record_once_after_kills(
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
            with Driver(tmp_path, "pykafka", options, "copy_exactly_once", environment) as driver:
                driver.wait_for_start()
                kinds[name](driver)
                driver.expect_running()
            log.warning("killed: %s", name)
    written = journal.values(options["source"], PARTITIONS)
    unlimited = {**options, "limit": "1000000"}
    with Driver(tmp_path, "pykafka", unlimited, "copy_exactly_once") as driver:

        def is_complete() -> bool:
            driver.expect_running()
            found = {each: values_of(servers, options["copy"], each) for each in written}
            return all(len(found[each]) >= len(written[each]) for each in written)

        assert Deadline(TIME_OUT_SECONDS).wait_for(is_complete), driver.printed()
    for partition, values in written.items():
        assert values_of(servers, options["copy"], partition) == values
