"""The Spark session of the benchmarks: two cores, quiet, with Spark's own Kafka connector."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from pyspark.sql import SparkSession

QUIET = Path(__file__).with_name("log4j2.properties")


def start(jars: str = "", conf: Mapping[str, str] = MappingProxyType({})) -> SparkSession:
    """Start a session without user interface and progress bars.

    Args:
        jars: The value of `spark.jars`.
        conf: More settings.
    """
    # Otherwise workers use the `python3` of the PATH.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={QUIET.as_uri()}")
        .config(map=dict(conf))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
