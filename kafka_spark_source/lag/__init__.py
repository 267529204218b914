"""The lag of queries: from progress reports, or from positions and logs.

`LagListener` needs Spark and no broker; `pykafka lag` measures checkpoints and consumer groups on
brokers and needs no Spark. Both export the gauges of one table (`gauges`). Printing belongs into
`cli`. `LagListener` is imported at first use, because it imports pyspark.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from kafka_spark_source.lag.progress import PartitionLag

if TYPE_CHECKING:
    from kafka_spark_source.lag.listener import LagListener

__all__ = ["LagListener", "PartitionLag"]


def __getattr__(name: str) -> object:
    if name == "LagListener":
        return importlib.import_module(f"{__name__}.listener").LagListener
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
