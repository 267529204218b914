"""The sink, except that it pauses at the moment PAUSE_AT, to be killed there.

It pauses with a probability of 40 %, and then creates the file `paused` in PAUSE_FOLDER.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from kafka_spark_source.source import KafkaDataSource
from kafka_spark_source.writing import exactly_once
from kafka_spark_source.writing.batch_writer import KafkaCommitMessage
from kafka_spark_source.writing.commit_log import CommitLog
from kafka_spark_source.writing.stream_writer import KafkaStreamWriter

PAUSE_AT = "PAUSE_AT"
PAUSE_FOLDER = "PAUSE_FOLDER"
PAUSED = "paused"
_CHANCE = 0.4


def _committing_one(commit: Callable[..., Any], *arguments: Any) -> Any:
    """Commit the first transaction alone, and wait."""
    name = "end_all"
    end_all = getattr(exactly_once, name)

    def end_one(cluster: Any, transactions: Any, **options: Any) -> Any:
        end_all(cluster, [*transactions][:1], **options)
        _wait()

    setattr(exactly_once, name, end_one)
    return commit(*arguments)


def _before(function: Callable[..., Any], *arguments: Any) -> Any:
    _wait()
    return function(*arguments)


def _after(function: Callable[..., Any], *arguments: Any) -> Any:
    returned = function(*arguments)
    _wait()
    return returned


# Pauses in the commit on the driver: the patched function, and when it pauses.
_PAUSES: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "before the decision": (CommitLog, "decide", _before),
    "after the decision": (CommitLog, "decide", _after),
    "in the middle of the commits": (exactly_once, "_commit", _committing_one),
    "after the commits": (exactly_once, "_commit", _after),
    "at the very end": (CommitLog, "note_done", _after),
}
_IN_A_TASK = "in a task that has written"
PAUSES = (_IN_A_TASK, *_PAUSES)


def _wait() -> None:
    Path(os.environ[PAUSE_FOLDER], PAUSED).touch()
    time.sleep(3_600)


class PausingWriter(KafkaStreamWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> KafkaCommitMessage:
        message = super().write(iterator)
        if os.environ.get(PAUSE_AT) == _IN_A_TASK and random.random() < _CHANCE:
            _wait()
        return message

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # type: ignore[override]
        place = _PAUSES.get(os.environ.get(PAUSE_AT, ""))
        if place is not None and random.random() < _CHANCE:
            owner, name, pause = place
            function = getattr(owner, name)
            setattr(owner, name, lambda *arguments: pause(function, *arguments))
        super().commit(messages, batchId)


class PausingSource(KafkaDataSource):
    @classmethod
    def name(cls) -> str:
        return "pausing"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        writer = super().streamWriter(schema, overwrite)
        assert isinstance(writer, KafkaStreamWriter)
        return PausingWriter(writer._delivery)
