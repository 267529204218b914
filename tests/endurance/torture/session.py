"""The Spark session of a run, and the process ids of its Python workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from tests import poison
from tests.own_process import all_processes, command_of, descendants_of
from tests.spark_session import SPARK_ERRORS, run_session

# A task may lose its worker so often.
_ATTEMPTS = 8
_SETTINGS = {
    "spark_master": f"local[2,{_ATTEMPTS}]",
    "spark_driver_memory": "3g",
    "spark_driver_maxResultSize": "0",
    "spark_sql_python_filterPushdown_enabled": "true",
    # Each micro-batch would write a line of the log of a stream into files.
    "spark_sql_streaming_numRecentProgressUpdates": "20",
}


@contextmanager
def session(unix_sockets: bool) -> Iterator[SparkSession]:
    """A session whose Python workers are reached by Unix sockets, or else by TCP.

    Freed memory of the workers is poisoned.
    """
    os.environ.update(poison.ENVIRONMENT)
    sockets = {"spark_python_unix_domain_socket_enabled": str(unix_sockets).lower()}
    for spark in run_session("torture", **_SETTINGS, **sockets):
        _find_data_sources(spark)
        yield spark


def _find_data_sources(spark: SparkSession) -> None:
    """Spark looks for data sources once in a session: it knows none if that process is killed."""
    try:
        spark.read.format("pykafka").load()
    except SPARK_ERRORS as error:  # found, it lacks an option
        if "DATA_SOURCE_NOT_FOUND" in str(error):
            raise


def workers() -> list[int]:
    """The Python processes in which Spark runs tasks, and those that plan and watch streams."""
    pythons = {pid for pid in descendants_of(os.getpid()) if "\0-m\0pyspark." in command_of(pid)}
    return [each.pid for each in all_processes() if {each.pid, each.parent} <= pythons]
