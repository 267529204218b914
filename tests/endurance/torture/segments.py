"""Looks at the files of the brokers: their segments, and how far the log cleaner came.

No request tells these things of followers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kafka_spark_source.testing import KafkaCluster

_CLEANED = "cleaner-offset-checkpoint"


class Segment(NamedTuple):
    """A segment of a replica's log: its first offset, and its size in bytes."""

    base_offset: int
    size: int


def replicas(kafka: KafkaCluster, topic: str, partitions: int) -> Iterator[list[Segment]]:
    """The segments of each replica of each partition, by offset; the last one is active."""
    for partition in range(partitions):
        yield from _replicas(kafka, topic, partition)


def last_first_offset(kafka: KafkaCluster, topic: str, partition: int) -> int:
    """The largest first offset of the replicas: retention can go further in one than in others."""
    firsts = [segments[0].base_offset for segments in _replicas(kafka, topic, partition)]
    return max(firsts, default=0)


def is_compacted(kafka: KafkaCluster, topic: str, partitions: int) -> bool:
    """Whether the cleaners of all replicas came to the active segment."""
    for broker in kafka.brokers:
        folder = kafka.log_dir(broker.node_id)
        cleaned = _cleaned(folder / _CLEANED)
        for partition in range(partitions):
            segments = segments_of(folder / f"{topic}-{partition}")
            if segments and cleaned.get((topic, partition), 0) < segments[-1].base_offset:
                return False
    return True


def is_retained(segments: list[Segment], retention_bytes: int) -> bool:
    """Whether retention has nothing more to delete; it never deletes the last segment by size."""
    total = sum(each.size for each in segments)
    return len(segments) < 2 or total - retention_bytes < segments[0].size


def segments_of(folder: Path) -> list[Segment]:
    """The segments in the folder of a replica, by offset."""
    found = []
    for file in folder.glob("*.log"):
        with suppress(FileNotFoundError):  # it was deleted meanwhile
            found.append(Segment(int(file.stem), file.stat().st_size))
    return sorted(found)


def _replicas(kafka: KafkaCluster, topic: str, partition: int) -> Iterator[list[Segment]]:
    for broker in kafka.brokers:
        segments = segments_of(kafka.log_dir(broker.node_id) / f"{topic}-{partition}")
        if segments:
            yield segments


def _cleaned(file: Path) -> dict[tuple[str, int], int]:
    """The first offset that is not cleaned, by topic and partition."""
    # The broker replaces the file at once; before the first cleaning there is none.
    try:
        lines = file.read_text().splitlines()
    except FileNotFoundError:
        return {}
    # After two lines with version and count.
    entries = (line.rsplit(" ", 2) for line in lines[2:])
    return {(topic, int(partition)): int(offset) for topic, partition, offset in entries}
