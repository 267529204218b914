"""Readers of committed records do not wait for attempts that nobody needs any more."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.producer.open_transactions import list_open
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.waiting import Deadline
from tests.integration.clients import soon
from tests.integration.conftest import MakeTopic
from tests.integration.stable import ends, expect_all_stable
from tests.jobs.second_attempts import GO, ROWS
from tests.own_process import ENVIRONMENT, processes_of
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
    driver = Driver(tmp_path, "pykafka", options, "second_attempts")
    try:
        driver.wait_for_start()
        wait_until_open(cluster, f"{topic}-1-1", driver)
    finally:
        driver.kill()
    last_stable_offset, high_watermark = ends(kafka_cluster, topic)
    assert last_stable_offset < high_watermark
    (tmp_path / GO).touch()
    driver = Driver(tmp_path, "pykafka", options, "second_attempts")
    try:
        driver.wait_for_start()
        committed = tmp_path / "checkpoint" / "commits" / "0"
        assert Deadline(SOON_SECONDS).wait_for(committed.exists), driver.printed()
        expect_all_stable(kafka_cluster, topic, OPEN_SECONDS)
        driver.expect_running()
    finally:
        driver.kill()
    expect_each_row_once(kafka_cluster, topic)


# --- Speculation ---------------------------------------------------------------------------------


@contextmanager
def daemon(folder: Path, name: str, *arguments: str) -> Iterator[Path]:
    """A daemon of a standalone cluster; yields the file with all that it prints."""
    home = Path(pyspark.__file__).parent
    printed = folder / f"{name}-{len([*folder.iterdir()])}.txt"
    with printed.open("w") as out:
        process = subprocess.Popen(
            [
                str(home / "bin" / "spark-class"),
                f"org.apache.spark.deploy.{name.lower()}.{name}",
                *("--webui-port", "0", "--port", "0"),
                *arguments,
            ],
            cwd=folder,
            env={**os.environ, **ENVIRONMENT},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield printed
    finally:
        for pid in processes_of(process.pid):
            os.kill(pid, 9)
        process.wait()


@pytest.fixture
def spark_master(tmp_path: Path) -> Iterator[str]:
    """A standalone cluster of two workers with one core each, on hosts of their own."""
    with ExitStack() as stack:
        printed = stack.enter_context(daemon(tmp_path, "Master", "--host", "127.0.0.1"))

        def urls() -> list[str]:
            return re.findall(r"Starting Spark master at (spark://\S+)", printed.read_text())

        assert Deadline(SOON_SECONDS).wait_for(lambda: bool(urls())), printed.read_text()
        for host in ("127.0.0.2", "127.0.0.3"):
            worker = ("--host", host, "--cores", "1", "--memory", "1g")
            folder = ("--work-dir", str(tmp_path / "work"))
            stack.enter_context(daemon(tmp_path, "Worker", *worker, *folder, urls()[0]))
        yield urls()[0]


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
    driver = Driver(tmp_path, "pykafka", options, "second_attempts")
    try:
        driver.wait_for_start()
        wait_until_open(cluster, f"{topic}-1-1", driver)
        (tmp_path / GO).touch()
        wrote = Deadline(SOON_SECONDS).wait_for(lambda: "written\n" in driver.printed())
        assert wrote, driver.printed()
        expect_all_stable(kafka_cluster, topic, OPEN_SECONDS)
    finally:
        driver.kill()
    expect_each_row_once(kafka_cluster, topic)
