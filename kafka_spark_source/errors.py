"""How our errors look when Spark shows them: one sentence first, no stack of Python internals.

Spark's Python worker sends an exception to the JVM as a formatted stack, ours at the bottom of
it. SPARK_HIDE_TRACEBACK (what `spark.sql.execution.pyspark.udf.hideTraceback.enabled` sets) makes
it send the last line alone. The worker reads it when it reports, and ends after that, so it can
be set for the one error that is on its way.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kafka_protocol.errors import KafkaError


@contextmanager
def one_sentence() -> Iterator[None]:
    """Inside a Spark worker, let the errors that this project raises appear without a stack.

    Any other exception is a bug of ours and keeps its stack.
    """
    try:
        yield
    except KafkaError:
        if _is_spark_worker():
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


def _is_spark_worker() -> bool:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and str(spec.name).startswith("pyspark.")
