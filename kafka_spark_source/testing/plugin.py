"""Fixtures for whoever has this package installed: `kafka_cluster` and `kafka_cluster_factory`.

pytest loads this module in every run, before coverage starts: nothing is imported at its top but
pytest, and no broker starts until a test asks.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafka_spark_source.testing.cluster import KafkaCluster


class ClusterFactory:
    """Makes each kind of cluster once in a session: call it with `KafkaCluster`'s arguments.

    The clusters are shared by all tests. One that kills brokers or fills disks starts its own
    `KafkaCluster` instead.
    """

    def __init__(self, clusters: ExitStack) -> None:
        self._clusters = clusters
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
        arguments = (version, nodes, security, *sorted((config or {}).items()))
        if arguments not in self._by_arguments:
            cluster = KafkaCluster(version, nodes, security, config=config)
            self._by_arguments[arguments] = self._clusters.enter_context(cluster)
        return self._by_arguments[arguments]


@pytest.fixture(scope="session")
def kafka_cluster_factory() -> Iterator[ClusterFactory]:
    """Makes clusters by version, nodes, security and config; they end with the session."""
    with ExitStack() as clusters:
        yield ClusterFactory(clusters)


@pytest.fixture(scope="session")
def kafka_cluster(kafka_cluster_factory: ClusterFactory) -> KafkaCluster:
    """One broker of the newest release, without encryption or authentication."""
    return kafka_cluster_factory()
