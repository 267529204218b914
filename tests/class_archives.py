"""Archives of loaded classes (JEP 350), with which the JVMs of tests start in half of the time.

A JVM silently ignores an archive that was made for another Java or another class path. What this
changes must only ever be time: no test may need an archive.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from kafka_spark_source.testing import NEWEST, KafkaCluster, LocalBrokerError
from kafka_spark_source.testing.broker.commands import FAST_START_FLAGS
from kafka_spark_source.testing.folders import cache_folder
from kafka_spark_source.testing.java import find_java

_LIMIT_SECONDS = 240
# An archive fits one path of PySpark, so it goes away with this clone.
_BUILD = Path(__file__).parents[1] / "build" / "class-archives"
# Uses what most tests use: a batch query, Python workers, a stream into files.
_SPARK_JOB = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
df = spark.range(10).selectExpr("string(id) v").groupBy("v").count()
df.mapInArrow(lambda batches: batches, df.schema).orderBy("v").collect()
stream = spark.readStream.format("rate").load().writeStream.format("json").trigger(once=True)
stream.option("checkpointLocation", sys.argv[1]).start(sys.argv[1] + "/files").awaitTermination()
jvm = spark.sparkContext._gateway.proc
spark.stop()
jvm.stdin.close()
jvm.wait()
"""


def use_class_archives(*, create: bool) -> None:
    """Let all JVMs that this process starts use the archives that exist.

    Args:
        create: Make missing archives first, which takes about as long as starting two JVMs.
    """
    try:
        java = find_java()
    except LocalBrokerError:
        return  # the tests that need Java fail with a clear error
    version = subprocess.run([java, "-version"], capture_output=True, check=True).stderr
    install = version + pyspark.__path__[0].encode()
    kafka = cache_folder() / "class-archives" / f"kafka-{NEWEST}-{_digest(version)}.jsa"
    spark = _BUILD / f"spark-{pyspark.__version__}-{_digest(install)}.jsa"
    if create:
        for archive, make in ((kafka, _make_kafka), (spark, _make_spark)):
            if not archive.exists():
                archive.parent.mkdir(parents=True, exist_ok=True)
                with _alone(archive):
                    # A machine may be too busy for it.
                    if not archive.exists():
                        with suppress(LocalBrokerError, subprocess.SubprocessError, OSError):
                            make(part := archive.with_suffix(f".{os.getpid()}"))
                            part.replace(archive)
    # What a JVM gets on its command line, such as Spark's own archive, wins over this variable.
    if kafka.exists():
        os.environ["JAVA_TOOL_OPTIONS"] = " ".join([*_inherited(), *_using(kafka)])
    if spark.exists():
        os.environ["PYSPARK_SUBMIT_ARGS"] = _submit_arguments(*_using(spark))


@contextmanager
def _alone(archive: Path) -> Iterator[None]:
    """Parts of `make test` begin at the same time, and one of them makes it for all."""
    with archive.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _inherited() -> list[str]:
    return os.environ.get("JAVA_TOOL_OPTIONS", "").split()


def _using(archive: Path) -> tuple[str, ...]:
    return f"-XX:SharedArchiveFile={archive}", "-Xlog:disable"


def _submit_arguments(*java_options: str) -> str:
    options = " ".join([*FAST_START_FLAGS, *java_options])
    executors = f"spark.executor.extraJavaOptions={options}"
    return shlex.join(["--driver-java-options", options, "--conf", executors, "pyspark-shell"])


def _make_kafka(archive: Path) -> None:
    flags = *FAST_START_FLAGS, f"-XX:ArchiveClassesAtExit={archive}", "-Xlog:disable"
    with KafkaCluster(jvm_flags=flags) as cluster:
        cluster.stop_node(1)


def _make_spark(archive: Path) -> None:
    options = f"-XX:ArchiveClassesAtExit={archive}", "-Xlog:disable"
    variables = {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": _submit_arguments(*options),
    }
    with tempfile.TemporaryDirectory() as checkpoint:
        subprocess.run(
            [sys.executable, "-c", _SPARK_JOB, checkpoint],
            env=os.environ | variables,
            capture_output=True,
            check=True,
            timeout=_LIMIT_SECONDS,
        )
