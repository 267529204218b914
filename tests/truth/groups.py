"""Reads and commits of a consumer group: no commit is ahead of what was done. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.truth.order import Placed, out_of_order

Partition = tuple[str, int]
Offsets = Mapping[Partition, Sequence[int]]


class Commit(NamedTuple):
    """A commit as its coordinator received it.

    Attributes:
        finished: The number of micro-batches that were finished then.
    """

    group: str
    partition: Partition
    offset: int
    finished: int


class Step(NamedTuple):
    """A step of a read: a batch that was taken, or a commit.

    Attributes:
        rows: Of the batch.
        positions: What was to be committed; None for a batch.
        is_done: Whether the commit came back.
    """

    rows: Sequence[Placed]
    positions: Mapping[Partition, int] | None = None
    is_done: bool = False


class Reader(NamedTuple):
    """A read of a group.

    Attributes:
        name: For sentences.
        steps: In order.
        visible: The offsets of the records of each partition, as its isolation level shows them.
    """

    name: str
    steps: Sequence[Step]
    visible: Offsets


def ahead(
    commits: Iterable[Commit], ends: Sequence[Mapping[Partition, int]]
) -> Iterator[tuple[Commit, str]]:
    """Commits of a stream that are not the end of a micro-batch which is finished.

    Args:
        commits: Each of them, and not only the last one.
        ends: The end of each micro-batch.
    """
    for commit in commits:
        known = [each.get(commit.partition) for each in ends]
        if commit.offset not in known:
            yield commit, "which is the end of no micro-batch"
        elif commit.offset not in known[: commit.finished]:
            yield commit, "before its micro-batch is finished"


def wrong_reads(readers: Iterable[Reader]) -> Iterator[str]:
    """Records that were committed unread, or came again; of reads one after the other."""
    committed: dict[Partition, int] = {}
    read: dict[Partition, set[int]] = defaultdict(set)
    for reader in readers:
        for rows, positions, is_done in reader.steps:
            for row in rows:
                where = row.topic, row.partition
                if row.offset < committed.get(where, 0):
                    yield f"{reader.name}: {where} at {row.offset} was committed, and comes again"
                read[where].add(row.offset)
            for place, first in _unread(positions or {}, read, reader.visible):
                yield f"{reader.name}: {place} is committed, and {first} was never read"
            if is_done:
                committed |= positions or {}


def wrong_follows(reader: Reader) -> Iterator[str]:
    """What is wrong with a read without an end: each record before a position, once, in order.

    Partitions that are added belong to it from their beginning.
    """
    read: dict[Partition, set[int]] = defaultdict(set)
    for disorder in out_of_order(row for step in reader.steps for row in step.rows):
        where = disorder.found.topic, disorder.found.partition
        yield f"{reader.name}: {where} at {disorder.found.offset} is there twice or out of order"
    for rows, positions, is_done in reader.steps:
        for row in rows:
            read[row.topic, row.partition].add(row.offset)
        if positions is None:
            continue
        for place, first in _unread(positions, read, reader.visible):
            yield f"{reader.name}: {place} is the position, and {first} was never read"
        if not is_done:
            yield f"{reader.name}: it did not come to the ends of the logs"


def _unread(
    positions: Mapping[Partition, int], read: Mapping[Partition, set[int]], visible: Offsets
) -> Iterator[tuple[str, int]]:
    """The partitions with records before their position that were not read, and the first one."""
    for partition, position in positions.items():
        before = {each for each in visible.get(partition, ()) if each < position}
        if missing := sorted(before - read.get(partition, set())):
            yield f"{partition}: {position}", missing[0]
