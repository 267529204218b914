"""Whether a session has the jars of Delta or Iceberg; without them, the package to install."""

from __future__ import annotations

from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_protocol.errors import KafkaConfigError

_PACKAGES: Final = {
    "delta": ("io.delta:delta-spark_{}_2.13", "4.0 to 4.2"),
    "iceberg": ("org.apache.iceberg:iceberg-spark-runtime-{}_2.13", "4.0 and 4.1"),
}
"""Format -> its package for a release of Spark, and the releases that it existed for."""


def check_provider(spark: SparkSession, provider: str) -> None:
    """Refuse a session without the jars of a format.

    Raises:
        KafkaConfigError: It has not, or they are of another release of Spark.
    """
    jvm: Any = spark._jvm
    try:
        jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource(
            provider, spark._jsparkSession.sessionState().conf()
        )
    except (PySparkException, Py4JJavaError) as error:
        package, releases = _PACKAGES[provider]
        release = ".".join(spark.version.split(".")[:2])
        raise KafkaConfigError(
            f"this session has no {provider}: start it with spark.jars.packages="
            f"{package.format(release)} of the newest version, and with its extension and catalog. "
            f"On 30 November 2026 it existed for PySpark {releases}, and this is {spark.version}"
        ) from error
