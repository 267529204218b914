"""Runs of queries in this process: one at a time of each query, and one writer of each topic.

Spark stops a run when the same query is started again. But the function of `foreachBatch` is
Python's, and goes on for a while; and late tables are written before Spark starts the query.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock
from typing import Any, Final

from pyspark.sql import SparkSession

from kafka_spark_source.tables.checkpoint import query_id
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.files import exists

_WAIT_SECONDS: Final = 600.0
_STOPS: Final = "spark.sql.streaming.stopActiveRunOnRestart"
_latest: Final[dict[str, Run]] = {}
"""The last run of each query, by the query's id."""
_starts: Final[defaultdict[str, Lock]] = defaultdict(Lock)
_guard: Final = Lock()


class Run:
    """A run of a query. Threads may share it."""

    def __init__(self) -> None:
        self._condition = Condition()
        self._locks: defaultdict[str, Lock] = defaultdict(Lock)
        self._writers = 0
        self._is_over = False

    @contextmanager
    def writing(self) -> Iterator[None]:
        """While tables, or the state of late ones, are written.

        Raises:
            TableError: A later run of the query has begun.
        """
        with self._condition:
            if self._is_over:
                raise TableError("this query was started again in the same process")
            self._writers += 1
        try:
            yield
        finally:
            with self._condition:
                self._writers -= 1
                self._condition.notify_all()

    def topic(self, topic: str) -> Lock:
        """The lock of a topic, for who writes its table."""
        with self._condition:
            return self._locks[topic]

    def end(self) -> None:
        """Let nothing new be written, and wait for the writers.

        Raises:
            TableError: It takes more than ten minutes.
        """
        with self._condition:
            self._is_over = True
            if not self._condition.wait_for(lambda: not self._writers, _WAIT_SECONDS):
                raise TableError(
                    "tables of this query are still being written: wait, and try again"
                )

    def begun(self, id_: str) -> None:
        """Note that it is the last run of a query."""
        _latest[id_] = self


@contextmanager
def starting(checkpoint: str) -> Iterator[None]:
    """While a query is started: another start of it in this process waits."""
    with _guard:
        lock = _starts[checkpoint]
    with lock:
        yield


def end_run_before(spark: SparkSession, checkpoint: str) -> None:
    """End a run of the query that goes on in this driver, as Spark does at a start.

    Raises:
        TableError: The session says that such a run must not be stopped, or it does not end.
    """
    if not exists(spark, f"{checkpoint}/metadata"):
        return
    id_ = query_id(spark, checkpoint)
    active = _active(spark, id_)
    if active is not None and spark.conf.get(_STOPS) == "false":
        raise TableError(f"the query {id_} of {checkpoint} is running: stop it first")
    if before := _latest.pop(id_, None):
        before.end()
    if active is not None:
        active.stop()


def _active(spark: SparkSession, id_: str) -> Any:
    """Spark's run of a query, in whichever session; None if there is none."""
    jvm: Any = spark._jvm
    active: Any = spark._jsparkSession.sharedState().activeStreamingQueries()
    return active.get(jvm.java.util.UUID.fromString(id_))
