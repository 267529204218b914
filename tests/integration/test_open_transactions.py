"""Readers of committed records do not wait for attempts that nobody needs any more."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.producer.open_transactions import list_open
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.integration.clients import soon
from tests.integration.conftest import MakeTopic
from tests.integration.stable import ends, expect_all_stable
from tests.jobs.second_attempts import GO, ROWS
from tests.standalone import standalone_cluster
from tests.stream_driver import Driver
from tests.witness import values_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, and several loopback hosts"),
    pytest.mark.timeout(600),
]

SOON_SECONDS = 180
# After the end of a micro-batch, or of a start.
OPEN_SECONDS = 10


def wait_until_open(cluster: Cluster, transactional_id: str, driver: Driver) -> None:
    def is_open() -> bool:
        driver.expect_running()
        return transactional_id in list_open(cluster, re.escape(transactional_id), soon()).ids

    assert Deadline(SOON_SECONDS).wait_for(is_open), driver.printed()


def expect_each_row_once(kafka: KafkaCluster, topic: str) -> None:
    values = values_of(kafka.bootstrap_servers, topic, 0)
    assert sorted(int(value.split()[0]) for value in values) == [*range(ROWS)]


@pytest.mark.slow
def test_fault_57_a_driver_dies_during_a_second_attempt(
    kafka_cluster: KafkaCluster, cluster: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic()
    options = {
        "job": "failing_first",
        "servers": kafka_cluster.bootstrap_servers,
        "topic": topic,
        "spark_master": "local[2,4]",
    }
    with Driver(tmp_path, "pykafka", options, "second_attempts") as driver:
        driver.wait_for_start()
        wait_until_open(cluster, f"{topic}-1-1", driver)
    last_stable_offset, high_watermark = ends(kafka_cluster, topic)
    assert last_stable_offset < high_watermark
    (tmp_path / GO).touch()
    with Driver(tmp_path, "pykafka", options, "second_attempts") as driver:
        driver.wait_for_start()
        committed = tmp_path / "checkpoint" / "commits" / "0"
        assert Deadline(SOON_SECONDS).wait_for(committed.exists), driver.printed()
        expect_all_stable(kafka_cluster, topic, OPEN_SECONDS)
        driver.expect_running()
    expect_each_row_once(kafka_cluster, topic)


# --- Speculation ---------------------------------------------------------------------------------


@pytest.fixture
def spark_master(tmp_path: Path) -> Iterator[str]:
    with standalone_cluster(tmp_path) as url:
        yield url


@pytest.mark.slow
def test_fault_56_the_first_attempt_wins_after_its_copy_wrote(
    kafka_cluster: KafkaCluster,
    cluster: Cluster,
    make_topic: MakeTopic,
    tmp_path: Path,
    spark_master: str,
) -> None:
    topic = make_topic()
    options = {
        "job": "speculating",
        "servers": kafka_cluster.bootstrap_servers,
        "topic": topic,
        "spark_master": spark_master,
        "spark_driver_host": "127.0.0.1",
        "spark_executor_memory": "512m",
        "spark_speculation": "true",
        "spark_speculation_interval": "100ms",
        "spark_speculation_multiplier": "1.01",
        "spark_speculation_quantile": "0.5",
        "spark_speculation_minTaskRuntime": "100ms",
    }
    with Driver(tmp_path, "pykafka", options, "second_attempts") as driver:
        driver.wait_for_start()
        wait_until_open(cluster, f"{topic}-1-1", driver)
        (tmp_path / GO).touch()
        wrote = Deadline(SOON_SECONDS).wait_for(lambda: "written\n" in driver.printed())
        assert wrote, driver.printed()
        expect_all_stable(kafka_cluster, topic, OPEN_SECONDS)
    expect_each_row_once(kafka_cluster, topic)
