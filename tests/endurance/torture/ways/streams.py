"""Runs a stream to its end: stopped and started again on its checkpoint, or after a fault."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from kafka_spark_source.testing.processes.waiting import Deadline
from tests.endurance.torture.ways.place import DEADLINE_SECONDS, Place
from tests.overload import is_overload
from tests.spark_session import SPARK_ERRORS

# After so many failures it is not the faults.
_MOST_FAILURES = 6


def run_stream(
    place: Place,
    make: Callable[[], DataStreamWriter],
    how: Mapping[str, str],
    may_restart: bool = True,
) -> None:
    """Returns when all that the topics hold has been processed.

    Args:
        make: A new writer of the same query; on the same checkpoint if it may restart.
        how: `trigger`, and in `stops` how often the query is stopped after a micro-batch.
        may_restart: Whether a failure while there are faults is no error.
    """
    stops = int(how.get("stops", "0")) if may_restart else 0
    failures = 0
    while True:
        query = _start(make(), how)
        try:
            if stops:
                _stop_soon(query)
            else:
                _finish(query, how)
                return
        except SPARK_ERRORS as error:
            failures += 1
            expected = place.faulty() or is_overload(str(error))
            if not (may_restart and expected) or failures == _MOST_FAILURES:
                raise
            place.count_restart()
        else:
            stops -= 1
        finally:
            query.stop()


def _start(writer: DataStreamWriter, how: Mapping[str, str]) -> StreamingQuery:
    if how.get("trigger", "availableNow") == "availableNow":
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime="100 milliseconds").start()


def _stop_soon(query: StreamingQuery) -> None:
    """Stops it after a micro-batch, or when it has ended."""
    Deadline(DEADLINE_SECONDS).wait_for(lambda: bool(query.recentProgress) or not query.isActive)
    if not query.isActive:
        query.awaitTermination()


def _finish(query: StreamingQuery, how: Mapping[str, str]) -> None:
    if how.get("trigger", "availableNow") == "availableNow":
        assert query.awaitTermination(DEADLINE_SECONDS), f"the stream does not end: {query.status}"
        return
    # This wait has no deadline of its own.
    watchdog = threading.Timer(DEADLINE_SECONDS, query.stop)
    watchdog.start()
    try:
        query.processAllAvailable()
    finally:
        watchdog.cancel()
    assert query.isActive, "the stream had to be stopped: it did not end"


def writer_of(df: DataFrame, checkpoint: str) -> DataStreamWriter:
    """A writer with a checkpoint."""
    return df.writeStream.option("checkpointLocation", checkpoint)
