"""Set-up and results of the benchmarks beside Spark's own connector."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource
from rich.console import Console

from benchmarks.session import TUNED, start
from kafka_spark_source.testing import KafkaCluster
from tests.jvm_connector import LOCKED, PYSPARK, spark_jars

RESULTS = Path(__file__).parent / "results"

# A log without a terminal keeps the tables readable.
console = Console(width=None if sys.stdout.isatty() else 160)


def connector_jars(target: str) -> str:
    """The value of `spark.jars`; ends the process under any other release of PySpark."""
    if metadata.version("pyspark") != PYSPARK:
        sys.exit(f"Spark's connector needs PySpark {PYSPARK}: `make {target}` has it")
    return spark_jars(console.print)


@contextmanager
def broker(nodes: int = 1) -> Iterator[KafkaCluster]:
    """A broker, or several, with enough memory not to be the bottleneck."""
    with KafkaCluster(nodes=nodes, heap="2g", jvm_flags=(), on_progress=console.print) as cluster:
        yield cluster


@contextmanager
def session(
    jars: str, source: type[DataSource], conf: Mapping[str, str] = TUNED
) -> Iterator[SparkSession]:
    """A Spark session with Spark's connector and one more data source, stopped afterwards."""
    spark = start(jars, conf)
    spark.dataSource.register(source)
    yield spark
    spark.stop()


def pyplot() -> Any:
    """matplotlib.pyplot, drawing to files only. It is slow to import, so only plots load it."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    return plt


def save(file: Path, figures: Mapping[str, object]) -> None:
    """Write figures, with the versions and the machine they depend on."""
    packages = ("pyspark", "pyarrow", "numpy", "crc32c", "lz4", "zstandard")
    facts = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "versions": {name: metadata.version(name) for name in packages},
        "jars": [str(each) for each in LOCKED],
    }
    file.write_text(json.dumps(facts | dict(figures), indent=2) + "\n")
