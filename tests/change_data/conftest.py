"""A session with tables of Delta and of Iceberg. It must be the first one of its process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.change_data.lake import FORMATS, lake_session
from tests.change_data.tables import Lake, MakeTarget, Target

LAKES = [
    pytest.param(Lake(each, by_path), marks=[pytest.mark.slow] * by_path)
    for each in FORMATS
    for by_path in (False, True)
]

if not FORMATS:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of tables."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def spark(warehouse: Path) -> Iterator[SparkSession]:
    """A session with all formats that this release of PySpark can have."""
    yield from lake_session(warehouse)


@pytest.fixture(params=LAKES, ids=str)
def new_target(request: pytest.FixtureRequest, spark: SparkSession, warehouse: Path) -> MakeTarget:
    """Makes a table of the lake."""

    def make(columns: str = "id bigint") -> Target:
        return Target(spark, request.param, warehouse, columns)

    return make
