"""The Spark session of the benchmarks: two cores, quiet, with Spark's own Kafka connector."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pyspark.sql import SparkSession

QUIET: Final = Path(__file__).with_name("log4j2.properties")
JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
# What helps every source in Python. `make bench-settings` measures what each gives.
UNIX_SOCKETS: Final = {"spark.python.unix.domain.socket.enabled": "true"}
LARGE_BUFFER: Final = {"spark.sql.execution.pandas.udf.buffer.size": "1048576"}
ARROW_FLAGS: Final = {
    JAVA_OPTIONS: (
        "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
    )
}
# What helps a sink in Python: how much Spark passes at once. `make bench-write` measures it.
ARROW_BATCH: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
TUNED: Final = MappingProxyType(UNIX_SOCKETS | LARGE_BUFFER | ARROW_FLAGS | {ARROW_BATCH: "4m"})


def start(jars: str = "", conf: Mapping[str, str] = TUNED) -> SparkSession:
    """Start a session without user interface and progress bars.

    Args:
        jars: The value of `spark.jars`.
        conf: Settings of the session.
    """
    # Otherwise workers use the `python3` of the PATH.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    java_options = f"-Dlog4j2.configurationFile={QUIET.as_uri()} {conf.get(JAVA_OPTIONS, '')}"
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.driver.memory", "2g")
        .config(map=dict(conf))
        .config(JAVA_OPTIONS, java_options.strip())
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )


def add_conf_argument(parser: argparse.ArgumentParser) -> None:
    """Let a command line replace the settings of the session."""
    parser.add_argument(
        "--conf",
        nargs="*",
        default=[f"{name}={value}" for name, value in TUNED.items()],
        help="Spark settings in place of those for throughput: name=value ...",
    )


def conf_of(options: argparse.Namespace) -> dict[str, str]:
    """The settings that a command line has."""
    return dict(each.split("=", 1) for each in options.conf)
