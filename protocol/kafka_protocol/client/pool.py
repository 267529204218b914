"""Clusters and producers of this process, kept for the next task.

Spark forks Python workers from a daemon and reuses them. The next task finds open connections, and
a producer with its id: brokers remember each id for a day, for every partition it wrote to.

Each belongs to one thread, and a producer has connections of its own: where one thread reads and
writes in turns with equal options, no response of one can be the next one of the other. A forked
child starts without any: two processes cannot share a connection.

No thread cleans up: each task closes connections that earlier ones left idle, and Spark ends a
worker that is idle for a minute. A cluster is closed when it is forgotten here and nothing else
uses it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig

if TYPE_CHECKING:
    from kafka_protocol.client.producer.producer import Producer

# In a thread. A task uses up to three (exactly once); the tasks of most applications share few.
_MAX_CONFIGURATIONS: Final = 16


class _Shared:
    """The clients of a thread for one configuration; each connects when it is used."""

    def __init__(self, config: ClientConfig) -> None:
        self.cluster = Cluster(config)
        self.cluster_of_producer = Cluster(config)
        self.producer: Producer | None = None

    def close_idle(self) -> None:
        for each in (self.cluster, self.cluster_of_producer):
            each.close_idle()

    def close(self) -> None:
        for each in (self.cluster, self.cluster_of_producer):
            each.close()


class _Local(threading.local):
    """The clients of one thread, the least recently used first."""

    def __init__(self) -> None:
        self.shared: dict[ClientConfig, _Shared] = {}


_local = _Local()


def shared_cluster(config: ClientConfig) -> Cluster:
    """The current thread's cluster for this configuration."""
    return _shared(config).cluster


@contextmanager
def shared_producer(config: ClientConfig) -> Iterator[Producer]:
    """The current thread's producer for this configuration, flushed at the end of the block.

    After an error it is abandoned with its pending batches, and the next block gets another id.
    """
    # Only writes need it.
    from kafka_protocol.client.producer.producer import Producer  # noqa: PLC0415

    shared = _shared(config)
    producer = shared.producer or Producer(shared.cluster_of_producer)
    shared.producer = None
    try:
        yield producer
        producer.flush()
    except BaseException:
        producer.abandon()
        raise
    shared.producer = producer


def _shared(config: ClientConfig) -> _Shared:
    """The clients of this thread for a configuration; forgets the least recently used of many."""
    kept = _local.shared
    shared = kept.pop(config) if config in kept else _Shared(config)
    kept[config] = shared
    if len(kept) > _MAX_CONFIGURATIONS:
        del kept[next(iter(kept))]  # point: forgotten-clusters
    for each in kept.values():
        each.close_idle()
    return shared


def close_shared_clusters() -> None:
    """Close the current thread's clusters, and forget its producers."""
    for shared in _local.shared.values():
        shared.close()
    _local.shared.clear()


# To close the child's copies does not affect the parent's connections.
os.register_at_fork(after_in_child=close_shared_clusters)
