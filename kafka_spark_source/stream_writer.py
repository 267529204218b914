"""Spark's streaming writer: each micro-batch appends its rows, at least once."""

from __future__ import annotations

from pyspark.sql.datasource import DataSourceStreamWriter, WriterCommitMessage

from kafka_spark_source.batch_writer import KafkaBatchWriter


class KafkaStreamWriter(KafkaBatchWriter, DataSourceStreamWriter):
    """Appends the rows of micro-batches to topics; its argument is that of KafkaBatchWriter.

    It is a writer of batches, which is also how PySpark 4.0 is brought to hand out Arrow; since
    4.1 there is a class for that.
    """

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # type: ignore[override]
        """Nothing: what tasks wrote is there."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # type: ignore[override]
        """Nothing: what tasks wrote stays, and Spark writes the micro-batch again."""
