"""Spark sessions that have tables of Delta or of Iceberg, as this release of PySpark can have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pyspark
from pyspark.sql import SparkSession

from tests.change_data.jars import LAKES, find
from tests.spark_session import run_session

FORMATS: Final[Mapping[str, str]] = LAKES.get(pyspark.__version__.rpartition(".")[0], {})
"""The formats that there are jars for: the name of the set of jars for each."""
ICEBERG: Final = "lake"
"""The catalog with tables of Iceberg."""

DELTA: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Tables are small: their logs are read with one task.
    "spark.databricks.delta.snapshotPartitions": "1",
}
_EXTENSION: Final = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def _is_newest_with(format_: str) -> bool:
    """Whether no newer release of PySpark has jars of a format."""
    return FORMATS.get(format_) == next(each[format_] for each in LAKES.values() if format_ in each)


NEWEST: Final = tuple(each for each in FORMATS if _is_newest_with(each))
"""The formats that no newer release of PySpark has jars for: tests of tables run once for each."""


def lake_session(warehouse: Path) -> Iterator[SparkSession]:
    """A session with all formats; tables of Iceberg are in the catalog ICEBERG, in `warehouse`."""
    jars = [jar for name in FORMATS.values() for jar in find(name).glob("*.jar")]
    config = {"spark.jars": ",".join(map(str, sorted(jars))), **DELTA}
    if "iceberg" in FORMATS:
        config["spark.sql.extensions"] += f",{_EXTENSION}"
        config |= {
            f"spark.sql.catalog.{ICEBERG}": "org.apache.iceberg.spark.SparkCatalog",
            f"spark.sql.catalog.{ICEBERG}.type": "hadoop",
            f"spark.sql.catalog.{ICEBERG}.warehouse": str(warehouse),
        }
    yield from run_session("pykafka lake", **config)
