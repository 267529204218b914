"""A query with named sources moves between the connectors, on version 2 of the offset log."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conformance.sides import OURS, THEIRS
from tests.conformance.topics import Topics
from tests.named_sources import NamedSources, source_evolution

pytestmark = [pytest.mark.integration, pytest.mark.spark]


@pytest.mark.parametrize(
    ("first", "second"),
    [(THEIRS, OURS), (OURS, THEIRS)],
)
def test_named_sources_move_there_and_back(
    spark: SparkSession, topics: Topics, tmp_path: Path, first: str, second: str
) -> None:
    """The sources come in another order at each move."""
    a, b = (topics.make(f"named-{name}-{first}", 2) for name in "ab")
    query = NamedSources(spark, topics.servers, tmp_path)
    with source_evolution(spark):
        query.run(first, {"a": a, "b": b})
        query.run(second, {"b": b, "a": a})
        query.run(second, {"a": a, "b": b})
        query.run(first, {"b": b, "a": a})
