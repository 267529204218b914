"""Whether all that was written arrived once and in order, as librdkafka reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tests.endurance.delivery import compare, sentences
from tests.endurance.soak.topics import PARTITIONS
from tests.stream_records import Record
from tests.witness import values_of

Copy = Mapping[int, Sequence[str]]
"""Partition -> values in their order."""


def copy_of(servers: str, topic: str) -> Copy:
    """All committed values of a topic."""
    return {each: values_of(servers, topic, each) for each in range(PARTITIONS)}


def written(records: Iterable[Record]) -> Copy:
    """The acknowledged values of the source topic."""
    values: dict[int, list[str]] = {each: [] for each in range(PARTITIONS)}
    for record in sorted(records, key=lambda each: (each.partition, each.offset)):
        values[record.partition].append(record.value)
    return values


def faults_of(name: str, copy: Copy, expected: Copy) -> list[str]:
    """A sentence for each way in which a copy is not what was expected, once and in order."""
    return [
        sentence
        for partition, values in expected.items()
        for sentence in sentences(
            f"{name}, partition {partition}", compare(values, copy[partition])
        )
    ]
