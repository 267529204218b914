"""Spark's batch writer: hands the rows of a task on, and tells how many were written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from kafka_spark_source.errors import one_sentence
from kafka_spark_source.row_writer import RowWriter
from kafka_spark_source.worker import spare_modules_from_gc

if TYPE_CHECKING:
    import pyarrow as pa


class KafkaCommitMessage(WriterCommitMessage):
    """What a task wrote.

    Args:
        records: How many records the brokers acknowledged.
    """

    def __init__(self, records: int) -> None:
        self.records = records

    def __repr__(self) -> str:
        return f"KafkaCommitMessage(records={self.records})"


class KafkaBatchWriter(DataSourceArrowWriter):
    """Appends rows to topics, at least once: a task that Spark runs again writes again.

    Args:
        writer: How to write rows.
    """

    def __init__(self, writer: RowWriter) -> None:
        self._writer = writer

    def write(self, iterator: Iterator[pa.RecordBatch]) -> KafkaCommitMessage:
        """Write the rows of one task; returns when all of them are acknowledged.

        Raises:
            KafkaError: A row cannot be written, or a broker refused it. Names topic, partition,
                broker, and what the broker said.
        """
        with one_sentence():
            written = self._writer.write(iterator)
        spare_modules_from_gc()
        return KafkaCommitMessage(written)
