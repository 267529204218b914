"""Old PySparks call readers and writers in the order that the simulated engine keeps.

For the newest, `tests/simulation/test_call_order.py` has the same.
"""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.simulation.call_order import SPARK_40, recorded_order
from tests.simulation.recording_source import RecordingSource40


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(pyspark.__version__ >= "4.2", reason="passes the start, and a limit")
def test_the_order_of_old_spark(spark: SparkSession, tmp_path: Path) -> None:
    spark.dataSource.register(RecordingSource40)
    assert recorded_order(spark, tmp_path) == SPARK_40
