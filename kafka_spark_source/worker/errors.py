"""Makes Spark show an error of this project as one sentence, without a stack of Python internals.

Spark's Python worker sends an exception to the JVM with its traceback, or with the environment
variable SPARK_HIDE_TRACEBACK only the last line (the variable belongs to
`spark.sql.execution.pyspark.udf.hideTraceback.enabled`). The worker reads the variable when it
reports an error, and then exits, so setting it affects one error only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kafka_protocol.errors import KafkaError


@contextmanager
def hide_traceback() -> Iterator[None]:
    """In a Spark worker, hide the traceback of a KafkaError; a decorator, too, but of no generator.

    Any other exception is a bug and keeps its traceback.
    """
    try:
        yield
    except KafkaError:  # point: hide-traceback
        if _is_spark_worker():
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


def _is_spark_worker() -> bool:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and str(spec.name).startswith("pyspark.")
