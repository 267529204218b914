"""The delivery guarantee of a write: the work of its tasks, and of the driver at its end.

Contains at-least-once; `exactly_once` is the other one. Never imports pyspark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kafka_protocol.arrow_io.row_writer import RowWriter
from kafka_protocol.client.pool import shared_producer
from kafka_spark_source.writing.decision_format import MicroBatch, TaskWrite

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_protocol.client.producer.transactions import Transaction


# Used when Spark does not give a streaming task its query id and batch id.
UNKNOWN_MICRO_BATCH: Final = MicroBatch("", -1)


class TaskAttempt(NamedTuple):
    """One attempt of one task.

    Attributes:
        partition: The number of the task in the write.
        attempt: The number of earlier attempts.
        micro_batch: The micro-batch that it writes a part of; None for a batch query.
    """

    partition: int
    attempt: int
    micro_batch: MicroBatch | None


# Sail has no task context; only exactly-once writes need one.
UNKNOWN_TASK: Final = TaskAttempt(partition=-1, attempt=0, micro_batch=None)


class Written(NamedTuple):
    """A finished task's report to the driver.

    Attributes:
        write: The task's transaction and its records.
        task: The attempt that wrote it.
        driver_transaction: The driver's own one when the task began; None for at-least-once.
    """

    write: TaskWrite
    task: TaskAttempt
    driver_transaction: Transaction | None = None


class Delivery(Protocol):
    """A delivery guarantee. Travels to the tasks."""

    def write(self, batches: Iterable[pa.RecordBatch], task: TaskAttempt) -> Written:
        """Write the rows of a task, in the task.

        Raises:
            KafkaError: A row cannot be written, or a broker refused it.
        """

    def commit(self, written: Sequence[Written]) -> None:
        """Finish the write, on the driver, once all tasks are done.

        Raises:
            KafkaError: The write is not done.
        """

    def abort(self, written: Sequence[Written | None]) -> None:
        """Clean up after a failed write, on the driver; None stands for an unfinished task."""


@dataclass(frozen=True, slots=True)
class AtLeastOnce:
    """Readers see a task's records at once; a task that Spark runs again writes them again."""

    rows: RowWriter

    def write(self, batches: Iterable[pa.RecordBatch], task: TaskAttempt) -> Written:
        """Write rows; returns when all of them are acknowledged."""
        with shared_producer(self.rows.config) as producer:
            records = self.rows.add(batches, producer)
        return Written(TaskWrite(task.partition, records), task)

    def commit(self, written: Sequence[Written]) -> None:
        """Do nothing: the records are written."""

    def abort(self, written: Sequence[Written | None]) -> None:
        """Do nothing: the records stay, and a retry of the write writes them again."""
