"""Sources with names, on a checkpoint with version 2 of the offset log, through pykafka alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import MakeTopic
from tests.named_sources import NamedSources, since_4_2, source_evolution

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.slow, since_4_2]


def test_named_sources_come_in_another_order_and_one_is_added(
    spark: SparkSession, kafka_cluster: KafkaCluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    a, b, c = (make_topic(partitions=2) for _ in range(3))
    query = NamedSources(spark, kafka_cluster.bootstrap_servers, tmp_path)
    with source_evolution(spark):
        query.run("pykafka", {"a": a, "b": b})
        query.run("pykafka", {"b": b, "a": a})
        query.run("pykafka", {"c": c, "b": b, "a": a})
