"""One sentence for what failed."""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.tables.reasons import reason_of

_JAVA = """An error occurred while calling o1.saveAsTable.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows.
\tat org.apache.spark.sql.Executor.run(Executor.scala:1)
Caused by: org.apache.spark.api.python.PythonException: An exception was thrown:
kafka_formats.errors.BrokenPayloadError: The value of orders-0 at offset 7 is broken: no JSON
\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1)"""


def test_an_error_of_a_task_is_its_own_sentence() -> None:
    reason = "The value of orders-0 at offset 7 is broken: no JSON"
    assert reason_of(Py4JError(_JAVA)) == reason


def test_an_error_of_java_is_its_last_cause() -> None:
    text = f"""{_JAVA.partition("Caused by")[0]}Caused by: java.lang.RuntimeException: outer
\tat x
Caused by: org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] topic a, offset 1
\tat y
\t... 3 more"""
    assert reason_of(Py4JError(text)) == "topic a, offset 1"


def test_other_errors() -> None:
    assert reason_of(KafkaConfigError("say it\ntwice")) == r"say it\ntwice"
    assert reason_of(AnalysisException("[NO_TABLE] There is none.\nat line 1")) == (
        "[NO_TABLE] There is none."
    )
    assert reason_of(Py4JError(": java.lang.X: down\n\tat y")) == "Py4JError: java.lang.X: down"
    assert reason_of(ZeroDivisionError("by zero")) == "ZeroDivisionError: by zero"
