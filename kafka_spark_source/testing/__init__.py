"""A real Kafka and schema registry on this machine, for tests, demos and experiments.

`KafkaCluster` starts Apache Kafka from its own jars, with the Java that Spark needs, and
`SchemaRegistry` starts Apicurio Registry. The data source must never import this package. The names
below are imported at first use, because pytest imports this package in every run, for its plugin.

Example:
    >>> from kafka_spark_source.testing import KafkaCluster
    >>> with KafkaCluster(version="4.4.0") as cluster:  # doctest: +SKIP
    ...     spark.read.format("pykafka").option(
    ...         "kafka.bootstrap.servers", cluster.bootstrap_servers
    ...     )
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_spark_source.testing.broker.cluster import Broker, KafkaCluster
    from kafka_spark_source.testing.broker.properties import CONVENIENT
    from kafka_spark_source.testing.errors import (
        BrokerStartError,
        JarError,
        JavaError,
        LocalBrokerError,
        RegistryStartError,
        StartError,
    )
    from kafka_spark_source.testing.registry import SchemaRegistry
    from kafka_spark_source.testing.releases import NEWEST, RELEASES

__all__ = [
    "CONVENIENT",
    "NEWEST",
    "RELEASES",
    "Broker",
    "BrokerStartError",
    "JarError",
    "JavaError",
    "KafkaCluster",
    "LocalBrokerError",
    "RegistryStartError",
    "SchemaRegistry",
    "StartError",
]

_MODULES = {
    "broker.cluster": ("Broker", "KafkaCluster"),
    "errors": (
        *("BrokerStartError", "JarError", "JavaError", "LocalBrokerError"),
        *("RegistryStartError", "StartError"),
    ),
    "broker.properties": ("CONVENIENT",),
    "registry": ("SchemaRegistry",),
    "releases": ("NEWEST", "RELEASES"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
