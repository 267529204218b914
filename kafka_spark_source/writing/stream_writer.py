"""Spark's streaming writer: each micro-batch appends its rows."""

from __future__ import annotations

from pyspark.sql.datasource import DataSourceStreamWriter, WriterCommitMessage
from pyspark.taskcontext import TaskContext

from kafka_spark_source.worker.errors import hide_traceback
from kafka_spark_source.writing.batch_writer import KafkaBatchWriter
from kafka_spark_source.writing.decision_format import MicroBatch
from kafka_spark_source.writing.delivery import UNKNOWN_MICRO_BATCH

# Local properties that Spark sets for the tasks of a query; its own connectors rely on them.
_QUERY_ID = "sql.streaming.queryId"
_BATCH_ID = "streaming.sql.batchId"


class KafkaStreamWriter(KafkaBatchWriter, DataSourceStreamWriter):
    """Appends the rows of micro-batches to topics; its argument is as for KafkaBatchWriter.

    It is a batch writer so that PySpark 4.0 passes Arrow to it; PySpark 4.1 has a class for that.
    """

    @hide_traceback()
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # type: ignore[override]  # noqa: ARG002
        """Make the records of all tasks visible. Their messages name the micro-batch."""
        super().commit(messages)

    @hide_traceback()
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # type: ignore[override]  # noqa: ARG002
        """Abort open transactions; Spark writes the micro-batch again."""
        super().abort(messages)

    def _micro_batch(self, context: TaskContext) -> MicroBatch | None:
        query, number = map(context.getLocalProperty, (_QUERY_ID, _BATCH_ID))
        # point: local-properties
        return MicroBatch(query, int(number)) if query and number else UNKNOWN_MICRO_BATCH
