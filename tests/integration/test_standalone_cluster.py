"""spark-submit to a standalone cluster, whose executors have the connector in different ways."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.broker.commands import FAST_START_FLAGS
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.integration.conftest import MakeTopic
from tests.jobs import submitted
from tests.own_process import ENVIRONMENT, ROOT, is_executor, run_command
from tests.standalone import SPARK_BIN, standalone_cluster
from tests.venvs import new_venv, pip
from tests.witness import high_watermark, produce, values_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.newest,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, and several loopback hosts"),
    pytest.mark.timeout(900),
]

PARTITIONS = 4
RECORDS = 1_000  # in each
LONG_SECONDS = 300
# For the job's own function, `mapInArrow`; the connector needs none.
PANDAS = "pandas>=2.2,<3"
# What every executor must have beside PySpark.
DEPENDENCIES = ("numpy", "pyarrow", "crc32c", "lz4", "zstandard", PANDAS)


@pytest.fixture(scope="module")
def cluster_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("standalone")


@pytest.fixture(scope="module")
def master(cluster_folder: Path) -> Iterator[str]:
    """A master and two workers, which know nothing of the tests' own environment."""
    with standalone_cluster(cluster_folder, PYTHONPATH="", PYSPARK_PYTHON="") as url:
        yield url


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip(Path(sys.executable), "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A venv with the dependencies only."""
    return new_venv(tmp_path_factory.mktemp("venv") / "bare", *DEPENDENCIES)


class Job:
    """The job `submitted`, from one topic to another."""

    def __init__(self, kafka: KafkaCluster, make_topic: MakeTopic, folder: Path) -> None:
        self.servers = kafka.bootstrap_servers
        self.source, self.target = (make_topic(partitions=PARTITIONS) for _ in range(2))
        self._folder = folder
        for partition in range(PARTITIONS):
            values = (f"{partition} {number}" for number in range(RECORDS))
            produce(self.servers, self.source, values, partition)

    def run(
        self,
        master: str,
        *arguments: str,
        register: str = "",
        options: Sequence[str] = (),
        **environment: str,
    ) -> Any:
        """Submit it, and return what it prints. The options are those of the write."""
        command = [
            *(str(SPARK_BIN / "spark-submit"), "--master", master),
            *("--conf", "spark.driver.host=127.0.0.1"),
            *("--conf", "spark.executor.memory=512m"),
            *("--conf", f"spark.executor.extraJavaOptions={' '.join(FAST_START_FLAGS)}"),
            *("--driver-java-options", " ".join(FAST_START_FLAGS)),
            *("--conf", "spark.log.level=ERROR"),
            *arguments,
            *(str(submitted.__file__), self.servers, self.source, self.target, register, *options),
        ]
        # Without the tests' own folder, and with one Python unless the test says otherwise.
        clean = {"PYTHONPATH": "", "PYSPARK_DRIVER_PYTHON": environment["PYSPARK_PYTHON"]}
        shown = run_command(self._folder, command, **{**clean, **environment})
        return json.loads(shown.splitlines()[-1])

    def expect_copied(self, printed: Any) -> None:
        assert [sum(each["rows"] for each in read) for read in printed["places"]] == [
            PARTITIONS * RECORDS
        ] * 2
        assert printed["tasks"] == submitted.TASKS
        for partition in range(PARTITIONS):
            copied = values_of(self.servers, self.target, partition)
            wanted = [f"{partition} {number}" for number in range(RECORDS)]
            # The tasks of a partition write beside each other.
            assert sorted(copied) == sorted(wanted)


@pytest.fixture
def job(kafka_cluster: KafkaCluster, make_topic: MakeTopic, tmp_path: Path) -> Job:
    return Job(kafka_cluster, make_topic, tmp_path)


def places(printed: Any, name: str) -> set[str]:
    return {each[name] for read in printed["places"] for each in read}


def test_py_files(master: str, wheel: Path, bare_python: Path, job: Job, tmp_path: Path) -> None:
    """Spark looks for `pyspark_*` before it knows these files, so the job registers the source."""
    archive = tmp_path / "pykafka.zip"  # Spark takes no .whl
    archive.write_bytes(wheel.read_bytes())
    printed = job.run(
        master, "--py-files", str(archive), register="register", PYSPARK_PYTHON=str(bare_python)
    )
    job.expect_copied(printed)
    assert places(printed, "program") == {str(bare_python)}
    assert all(".zip/" in each for each in places(printed, "connector"))


def test_archives(master: str, wheel: Path, job: Job, tmp_path: Path) -> None:
    """A packed venv, which Spark unpacks beside each executor. The source registers itself."""
    venv, packed = tmp_path / "job", tmp_path / "job.tar.gz"
    python = new_venv(venv, str(wheel), PANDAS, "venv-pack", "setuptools<81")
    pack = [str(venv / "bin" / "venv-pack"), "--quiet", "--prefix", str(venv)]
    subprocess.run([*pack, "--output", str(packed)], check=True)
    printed = job.run(
        master,
        *("--archives", f"{packed}#environment"),
        PYSPARK_DRIVER_PYTHON=str(python),
        PYSPARK_PYTHON="./environment/bin/python",
    )
    job.expect_copied(printed)
    (connector,) = {Path(each).parts[-5:] for each in places(printed, "connector")}
    assert connector[-1] == "kafka_spark_source"
    assert not any(str(venv) in each for each in places(printed, "connector"))


def executors(cluster_folder: Path) -> list[int]:
    """The processes of executors: each has a folder of its own below `work`."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's
            is_inside = cluster_folder in (each / "cwd").readlink().parents
            if is_inside and is_executor(int(each.name)):
                found.append(int(each.name))
    return found


def test_an_executor_is_lost(master: str, cluster_folder: Path, job: Job) -> None:
    """Its tasks run again elsewhere, and its transactions are ended: each record is there once."""
    killed: list[int] = []

    def kill_while_it_writes() -> None:
        def has_records() -> bool:
            return any(high_watermark(job.servers, job.target, n) for n in range(PARTITIONS))

        if Deadline(LONG_SECONDS).wait_for(has_records):
            killed.extend(executors(cluster_folder)[:1])
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    killer = Thread(target=kill_while_it_writes)
    killer.start()
    printed = job.run(
        master,
        options=("deliveryGuarantee=exactly_once", f"transactionalIdPrefix={job.target}"),
        PYSPARK_PYTHON=sys.executable,
        PYTHONPATH=ENVIRONMENT["PYTHONPATH"],
    )
    killer.join()
    assert killed
    job.expect_copied(printed)


def test_dynamic_allocation(master: str, job: Job) -> None:
    """Executors come with the tasks, go when they are idle, and come back."""
    settings = {
        "dynamicAllocation.enabled": "true",
        "dynamicAllocation.shuffleTracking.enabled": "true",
        "dynamicAllocation.minExecutors": "0",
        "dynamicAllocation.initialExecutors": "0",
        "dynamicAllocation.executorIdleTimeout": "2s",
    }
    conf = [
        each for name, value in settings.items() for each in ("--conf", f"spark.{name}={value}")
    ]
    job.expect_copied(
        job.run(
            master,
            *conf,
            PYSPARK_PYTHON=sys.executable,
            PYTHONPATH=ENVIRONMENT["PYTHONPATH"],
        )
    )
