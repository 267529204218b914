"""A session with tables of Delta and of Iceberg. It must be the first one of its process.

Tests marked `core` run on each kind of target. The others run on a table by name, and only on the
newest release of PySpark that has jars of its format: a MERGE into a small table takes seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from tests.addressed import judges_tests_with
from tests.change_data.lake import FORMATS, NEWEST, lake_session
from tests.change_data.tables import Lake, MakeTarget, Target

CORE_TARGETS = [
    pytest.param(Lake(each, by_path), marks=[pytest.mark.slow] * by_path)
    for each in FORMATS
    for by_path in (False, True)
]
TARGETS = [Lake(each, by_path=False) for each in NEWEST]
ONLY_WITH_NEWEST_DELTA: Final = pytest.mark.skipif(
    "delta" not in NEWEST, reason="the tables are Delta's, of its newest release"
)
"""For what starts Debezium: it differs by neither release nor format."""

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


_rows_go_where_they_are_addressed = judges_tests_with("kafka_cluster")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give a busy machine half an hour: a call into the JVM that is cut off spoils later ones."""
    if item.get_closest_marker("timeout") is None:
        item.add_marker(pytest.mark.timeout(1800))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "new_target" in metafunc.fixturenames:
        is_core = metafunc.definition.get_closest_marker("core") is not None
        targets = CORE_TARGETS if is_core else TARGETS
        metafunc.parametrize("new_target", targets, ids=str, indirect=True)


@pytest.fixture
def new_target(request: pytest.FixtureRequest, spark: SparkSession, warehouse: Path) -> MakeTarget:
    """Makes a table of the lake."""

    def make(columns: str = "id bigint") -> Target:
        return Target(spark, request.param, warehouse, columns)

    return make
