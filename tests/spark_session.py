"""The Spark session of tests: two cores, quiet, with the workers of this Python."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from pyspark.sql import SparkSession


def run_session(name: str, **config: str) -> Iterator[SparkSession]:
    """Start a session, and stop it at the end. A process can have one at a time.

    Args:
        name: Of the application.
        config: More of Spark's configuration, with underscores for dots.
    """
    # Else the workers are whatever `python3` is on the PATH.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master("local[2]")
        .appName(name)
        # Queries are short, and the better compiler costs them more than it saves.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
    )
    for key, value in config.items():
        builder = builder.config(key.replace("_", "."), value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
