"""Clusters that live as long as the process, so that tasks find connections already open.

Spark forks Python workers from a daemon and uses them again and again. A cluster belongs to one
thread; a forked child starts with none, since two processes cannot share a conversation.
"""

from __future__ import annotations

import os
import threading

from kafka_protocol.client.cluster import Cluster
from kafka_protocol.client.config import ClientConfig


class _Local(threading.local):
    """One thread's clusters."""

    def __init__(self) -> None:
        self.clusters: dict[ClientConfig, Cluster] = {}


_local = _Local()


def shared_cluster(config: ClientConfig) -> Cluster:
    """The cluster that the current thread keeps for this configuration."""
    cluster = _local.clusters.get(config)
    if cluster is None:
        cluster = _local.clusters[config] = Cluster(config)
    return cluster


def close_shared_clusters() -> None:
    """Close what the current thread keeps; the next call of `shared_cluster` begins anew."""
    for cluster in _local.clusters.values():
        cluster.close()
    _local.clusters.clear()


# Closing the child's copies leaves the parent's connections alone.
os.register_at_fork(after_in_child=close_shared_clusters)
