"""A session without the jars of a format."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.tables.provider import check_provider

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("provider", ["delta", "iceberg"])
def test_what_to_install_is_told(spark: SparkSession, provider: str) -> None:
    release = ".".join(spark.version.split(".")[:2])
    with pytest.raises(
        KafkaConfigError, match=rf"has no {provider}: .*{release}_2\.13.* existed for"
    ):
        check_provider(spark, provider)


def test_a_format_that_is_there(spark: SparkSession) -> None:
    check_provider(spark, "parquet")
