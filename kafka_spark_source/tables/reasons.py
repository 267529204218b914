"""One sentence for a failure, out of the errors of Spark, of tasks and of formats. Pure."""

from __future__ import annotations

import re
from typing import Final

from pyspark.errors import PySparkException

from kafka_protocol.errors import KafkaError
from kafka_spark_source.changes.target import first_line

# Somewhere in a task's error, which is many lines of Java, stands the exception of Python.
_OURS: Final = re.compile(r"\bkafka_(?:formats|protocol|spark_source)\.[\w.]*?(\w+): (\S.*)")
# What the last of several exceptions of Java says, each the cause of the one before it.
_CAUSE: Final = re.compile(r"^Caused by: [\w.$]+: (\S.*)", re.M)
_RAISED: Final = "[USER_RAISED_EXCEPTION] "


def reason_of(error: Exception) -> str:
    """Why something failed, in one line: names in it may come from outside."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in _text(error))


def _text(error: Exception) -> str:
    if isinstance(error, KafkaError):
        return str(error)
    raised = _OURS.search(str(error))
    if raised is not None:
        return raised[2]
    causes = _CAUSE.findall(str(error))
    if causes:
        return str(causes[-1]).removeprefix(_RAISED)
    line = first_line(error)
    return line if isinstance(error, PySparkException) else f"{type(error).__name__}: {line}"
