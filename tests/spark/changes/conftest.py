"""Spark interprets the plans: they are long, and their rows are few.

`tests/change_data` runs them compiled.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.spark_session import INTERPRETED, settings


@pytest.fixture(autouse=True)
def _plans_are_interpreted(request: pytest.FixtureRequest) -> Iterator[None]:
    if "spark" not in request.fixturenames:
        yield
        return
    spark: SparkSession = request.getfixturevalue("spark")
    with settings(spark, INTERPRETED):
        yield
