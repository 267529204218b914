"""Faults of brokers and processes that several commands cause; each is repaired after its block."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from kafka_spark_source.testing import KafkaCluster


@contextmanager
def killed(kafka: KafkaCluster, node_id: int) -> Iterator[None]:
    """A broker is dead."""
    kafka.kill(node_id)
    try:
        yield
    finally:
        kafka.start_node(node_id)


@contextmanager
def stopped(kafka: KafkaCluster, node_id: int) -> Iterator[None]:
    """A broker was shut down in good order."""
    kafka.stop_node(node_id)
    try:
        yield
    finally:
        kafka.start_node(node_id)


@contextmanager
def paused(kafka: KafkaCluster, nodes: Sequence[int]) -> Iterator[None]:
    """Brokers stand still; their connections stay open."""
    for node_id in nodes:
        kafka.pause(node_id)
    try:
        yield
    finally:
        for node_id in nodes:
            kafka.resume(node_id)


def send(chance: random.Random, pids: list[int], number: signal.Signals) -> list[int]:
    """Sends a signal to one of the processes, and returns which."""
    chosen = chance.sample(sorted(pids), min(1, len(pids)))
    for pid in chosen:
        with suppress(ProcessLookupError):  # it ended meanwhile
            os.kill(pid, number)
    return chosen
