"""Our client, connected to a real broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_spark_source.testing import KafkaCluster

SOON_MS = 30_000


def soon() -> Deadline:
    """Longer than any request takes, even on a loaded machine."""
    return Deadline.after(SOON_MS)


def connect(kafka: KafkaCluster, **options: str) -> Cluster:
    """A client of a broker without security; `client_id="..."` sets `client.id`."""
    named = {name.replace("_", "."): value for name, value in options.items()}
    servers = {"bootstrap.servers": kafka.bootstrap_servers}
    return Cluster(ClientConfig.from_options(servers | named))


@contextmanager
def connected(options: Mapping[str, str]) -> Iterator[Cluster]:
    """A client with these options, closed at the end."""
    with closing(Cluster(ClientConfig.from_options(options))) as cluster:
        yield cluster
