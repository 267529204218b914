"""Fixtures for users of this package: `kafka_cluster`, `kafka_cluster_factory`, `schema_registry`.

pytest imports this module in every run, before coverage starts: it must import only pytest at the
top, and start nothing before a test uses a fixture.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafka_spark_source.testing.broker.cluster import KafkaCluster
    from kafka_spark_source.testing.registry import SchemaRegistry


class ClusterFactory:
    """Starts each kind of cluster once per session; call it with `KafkaCluster`'s arguments.

    All tests share the clusters. A test that kills brokers or fills disks must start its own
    `KafkaCluster`. `defaults` are properties of all of them, unless `config` has them.
    """

    def __init__(self, clusters: ExitStack, defaults: Mapping[str, str] | None = None) -> None:
        self._clusters = clusters
        self._defaults = defaults or {}
        self._by_arguments: dict[tuple[object, ...], KafkaCluster] = {}

    def __call__(
        self,
        version: str | None = None,
        nodes: int = 1,
        security: str = "PLAINTEXT",
        config: Mapping[str, str] | None = None,
    ) -> KafkaCluster:
        """The running cluster with these properties, started at the first call."""
        from kafka_spark_source.testing import NEWEST, KafkaCluster  # noqa: PLC0415

        version = version or NEWEST
        config = {**self._defaults, **(config or {})}
        arguments = (version, nodes, security, *sorted(config.items()))
        if arguments not in self._by_arguments:
            cluster = KafkaCluster(version, nodes, security, config=config)
            self._by_arguments[arguments] = self._clusters.enter_context(cluster)
        return self._by_arguments[arguments]


@pytest.fixture(scope="session")
def kafka_cluster_factory() -> Iterator[ClusterFactory]:
    """Starts clusters by version, nodes, security and config; they end with the session.

    A topic is made when it is first used, as on the broker of `pykafka broker start`.
    """
    from kafka_spark_source.testing import CONVENIENT  # noqa: PLC0415

    with ExitStack() as clusters:
        yield ClusterFactory(clusters, CONVENIENT)


@pytest.fixture(scope="session")
def kafka_cluster(kafka_cluster_factory: ClusterFactory) -> KafkaCluster:
    """One broker of the newest release, without encryption or authentication."""
    return kafka_cluster_factory()


@pytest.fixture(scope="session")
def schema_registry() -> Iterator[SchemaRegistry]:
    """A schema registry without encryption. All tests share it: each uses subjects of its own."""
    from kafka_spark_source.testing import SchemaRegistry  # noqa: PLC0415

    with SchemaRegistry() as registry:
        yield registry
