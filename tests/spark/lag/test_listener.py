"""The listener on progress reports, and in Spark."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.listener import QueryProgressEvent, QueryTerminatedEvent

from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.lag import LagListener, PartitionLag
from kafka_spark_source.planning.offsets_json import offsets_to_log
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.spark.lag.prometheus_text import parse
from tests.spark.lag.test_progress import offset_maps


def source(
    end: str | None, latest: str | None, description: str = "KafkaV2[Subscribe[t]]"
) -> dict[str, Any]:
    return {
        "description": description,
        "startOffset": "None",
        "endOffset": str(end),
        "latestOffset": str(latest),
        "numInputRows": 1,
        "inputRowsPerSecond": 1.0,
        "processedRowsPerSecond": 1.0,
    }


ID, RUN = str(uuid.uuid4()), str(uuid.uuid4())


def progress(
    *sources: dict[str, Any],
    name: str | None = "orders",
    run: str = RUN,
    batch: int = 7,
    minute: int = 0,
) -> QueryProgressEvent:
    return QueryProgressEvent.fromJson(
        {
            "progress": {
                "id": ID,
                "runId": run,
                "name": name,
                "timestamp": f"2026-01-01T00:{minute:02}:00.000Z",
                "batchId": batch,
                "batchDuration": 1,
                "stateOperators": [],
                "sources": list(sources),
                "sink": {"description": "sink", "numOutputRows": 1},
            }
        }
    )


def terminated(run: str = RUN) -> QueryTerminatedEvent:
    return QueryTerminatedEvent.fromJson(
        {"id": ID, "runId": run, "exception": None, "errorClassOnException": None}
    )


BEHIND = source('{"t":{"0":4,"1":9}}', '{"t":{"0":6,"1":19}}')


def test_the_newest_progress_counts(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    listener = LagListener()
    assert listener.lags == {}
    listener.onQueryProgress(progress(BEHIND))
    assert listener.lags == {
        "orders": (PartitionLag("t", 0, 4, 6, 0), PartitionLag("t", 1, 9, 19, 0))
    }
    listener.onQueryProgress(progress(source('{"t":{"0":6}}', '{"t":{"0":6}}'), batch=8))
    assert listener.lags == {"orders": (PartitionLag("t", 0, 6, 6, 0),)}
    assert caplog.messages == [
        "Query orders, batch 7: 12 records behind in 2 partitions, 10 of them in t-1",
        "Query orders, batch 8: 0 records behind in 1 partitions, 0 of them in t-0",
    ]


def test_lag_in_time_is_that_between_reports() -> None:
    listener = LagListener()
    for minute, consumed, latest in ((0, 0, 100), (1, 100, 200), (2, 150, 300), (3, 300, 300)):
        offsets = (json.dumps({"t": {"0": each}}) for each in (consumed, latest))
        listener.onQueryProgress(progress(source(*offsets), minute=minute))
        (lag,) = listener.lags["orders"]
        # Offset 100 was written behind minute 0, offset 150 half a minute later.
        assert lag.behind_ms == {0: 0, 1: 60_000, 2: 90_000, 3: 0}[minute]
    assert parse(listener.prometheus_text())["pykafka_lag_seconds"][0][1] == 0


def test_a_query_without_a_name_is_called_by_its_id() -> None:
    listener = LagListener()
    listener.onQueryProgress(progress(BEHIND, name=None))
    assert list(listener.lags) == [ID]


def test_other_sources_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    listener = LagListener()
    others = source("5", "7"), source('{"logOffset":3}', None), source("{{{", "{{{")
    listener.onQueryProgress(progress(*others))
    assert listener.lags == {}
    assert caplog.messages == []
    listener.onQueryProgress(progress(*others, BEHIND))
    assert len(listener.lags["orders"]) == 2


def test_a_lag_that_is_no_longer_known_is_removed() -> None:
    listener = LagListener()
    listener.onQueryProgress(progress(BEHIND))
    listener.onQueryProgress(progress(source('{"t":{"0":4}}', None)))
    assert listener.lags == {}


def test_a_query_that_ends_is_forgotten() -> None:
    listener = LagListener()
    listener.onQueryProgress(progress(BEHIND))
    listener.onQueryProgress(progress(BEHIND, name="other", run=str(uuid.uuid4())))
    listener.onQueryTerminated(terminated())
    assert list(listener.lags) == ["other"]
    listener.onQueryTerminated(terminated())
    assert list(listener.lags) == ["other"]


def test_the_end_of_an_earlier_run_keeps_the_next_one() -> None:
    listener = LagListener()
    listener.onQueryProgress(progress(BEHIND))
    again = str(uuid.uuid4())
    listener.onQueryProgress(progress(source('{"t":{"0":6}}', '{"t":{"0":6}}'), run=again))
    assert listener.lags == {"orders": (PartitionLag("t", 0, 6, 6, 0),)}
    listener.onQueryTerminated(terminated())
    assert listener.lags == {"orders": (PartitionLag("t", 0, 6, 6, 0),)}
    listener.onQueryTerminated(terminated(again))
    assert listener.lags == {}


def test_a_source_without_latest_offsets_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    offsets = '{"t": {"0": 4}}'
    python = "org.apache.spark.sql.execution.datasources.v2.python.PythonMicroBatchStream"
    listener = LagListener()
    for _ in range(2):
        listener.onQueryProgress(progress(source(offsets, offsets, f"{python}@1")))
    assert listener.lags == {}
    [message] = caplog.messages
    assert "PySpark 4.2" in message
    assert "commitOffsetsToGroup" in message
    newer = f"{python}WithAdmissionControl@1"
    listener.onQueryProgress(progress(source(offsets, offsets, newer)))
    assert len(listener.lags["orders"]) == 1


@given(st.dictionaries(st.text(min_size=1), st.tuples(offset_maps, offset_maps), max_size=3))
def test_the_gauges_equal_the_lags(
    queries: dict[str, tuple[dict[TopicPartition, int], dict[TopicPartition, int]]],
) -> None:
    listener = LagListener()
    for name, (consumed, latest) in queries.items():
        listener.onQueryProgress(
            progress(
                source(*(json.dumps(offsets_to_log(each)) for each in (consumed, latest))),
                name=name,
                run=str(uuid.uuid4()),
            )
        )
    gauges = parse(listener.prometheus_text())
    assert {
        (labels["query"], labels["topic"], int(labels["partition"])): value
        for labels, value in gauges["pykafka_lag_records"]
    } == {
        (query, lag.topic, lag.partition): lag.records
        for query, lags in listener.lags.items()
        for lag in lags
    }


def test_the_file_is_kept_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "orders.prom"
    listener = LagListener(prometheus_file=path)
    listener.onQueryProgress(progress(BEHIND))
    assert path.read_text() == listener.prometheus_text()
    assert 'pykafka_lag_records{query="orders",topic="t",partition="1"} 10\n' in path.read_text()
    listener.onQueryTerminated(terminated())
    assert "partition" not in path.read_text().replace("partitions", "")


def test_a_file_that_cannot_be_written_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    listener = LagListener(prometheus_file=str(tmp_path / "nowhere" / "orders.prom"))
    listener.onQueryProgress(progress(BEHIND))
    assert len(listener.lags["orders"]) == 2
    [message] = caplog.messages
    assert "nowhere" in message


class Counting(DataSourceStreamReader):
    """Six rows in each batch; the log has forty more."""

    def __init__(self) -> None:
        self._end = 0

    def initialOffset(self) -> dict[str, Any]:
        return {"t": {"0": 0}}

    def getDefaultReadLimit(self) -> Any:
        from pyspark.sql.streaming.datasource import ReadMaxRows  # noqa: PLC0415 -- 4.2 or newer

        return ReadMaxRows(6)

    def latestOffset(self, *_: object) -> dict[str, Any]:
        self._end += 6
        return {"t": {"0": self._end}}

    def reportLatestOffset(self) -> dict[str, Any]:
        return {"t": {"0": self._end + 40}}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        return [InputPartition(end["t"]["0"])]

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        return iter([(partition.value,)])


class CountingSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "counting"

    def schema(self) -> str:
        return "n long"

    def streamReader(self, schema: object) -> DataSourceStreamReader:
        return Counting()


@pytest.mark.spark
def test_spark_calls_the_listener(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    spark.dataSource.register(CountingSource)
    listener = LagListener()
    soon = Deadline(60)
    spark.streams.addListener(listener)
    try:
        rows = spark.readStream.format("counting").load().writeStream.format("noop")
        query = rows.trigger(processingTime="100 milliseconds").queryName("counting").start()
        try:
            assert soon.wait_for(lambda: bool(listener.lags or caplog.messages))
            lags = listener.lags
        finally:
            query.stop()
        assert soon.wait_for(lambda: not listener.lags)
    finally:
        spark.streams.removeListener(listener)
    if spark.version < "4.2":
        assert lags == {}
        assert "PySpark 4.2" in caplog.text
    else:
        [lag] = lags["counting"]
        assert (lag.topic, lag.partition, lag.records) == ("t", 0, 40)
        assert lag.consumed_offset % 6 == 0
