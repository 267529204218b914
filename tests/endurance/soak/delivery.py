"""Whether all that was written arrived once and in order, as librdkafka reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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
    """A sentence for each partition whose values are not those expected, in their order."""
    return [
        f"{name}, partition {partition}: {_difference(copy[partition], values)}"
        for partition, values in expected.items()
        if list(copy[partition]) != list(values)
    ]


def _difference(found: Sequence[str], expected: Sequence[str]) -> str:
    lost = len(set(expected) - set(found))
    foreign = len(set(found) - set(expected))
    repeated = len(found) - len(set(found))
    text = f"{lost} of {len(expected)} values lost, {repeated} repeated, {foreign} not expected"
    return text if lost or foreign or repeated else "the values are in another order"
