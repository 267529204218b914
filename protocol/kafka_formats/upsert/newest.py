"""The newest row of each key, of any number of rows, in bounded memory. Pure, except `spill`.

Keys are compared byte by byte, by Arrow's grouping. Rows wait in a buffer. When it is full, rows
that newer ones replace are dropped; if it is not half empty then, the rest goes into a file, and
its keys beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_formats.upsert.spill import Spill
from kafka_protocol.columnar.arrays.arrow_memory import array_of_bools

Bools = npt.NDArray[np.bool_]

# The columns that identify the key of a row; all others are only copied.
GROUP: Final = pa.field("_group", pa.int32())
KEY: Final = pa.field("key", pa.binary())
_ROW: Final = "_row"


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """The most bytes to keep in memory, and the size of the pieces of the result in bytes.

    Attributes:
        buffer: The rows before older ones are dropped, or a file is written. Several tasks of an
            executor have a buffer each.
        piece: About the fastest size of Arrow batches for Spark.
        bucket_bits: As of `Spill`.
    """

    buffer: int = 64 * 1024 * 1024
    piece: int = 2 * 1024 * 1024
    bucket_bits: int = 6


class NewestRows:
    """Collects batches with the columns `GROUP` and `KEY`, and returns the last row of each key.

    Null is a key like others, and differs from the empty one.

    Args:
        folder: For temporary files; None for the system's.
        limits: How much memory to use.
    """

    def __init__(self, folder: str | None, limits: MemoryLimits) -> None:
        self._folder = folder
        self._limits = limits
        self._buffer: deque[pa.RecordBatch] = deque()
        self._bytes = 0
        self._spill: Spill | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows that are newer than all rows before.

        Raises:
            SpillError: A temporary file cannot be written.
        """
        self._buffer.append(batch)
        self._bytes += batch.nbytes
        if self._bytes > self._limits.buffer:  # point: group-by-memory
            self._drop_replaced()
            if self._bytes > self._limits.buffer // 2:
                self._spill_buffer()

    def rows(self) -> Iterator[pa.RecordBatch]:
        """The newest rows, in the order in which they came.

        Raises:
            SpillError: A temporary file cannot be written or read.
        """
        self._drop_replaced()
        if self._spill is None:
            while self._buffer:
                yield self._buffer.popleft()
            return
        if self._buffer:
            self._spill_buffer()
        yield from joined(self._newest_of(self._spill), self._limits.piece)

    def close(self) -> None:
        """Remove the temporary files, if there are any."""
        if self._spill is not None:
            self._spill.close()

    def _drop_replaced(self) -> None:
        if not self._buffer:
            return
        keys = [batch.select([GROUP.name, KEY.name]) for batch in self._buffer]
        table = pa.Table.from_batches(keys)
        is_newest = np.zeros(table.num_rows, dtype=np.bool_)
        is_newest[_last_rows(table, np.arange(table.num_rows))] = True
        self._buffer = deque(
            joined(_filtered(_popped(self._buffer), is_newest), self._limits.piece)
        )
        self._bytes = sum(batch.nbytes for batch in self._buffer)

    def _spill_buffer(self) -> None:
        if self._spill is None:
            self._spill = Spill(
                self._buffer[0].schema, [GROUP, KEY], self._folder, self._limits.bucket_bits
            )
        self._spill.add(self._buffer)
        self._buffer.clear()
        self._bytes = 0

    def _newest_of(self, spill: Spill) -> Iterator[pa.RecordBatch]:
        is_newest = np.zeros(spill.num_rows, dtype=np.bool_)
        for keys, rows in spill.buckets():
            is_newest[_last_rows(keys, rows)] = True
        yield from _filtered(spill.batches(), is_newest)


def _last_rows(keys: pa.Table, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The largest row number of each key.

    One thread is enough: the tasks of an executor share its processors, so more threads would wait.
    """
    numbered = keys.append_column(_ROW, pa.array(rows))
    last = numbered.group_by(keys.column_names, use_threads=False).aggregate([(_ROW, "max")])
    return np.asarray(last.column(f"{_ROW}_max"))


def _popped(batches: deque[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch is free as soon as the next one is taken."""
    while batches:
        yield batches.popleft()


def _filtered(batches: Iterable[pa.RecordBatch], is_kept: Bools) -> Iterator[pa.RecordBatch]:
    start = 0
    for batch in batches:
        kept = is_kept[start : start + batch.num_rows]
        start += batch.num_rows
        yield batch if kept.all() else batch.filter(array_of_bools(kept))


def joined(batches: Iterable[pa.RecordBatch], piece: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of about this size in bytes or more, without empty ones."""
    pending: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        pending.append(batch)
        size += batch.nbytes
        if size >= piece:
            yield from _as_one(pending)
            pending, size = [], 0
    yield from _as_one(pending)


def _as_one(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """One batch; more only if it could not hold so many bytes."""
    if len(batches) <= 1:
        return batches
    whole: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return whole
