"""A Spark session with both connectors, a broker, and what compares the connectors."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.addressed import judges_tests_with
from tests.conformance.sides import Sides
from tests.conformance.sinks import Sinks
from tests.conformance.streams import LiveTopics, Streams
from tests.conformance.topics import Topics
from tests.jvm_connector import PYSPARK, spark_jars
from tests.spark_session import run_session

if metadata.version("pyspark") != PYSPARK:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def kafka(kafka_cluster_factory: ClusterFactory) -> KafkaCluster:
    """A broker that cleans its logs without delay."""
    return kafka_cluster_factory(config={"log.cleaner.backoff.ms": "100"})


_rows_go_where_they_are_addressed = judges_tests_with("kafka")


@pytest.fixture(scope="session")
def topics(kafka: KafkaCluster) -> Topics:
    """Topics with all kinds of contents, each filled when it is first used."""
    return Topics(kafka.bootstrap_servers)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session with both connectors. It must be the first one of this process."""
    yield from run_session("pykafka conformance", spark_jars=spark_jars(lambda _what: None))


@pytest.fixture
def sides(spark: SparkSession, kafka: KafkaCluster) -> Sides:
    """Reads the same topics through both connectors."""
    return Sides(spark, kafka.bootstrap_servers)


@pytest.fixture
def streams(spark: SparkSession, kafka: KafkaCluster, tmp_path: Path) -> Streams:
    """Runs the same streaming query through both connectors."""
    return Streams(spark, kafka.bootstrap_servers, tmp_path)


@pytest.fixture(scope="session")
def live(kafka: KafkaCluster) -> LiveTopics:
    """Topics that change while a query runs."""
    return LiveTopics(kafka.bootstrap_servers)


@pytest.fixture
def sinks(spark: SparkSession, live: LiveTopics) -> Sinks:
    """Writes the same rows through both connectors."""
    return Sinks(spark, live)
