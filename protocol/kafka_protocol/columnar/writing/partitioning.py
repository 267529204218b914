"""Chooses the partitions of a task's rows, by the table in `partitioners`. Vectorised.

Knows no cluster. For rows without a key, it keeps per topic the current partition and the bytes
in its batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_protocol.columnar.arrays.grouping import grouped
from kafka_protocol.columnar.arrays.slices import lengths
from kafka_protocol.columnar.writing.key_hashes import hash_keys
from kafka_protocol.options.partitioners import Keyless, Partitioner

Partitions: TypeAlias = npt.NDArray[np.int32]
Sizes: TypeAlias = npt.NDArray[np.int64]

# The encoder's upper limit of a record's bytes besides key, value and headers, so that rows that
# stay together are written as one batch.
_OVERHEAD: Final = 32


class WrittenTopic(NamedTuple):
    """A topic and its number of partitions."""

    name: str
    partition_count: int


class RowsToPartition(NamedTuple):
    """Rows without a partition; key and value are binary or string."""

    topics: Sequence[WrittenTopic]
    topic: npt.NDArray[np.int32]  # the index in `topics` of each row
    key: pa.Array
    value: pa.Array


class TaskPartitioner:
    """Chooses partitions for the rows of one task, batch after batch.

    Args:
        partitioner: The rules.
        batch_bytes: The approximate bytes of rows without a key per partition, before a sticky
            partitioner changes to the next one.
        seed: The seed of the random choices. Give each task another one.
    """

    def __init__(self, partitioner: Partitioner, batch_bytes: int, seed: int) -> None:
        self._partitioner = partitioner
        self._batch_bytes = batch_bytes
        self._random = np.random.default_rng(seed)
        self._choosers: dict[WrittenTopic, _Chooser] = {}

    def choose(self, rows: RowsToPartition) -> Partitions:
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
            for topic, group in grouped(rows.topic[keyless]).rows():
                indices = keyless[group]
                chosen[indices] = self._chooser(rows.topics[topic])(sizes[indices])
        return chosen

    def _without_key(self, key: pa.Array) -> npt.NDArray[np.int64]:
        """The rows without a key, or with an ignored one."""
        if self._partitioner.key_hash is None:
            return np.arange(len(key))
        if self._partitioner.keyless is Keyless.AS_EMPTY:
            return np.arange(0)
        shortest = 0 if self._partitioner.empty_counts else 1
        return np.flatnonzero(lengths(key) < shortest)

    def _chooser(self, topic: WrittenTopic) -> _Chooser:
        if topic not in self._choosers:
            make = _CHOOSERS[self._partitioner.keyless]
            self._choosers[topic] = make(topic.partition_count, self._batch_bytes, self._random)
        return self._choosers[topic]


def _counts(rows: RowsToPartition) -> npt.NDArray[np.uint32] | np.uint32:
    """The number of partitions of each row's topic."""
    counts = np.array([topic.partition_count for topic in rows.topics], dtype=np.uint32)
    # numpy divides faster by a scalar than by an array.
    return counts[0] if len(counts) == 1 else counts[rows.topic]


def _sizes(rows: RowsToPartition) -> Sizes:
    key, value = lengths(rows.key), lengths(rows.value)
    sizes: Sizes = np.maximum(key, 0) + np.maximum(value, 0) + _OVERHEAD
    return sizes


_Chooser: TypeAlias = Callable[[Sizes], Partitions]


class _Sticky:
    """The rows of one batch to one partition, of the next batch to another (KIP-480, KIP-794).

    Each task cycles through all partitions in its own random order, so that tasks that run at
    the same time do not all write to the same broker.
    """

    def __init__(self, count: int, batch_bytes: int, random: np.random.Generator) -> None:
        self._order = random.permutation(count).astype(np.int32)
        self._index = 0
        self._batch_bytes = batch_bytes
        self._filled = 0

    def __call__(self, sizes: Sizes) -> Partitions:
        ends = np.cumsum(sizes)
        chosen = np.empty(len(sizes), dtype=np.int32)
        start = 0
        while start < len(sizes):
            if self._filled and self._filled + sizes[start] > self._batch_bytes:
                self._index = (self._index + 1) % len(self._order)
                self._filled = 0
            bytes_before = int(ends[start] - sizes[start])
            full = bytes_before + self._batch_bytes - self._filled
            stop = max(int(np.searchsorted(ends, full, side="right")), start + 1)
            chosen[start:stop] = self._order[self._index]
            self._filled += int(ends[stop - 1]) - bytes_before
            start = stop
        return chosen


class _InTurn:
    """Each row to the next partition, from a random first one."""

    def __init__(self, count: int, _batch_bytes: int, random: np.random.Generator) -> None:
        self._count = count
        self._next = int(random.integers(count))

    def __call__(self, sizes: Sizes) -> Partitions:
        chosen = np.arange(self._next, self._next + len(sizes)) % self._count
        self._next = (self._next + len(sizes)) % self._count
        return chosen.astype(np.int32)


def _at_random(count: int, _batch_bytes: int, random: np.random.Generator) -> _Chooser:
    return lambda sizes: random.integers(count, size=len(sizes), dtype=np.int32)


_CHOOSERS: Final[Mapping[Keyless, Callable[[int, int, np.random.Generator], _Chooser]]] = {
    Keyless.STICKY: _Sticky,
    Keyless.IN_TURN: _InTurn,
    Keyless.RANDOM: _at_random,
}
