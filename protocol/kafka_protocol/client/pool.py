"""Clusters and producers that live as long as the process, so that tasks find them ready.

Spark forks Python workers from a daemon and uses them again and again. Connections are open then,
and a producer keeps its id: brokers remember each one for a day, for every partition that it wrote
to. What is here belongs to one thread; a forked child starts with nothing, since two processes
cannot share a conversation.
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
    """What one thread keeps."""

    def __init__(self) -> None:
        self.clusters: dict[ClientConfig, Cluster] = {}
        self.producers: dict[ClientConfig, Producer] = {}


_local = _Local()


def shared_cluster(config: ClientConfig) -> Cluster:
    """The cluster that the current thread keeps for this configuration."""
    cluster = _local.clusters.get(config)
    if cluster is None:
        cluster = _local.clusters[config] = Cluster(config)
    return cluster


@contextmanager
def shared_producer(config: ClientConfig) -> Iterator[Producer]:
    """The producer that the current thread keeps, for one user at a time.

    One that failed is given up, with what it has pending: the next user gets another id.
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
    """Close what the current thread keeps; the next call of `shared_cluster` begins anew."""
    for cluster in _local.clusters.values():
        cluster.close()
    _local.clusters.clear()
    _local.producers.clear()


# Closing the child's copies leaves the parent's connections alone.
os.register_at_fork(after_in_child=close_shared_clusters)
