"""Which partitions the rows of a task go to: carries out what `partitioners` says.

Vectorised; nothing here knows the cluster. What a task's rows without a key need is remembered
from batch to batch: where it is in a topic, and how full the batch there is by now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_protocol.columnar.grouping import grouped
from kafka_protocol.columnar.key_hashes import hash_keys
from kafka_protocol.columnar.slices import lengths
from kafka_protocol.partitioners import Keyless, Partitioner

Partitions: TypeAlias = npt.NDArray[np.int32]
Sizes: TypeAlias = npt.NDArray[np.int64]

# The most that a record takes besides its key and value, as the encoder counts: what goes to one
# partition together shall be written as one batch. Headers are left out.
_OVERHEAD: Final = 32


class Topic(NamedTuple):
    """A topic, and how many partitions it has."""

    name: str
    partition_count: int


class Rows(NamedTuple):
    """Rows that look for a partition.

    Attributes:
        topics: Where they go.
        topic: The index in `topics` of each row's.
        key: Binary or string.
        value: The same.
    """

    topics: Sequence[Topic]
    topic: npt.NDArray[np.int32]
    key: pa.Array
    value: pa.Array


class TaskPartitioner:
    """Chooses partitions for the rows of one task, batch after batch.

    Args:
        partitioner: What decides.
        batch_bytes: About how many bytes of rows without a key go to one partition before another
            one has its turn, where they are to stay together.
    """

    def __init__(self, partitioner: Partitioner, batch_bytes: int) -> None:
        self._partitioner = partitioner
        self._batch_bytes = batch_bytes
        self._random = np.random.default_rng()
        self._choosers: dict[Topic, _Chooser] = {}

    def choose(self, rows: Rows) -> Partitions:
        """The partition of each row.

        Raises:
            TypeError: The keys are neither binary nor string.
        """
        key_hash = self._partitioner.key_hash
        keyless = self._without_key(rows.key)
        if key_hash is None or len(keyless) == len(rows.key):
            chosen = np.empty(len(rows.key), dtype=np.int32)
        else:
            chosen = (hash_keys(rows.key, key_hash) % _counts(rows)).astype(np.int32)
        if len(keyless):
            sizes = _sizes(rows)
            for topic, its in grouped(rows.topic[keyless]).rows():
                places = keyless[its]
                chosen[places] = self._chooser(rows.topics[topic])(sizes[places])
        return chosen

    def _without_key(self, key: pa.Array) -> npt.NDArray[np.int64]:
        """The rows whose key does not count."""
        if self._partitioner.key_hash is None:
            return np.arange(len(key))
        if self._partitioner.keyless is Keyless.AS_EMPTY:
            return np.arange(0)
        shortest = 0 if self._partitioner.empty_counts else 1
        return np.flatnonzero(lengths(key) < shortest)

    def _chooser(self, topic: Topic) -> _Chooser:
        if topic not in self._choosers:
            make = _CHOOSERS[self._partitioner.keyless]
            self._choosers[topic] = make(topic.partition_count, self._batch_bytes, self._random)
        return self._choosers[topic]


def _counts(rows: Rows) -> npt.NDArray[np.uint32] | np.uint32:
    """How many partitions there are for each row."""
    counts = np.array([topic.partition_count for topic in rows.topics], dtype=np.uint32)
    # numpy divides by one number faster than by one for each row.
    return counts[0] if len(counts) == 1 else counts[rows.topic]


def _sizes(rows: Rows) -> Sizes:
    key, value = lengths(rows.key), lengths(rows.value)
    sizes: Sizes = np.maximum(key, 0) + np.maximum(value, 0) + _OVERHEAD
    return sizes


_Chooser: TypeAlias = Callable[[Sizes], Partitions]


class _Sticky:
    """A batch's worth of rows to a partition, then one to the next (KIP-480, KIP-794).

    They have their turns in an order of the task's own, so that tasks that run at the same time
    do not walk from broker to broker together; and each has one before any has another.
    """

    def __init__(self, count: int, batch_bytes: int, random: np.random.Generator) -> None:
        self._turns = random.permutation(count).astype(np.int32)
        self._turn = 0
        self._batch_bytes = batch_bytes
        self._filled = 0

    def __call__(self, sizes: Sizes) -> Partitions:
        ends = np.cumsum(sizes)
        chosen = np.empty(len(sizes), dtype=np.int32)
        start = 0
        while start < len(sizes):
            if self._filled and self._filled + sizes[start] > self._batch_bytes:
                self._turn = (self._turn + 1) % len(self._turns)
                self._filled = 0
            begun = int(ends[start] - sizes[start])
            full = begun + self._batch_bytes - self._filled
            stop = max(int(np.searchsorted(ends, full, side="right")), start + 1)
            chosen[start:stop] = self._turns[self._turn]
            self._filled += int(ends[stop - 1]) - begun
            start = stop
        return chosen


class _InTurn:
    """Row by row to the next partition, from any first one."""

    def __init__(self, count: int, _batch_bytes: int, random: np.random.Generator) -> None:
        self._count = count
        self._next = int(random.integers(count))

    def __call__(self, sizes: Sizes) -> Partitions:
        chosen = np.arange(self._next, self._next + len(sizes)) % self._count
        self._next = (self._next + len(sizes)) % self._count
        return chosen.astype(np.int32)


class _Random:
    """Each row to any partition."""

    def __init__(self, count: int, _batch_bytes: int, random: np.random.Generator) -> None:
        self._count = count
        self._random = random

    def __call__(self, sizes: Sizes) -> Partitions:
        return self._random.integers(self._count, size=len(sizes), dtype=np.int32)


_CHOOSERS: Final[Mapping[Keyless, Callable[[int, int, np.random.Generator], _Chooser]]] = {
    Keyless.STICKY: _Sticky,
    Keyless.IN_TURN: _InTurn,
    Keyless.RANDOM: _Random,
}
