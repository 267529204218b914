"""Spark's batch writer: the methods that Spark calls in tasks and on the driver.

Knows no delivery guarantee: that is a `Delivery`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.taskcontext import TaskContext

from kafka_spark_source.worker.errors import hide_traceback
from kafka_spark_source.worker.worker import (
    acknowledge_at_once,
    exclude_modules_from_gc,
    keep_freed_memory,
)
from kafka_spark_source.writing.decision_format import MicroBatch
from kafka_spark_source.writing.delivery import UNKNOWN_TASK, Delivery, TaskAttempt, Written

if TYPE_CHECKING:
    import pyarrow as pa


class KafkaCommitMessage(WriterCommitMessage):
    """A task's report on its way to the driver."""

    def __init__(self, written: Written) -> None:
        self.written = written

    def __repr__(self) -> str:
        return f"KafkaCommitMessage({self.written!r})"


class KafkaBatchWriter(DataSourceArrowWriter):
    """Appends rows to topics."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        acknowledge_at_once()

    @hide_traceback()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> KafkaCommitMessage:
        """Write the rows of one task; returns when all of them are acknowledged.

        Raises:
            KafkaError: A row cannot be written, or a broker refused it. Names topic, partition,
                broker and the broker's error.
        """
        keep_freed_memory()
        written = self._delivery.write(iterator, self._task())
        exclude_modules_from_gc()
        return KafkaCommitMessage(written)

    @hide_traceback()
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Make the records of all tasks visible.

        Raises:
            KafkaError: The write is not done.
        """
        self._delivery.commit([each for each in _written(messages) if each is not None])

    @hide_traceback()
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Abort the transactions of the tasks, if they wrote in any."""
        self._delivery.abort(_written(messages))

    def _task(self) -> TaskAttempt:
        context: Any = TaskContext.get()
        if context is None:  # point: no-task-context
            return UNKNOWN_TASK
        return TaskAttempt(
            context.partitionId(), context.attemptNumber(), self._micro_batch(context)
        )

    def _micro_batch(self, context: TaskContext) -> MicroBatch | None:  # noqa: ARG002
        return None


def _written(messages: list[WriterCommitMessage | None]) -> list[Written | None]:
    return [each.written if isinstance(each, KafkaCommitMessage) else None for each in messages]
