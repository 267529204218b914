"""Drives `MicroBatches` as Spark does, without Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.streaming.micro_batches import MicroBatches
from tests.fakes.cluster import FakeCluster

T0, T1, U0 = (TopicPartition(t, p) for t, p in [("t", 0), ("t", 1), ("u", 0)])

Query: TypeAlias = Callable[..., MicroBatches]
Ranges: TypeAlias = list[tuple[TopicPartition, int, int]]

EARLIEST = {"startingOffsets": "earliest"}
TOLERANT = {"failOnDataLoss": "false"}


def append(cluster: FakeCluster, partition: TopicPartition, count: int) -> None:
    for _ in range(count):
        cluster.append(partition, b"a")


def first_end(batches: MicroBatches, *, once: bool = False) -> Offsets:
    """The end of the first micro-batch of a new query."""
    start = batches.start()
    return batches.next_end(start, is_new=True, is_limited=not once, single_batch_run=once)


def next_end(batches: MicroBatches, start: Offsets, *, once: bool = False) -> Offsets:
    return batches.next_end(start, is_new=False, is_limited=not once, single_batch_run=once)


def planned(batches: MicroBatches, start: Offsets, end: Offsets) -> Ranges:
    return [(*each.wanted,) for task in batches.plan(start, end) for each in task]


def run_first(batches: MicroBatches, *, once: bool = False) -> tuple[Offsets, Ranges]:
    """Run the first micro-batch of a new query; its end and ranges."""
    end = first_end(batches, once=once)
    return end, planned(batches, batches.start(), end)


def run(batches: MicroBatches, start: Offsets) -> tuple[Offsets, Ranges]:
    """Run another micro-batch; its end and ranges."""
    end = next_end(batches, start)
    return end, planned(batches, start, end)


def running(batches: MicroBatches) -> Offsets:
    """Run the first micro-batch; its end."""
    return run_first(batches)[0]


def last_end(batches: MicroBatches, start: Offsets) -> Offsets:
    """Run until there is nothing to read; the last end."""
    while (end := run(batches, start)[0]) != start:
        start = end
    return end
