"""Clusters and producers of this process, kept for the next task.

Spark forks Python workers from a daemon and reuses them. The next task finds open connections, and
a producer with its id: brokers remember each id for a day, for every partition it wrote to. Each
belongs to one thread. A forked child starts without any: two processes cannot share a connection.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.producer.producer import Producer


class _Local(threading.local):
    """The clusters and producers of one thread."""

    def __init__(self) -> None:
        self.clusters: dict[ClientConfig, Cluster] = {}
        self.producers: dict[ClientConfig, Producer] = {}


_local = _Local()


def shared_cluster(config: ClientConfig) -> Cluster:
    """The current thread's cluster for this configuration."""
    cluster = _local.clusters.get(config)
    if cluster is None:
        cluster = _local.clusters[config] = Cluster(config)
    return cluster


@contextmanager
def shared_producer(config: ClientConfig) -> Iterator[Producer]:
    """The current thread's producer for this configuration, flushed at the end of the block.

    After an error it is abandoned with its pending batches, and the next block gets another id.
    """
    producer = _local.producers.pop(config, None) or Producer(shared_cluster(config))
    try:
        yield producer
        producer.flush()
    except BaseException:
        producer.abandon()
        raise
    _local.producers[config] = producer


def close_shared_clusters() -> None:
    """Close the current thread's clusters, and forget its producers."""
    for cluster in _local.clusters.values():
        cluster.close()
    _local.clusters.clear()
    _local.producers.clear()


# To close the child's copies does not affect the parent's connections.
os.register_at_fork(after_in_child=close_shared_clusters)
