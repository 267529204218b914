"""Spark's batch writer: hands the rows of a task on, and tells the driver what was written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.taskcontext import TaskContext

from kafka_spark_source.errors import one_sentence
from kafka_spark_source.worker import spare_modules_from_gc
from kafka_spark_source.writing.commit_log import MicroBatch
from kafka_spark_source.writing.delivery import Delivery, TaskAttempt, Written

if TYPE_CHECKING:
    import pyarrow as pa


class KafkaCommitMessage(WriterCommitMessage):
    """What a task wrote, on its way to the driver.

    Args:
        written: That.
    """

    def __init__(self, written: Written) -> None:
        self.written = written

    def __repr__(self) -> str:
        return f"KafkaCommitMessage({self.written!r})"


class KafkaBatchWriter(DataSourceArrowWriter):
    """Appends rows to topics.

    Args:
        delivery: How, and how often.
    """

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery

    def write(self, iterator: Iterator[pa.RecordBatch]) -> KafkaCommitMessage:
        """Write the rows of one task; returns when all of them are acknowledged.

        Raises:
            KafkaError: A row cannot be written, or a broker refused it. Names topic, partition,
                broker, and what the broker said.
        """
        with one_sentence():
            written = self._delivery.write(iterator, self._task())
        spare_modules_from_gc()
        return KafkaCommitMessage(written)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Make what tasks wrote seen, where it is not yet.

        Raises:
            KafkaError: The write is not done.
        """
        with one_sentence():
            self._delivery.commit([each for each in _written(messages) if each is not None])

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Roll back what can be rolled back."""
        with one_sentence():
            self._delivery.abort(_written(messages))

    def _task(self) -> TaskAttempt:
        context: Any = TaskContext.get()  # in a task there is one
        return TaskAttempt(
            context.partitionId(), context.attemptNumber(), self._micro_batch(context)
        )

    def _micro_batch(self, context: TaskContext) -> MicroBatch | None:  # noqa: ARG002
        return None


def _written(messages: list[WriterCommitMessage | None]) -> list[Written | None]:
    return [each.written if isinstance(each, KafkaCommitMessage) else None for each in messages]
