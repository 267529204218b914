"""What the doctor makes of the places that it looked at; tests/integration has it from Spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import pytest
from pyspark.errors import PySparkAttributeError, PythonException

from kafka_spark_source import doctor
from kafka_spark_source.diagnosis.diagnosis import Job
from kafka_spark_source.diagnosis.findings import Finding, Result
from kafka_spark_source.diagnosis.report import Place

HERE = {
    "python": "3.11.7",
    "pyspark-pykafka": "1.0",
    "pyspark": "4.3.0",
    "pyarrow": "26.0.1",
    "lz4": "4.4.5",
    "zstandard": "0.25.0",
    "crc32c": "2.9",
}


def differences(**changed: str) -> list[Finding]:
    driver, executor = Place("driver", HERE, ()), Place("executor", HERE | changed, ())
    return doctor._differences(driver, executor)


def test_the_same_releases_make_no_finding() -> None:
    assert differences(python="3.11.2") == []


def test_another_release_is_named() -> None:
    assert differences(python="3.10.1", lz4="missing") == [
        Finding("installed", "python", Result.BAD, "3.10.1 here, 3.11.7 on the driver"),
        Finding("installed", "lz4", Result.COSTLY, "missing here, 4.4.5 on the driver"),
    ]


class Session:
    """A session whose job fails, and which tells no number of slots, as with Spark Connect."""

    def __init__(self, error: str) -> None:
        self._error = error

    @property
    def sparkContext(self) -> Any:
        raise PySparkAttributeError("JVM_ATTRIBUTE_NOT_SUPPORTED")

    def range(self, *_: int) -> Any:
        raise PythonException(self._error)


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (
            "Job aborted\nModuleNotFoundError: No module named 'kafka_spark_source'\n\tat Task",
            "ModuleNotFoundError: No module named 'kafka_spark_source': install pyspark-pykafka, "
            "with its packages, in the Python of executors",
        ),
        ("Job aborted\nExecutorLostFailure", "ExecutorLostFailure"),
    ],
)
def test_a_job_that_fails_is_a_finding(error: str, detail: str) -> None:
    session: Any = Session(error)
    (place,) = doctor._executors(session, {}, Job())
    assert place == Place("executors", {}, (Finding("task", "executors", Result.BAD, detail),))
    assert doctor._differences(Place("driver", HERE, ()), place) == []


def test_one_task_of_an_executor_is_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    with doctor._first_of("run") as first, doctor._first_of("run") as second:
        assert (first, second) == (True, False)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("release", "conf", "named"),
    [
        (
            "4.2.0",
            {},
            [
                "spark.python.unix.domain.socket.enabled",
                "spark.sql.execution.pandas.udf.buffer.size",
                "spark.executor.extraJavaOptions",
            ],
        ),
        (
            "4.0.0",
            {"spark.sql.execution.pandas.udf.buffer.size": "1048576"},
            ["spark.executor.extraJavaOptions"],
        ),
        (
            "4.1.0",
            {
                "spark.python.unix.domain.socket.enabled": "true",
                "spark.sql.execution.pandas.udf.buffer.size": "2m",
                "spark.driver.extraJavaOptions": "-Xmx1g -Darrow.enable_unsafe_memory_access=true",
            },
            [],
        ),
    ],
)
def test_settings_that_cost(release: str, conf: dict[str, str], named: list[str]) -> None:
    session: Any = SimpleNamespace(version=release, conf=conf)
    found = doctor._settings(doctor._costs(session))
    assert [each.subject for each in found] == named
    assert {each.result for each in found} <= {Result.COSTLY}


@pytest.mark.parametrize(("size", "is_named"), [(None, True), ("67108864b", True), ("4m", False)])
def test_large_arrow_batches_cost_a_write(size: str | None, is_named: bool) -> None:
    name = "spark.sql.execution.arrow.maxBytesPerBatch"
    session: Any = SimpleNamespace(version="4.2.0", conf={} if size is None else {name: size})
    found = doctor._settings(doctor._costs_of_writes(session))
    assert [each.subject for each in found] == [name] * is_named
    assert name not in doctor._costs(session)


def test_an_archive_without_bytecode_costs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert doctor._archive() == []
    archive = tmp_path / "python" / "lib" / "pyspark.zip"
    archive.parent.mkdir(parents=True)
    with ZipFile(archive, "w") as zipped:
        zipped.writestr("pyspark/__init__.py", "")
    (finding,) = doctor._archive()
    assert (finding.subject, finding.result) == (str(archive), Result.COSTLY)
    assert "no bytecode" in finding.detail
    assert "pykafka precompile" in finding.detail
    with ZipFile(archive, "a") as zipped:
        zipped.writestr("pyspark/__init__.pyc", b"of another Python")
    (finding,) = doctor._archive()
    assert "another Python" in finding.detail
    archive.write_bytes(b"half of an archive")
    assert doctor._archive() == []
