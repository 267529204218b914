"""Kafka's own jars, from the user's cache or from Maven; tests that need them never skip."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from kafka_spark_source.testing.downloads.jars import find_jars
from kafka_spark_source.testing.java import find_java
from tests.protocol.kafka_jar import KafkaJar


@pytest.fixture(scope="session")
def kafka_jar() -> Callable[[str], KafkaJar]:
    """The `kafka-clients` jar of a version."""
    java = find_java()

    @cache
    def jar_of(version: str) -> KafkaJar:
        return KafkaJar(version, find_jars(version, java, print), java)

    return jar_of
