"""Roles, numbers of a process, and how they are joined."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_spark_source.testing.processes.waiting import Deadline
from tests.endurance.soak.objects import LiveObjects, count_objects, environment, parse_histogram
from tests.endurance.soak.sampling import Usage, joined, role_of, usage_of

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.mark.parametrize(
    ("command", "role"),
    [
        ("java\0-cp\0jars\0org.apache.spark.deploy.SparkSubmit\0pyspark-shell", "jvm"),
        ("python\0-m\0pyspark.sql.streaming.python_streaming_source_runner\0", "reader"),
        ("python\0-m\0pyspark.daemon\0pyspark.worker\0", "workers"),
        ("python\0-m\0pyspark.sql.worker.plan_data_source_read\0", "workers"),
        ("bash\0spark-class\0", None),
        ("", None),
    ],
)
def test_roles(command: str, role: str | None) -> None:
    assert role_of(command, 2, 1, session=1) == role
    assert role_of(command, 1, 0, session=1) == "driver"


def test_a_child_of_the_jvm_with_the_same_command_line_is_no_second_jvm() -> None:
    command = "java\0org.apache.spark.deploy.SparkSubmit\0pyspark-shell"
    assert role_of(command, 3, 2, session=1) is None


def test_streams_are_summed_and_workers_are_not() -> None:
    roles = {1: "driver", 2: "jvm", 3: "reader", 4: "reader", 5: "workers", 6: "workers"}
    usages = {pid: Usage(100.0 * pid, 10.0 * pid, pid, 1) for pid in roles}
    sample = joined(roles, usages, {1: 7, 3: 1, 5: 50, 6: 40})
    assert sample["driver"]["objects"] == 7
    assert sample["reader"]["rss"] == 700
    assert sample["reader"]["descriptors"] == 7
    assert "objects" not in sample["reader"], "one of the two did not answer"
    assert sample["workers"]["rss"] == 600
    assert sample["workers"]["objects"] == 50
    assert sample["workers"]["processes"] == 2
    assert "objects" not in sample["jvm"]
    assert joined(roles, {}, {}) == {}


@linux
def test_a_process_and_one_more_descriptor() -> None:
    before = usage_of(os.getpid())
    with Path(os.devnull).open():
        now = usage_of(os.getpid())
    assert before is not None
    assert now is not None
    assert now.descriptors == before.descriptors + 1
    assert 1 < now.anonymous < now.rss
    assert now.threads >= 1


@linux
def test_an_ended_process_has_no_usage() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert usage_of(process.pid) is None


@linux
def test_objects_of_a_process_its_fork_and_a_stranger(tmp_path: Path) -> None:
    """The fork has more objects; a process without the handler survives."""
    program = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    kept = [[] for _ in range(50_000)]\n"
        "open(f'{os.environ[\"SOAK_OBJECTS\"]}/up-{os.getpid()}', 'w').close()\n"
        "time.sleep(60)\n"
    )
    counting = os.environ | environment(tmp_path)
    command = [sys.executable, "-c", program]
    with (
        subprocess.Popen(command, env=counting) as process,
        subprocess.Popen(["sleep", "60"]) as other,
    ):
        child = 0
        try:
            assert Deadline(30).wait_for(lambda: len([*tmp_path.glob("up-*")]) == 2)
            pids = {int(file.name[3:]) for file in tmp_path.glob("up-*")}
            (child,) = pids - {process.pid}
            counts = count_objects(tmp_path, [process.pid, child, other.pid])
            assert {*counts} == pids
            assert 49_000 < counts[child] - counts[process.pid] < 60_000
            assert process.poll() is None
            assert other.poll() is None
        finally:
            process.kill()
            other.kill()
            if child:
                os.kill(child, 9)


@linux
def test_frozen_objects_are_counted(tmp_path: Path) -> None:
    before = gc.get_freeze_count()  # other tests of this process may have frozen objects
    program = "import gc, time; gc.freeze(); open(f'{SOAK}/up', 'w').close(); time.sleep(60)"
    program = f"SOAK = {str(tmp_path)!r}; {program}"
    counting = os.environ | environment(tmp_path)
    with subprocess.Popen([sys.executable, "-c", program], env=counting) as process:
        try:
            assert Deadline(30).wait_for((tmp_path / "up").exists)
            (count,) = count_objects(tmp_path, [process.pid]).values()
        finally:
            process.kill()
    assert count > 1_000
    assert gc.get_freeze_count() == before


def test_a_histogram_has_a_total() -> None:
    text = "   1:  9  99  [B (java.base)\nTotal        123456       10485760\n"
    assert parse_histogram(text) == LiveObjects(123456, 10.0)
    with pytest.raises(RuntimeError, match="no such process"):
        parse_histogram("no such process")
