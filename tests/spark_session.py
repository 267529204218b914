"""The Spark session of tests: two cores, no log, with workers of this Python."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

# The second one is what PySpark does not translate, as when a Python process dies under a `load`.
SPARK_ERRORS = (PySparkException, Py4JJavaError)

INTERPRETED: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""Settings for long plans of few rows: to compile them takes longer than to interpret them."""

_PATIENCE_S: Final = "120"


def run_session(name: str, **config: str) -> Iterator[SparkSession]:
    """Start a session, and stop it at the end.

    A process can have only one at a time: a second one would be the first, and stop it.

    Names in `config`, further configuration of Spark, have underscores for dots, or dots.
    """
    assert SparkSession.getActiveSession() is None, "run it in a process of its own"
    # The default is the `python3` on the PATH.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # A worker on a busy machine may not answer within Spark's 15 s. The variable is for the
    # processes of streams, which do not get the option.
    os.environ["SPARK_AUTH_SOCKET_TIMEOUT"] = _PATIENCE_S
    builder = (
        SparkSession.builder.master("local[2]")
        .appName(name)
        # Queries are short: the C2 compiler costs them more than it saves.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.python.authenticate.socketTimeout", f"{_PATIENCE_S}s")
    )
    for key, value in config.items():
        builder = builder.config(key if "." in key else key.replace("_", "."), value)
    with TemporaryDirectory() as warehouse:
        session = builder.config("spark.sql.warehouse.dir", warehouse).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@contextmanager
def settings(spark: SparkSession, config: Mapping[str, str]) -> Iterator[None]:
    """Settings of a session for the body; their defaults afterwards."""
    for name, value in config.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in config:
            spark.conf.unset(name)
