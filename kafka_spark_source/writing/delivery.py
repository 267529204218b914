"""How often rows are delivered: what the tasks of a write do, and what the driver does at its end.

At least once is here; exactly once has a room of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kafka_protocol.client.pool import shared_producer
from kafka_spark_source.writing.commit_log import MicroBatch, TaskWrite
from kafka_spark_source.writing.row_writer import RowWriter

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_protocol.client.producer.transactions import Transaction


# That of a stream's task whom Spark does not tell it.
UNKNOWN: Final = MicroBatch("", -1)


class TaskAttempt(NamedTuple):
    """Which task of Spark's writes.

    Attributes:
        partition: Its number among the tasks of the write.
        attempt: How often the task was tried before.
        micro_batch: What it writes a part of; None for a batch query.
    """

    partition: int
    attempt: int
    micro_batch: MicroBatch | None


class Written(NamedTuple):
    """What a task tells the driver.

    Attributes:
        write: What it wrote.
        task: Which it is.
        claim: The driver's transaction that was open when the task began; None where none is.
    """

    write: TaskWrite
    task: TaskAttempt
    claim: Transaction | None = None


class Delivery(Protocol):
    """How a write is done. Travels to the tasks."""

    def write(self, batches: Iterable[pa.RecordBatch], task: TaskAttempt) -> Written:
        """In a task: write its rows.

        Raises:
            KafkaError: A row cannot be written, or a broker refused it.
        """

    def commit(self, written: Sequence[Written]) -> None:
        """On the driver, once all tasks are done.

        Raises:
            KafkaError: The write is not done.
        """

    def abort(self, written: Sequence[Written | None]) -> None:
        """On the driver, when the write failed; None stands for tasks that did not finish."""


@dataclass(frozen=True, slots=True)
class AtLeastOnce:
    """Each task's records are there when it is done; one that Spark runs again writes again."""

    rows: RowWriter

    def write(self, batches: Iterable[pa.RecordBatch], task: TaskAttempt) -> Written:
        """Write rows; returns when all of them are acknowledged."""
        with shared_producer(self.rows.config) as producer:
            records = self.rows.add(batches, producer)
        return Written(TaskWrite(task.partition, records), task)

    def commit(self, written: Sequence[Written]) -> None:
        """Nothing: what tasks wrote is there."""

    def abort(self, written: Sequence[Written | None]) -> None:
        """Nothing: what tasks wrote stays, and whoever writes again writes it twice."""
