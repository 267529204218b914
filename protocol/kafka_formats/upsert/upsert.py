"""`envelope=upsert`: records -> the newest record of each key in each partition, with `op`.

Keys and values stay as they are. Whether and how they are decoded is the next step, so that only
the rows that stay are decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_formats.errors import NullKeyError
from kafka_formats.options.envelope import (
    DELETED,
    OP_COLUMN,
    UPSERTED,
    EnvelopeOptions,
    NullKeys,
    Tombstones,
)
from kafka_formats.payload.nulls import NullPayloads
from kafka_formats.upsert.newest import GROUP, KEY, MemoryLimits, NewestRows, joined

_PLACE: Final = ("topic", "partition", "offset")
_IS_TOMBSTONE: Final = "_is_tombstone"
_DEFAULT_LIMITS: Final = MemoryLimits()


@dataclass(frozen=True, slots=True)
class Upsert:
    """Makes a table of records; a stage of a read.

    Attributes:
        columns: The columns of the result: the columns of records, and `op`.
        options: Whether tombstones stay, and how null keys are treated.
        folder: Returns the folder for temporary files in a task, if rows do not fit in memory; None
            for the system's.
        limits: How much memory to use.
        nulls: The values that stand for null; None if only null itself does.
    """

    columns: tuple[str, ...]
    options: EnvelopeOptions
    folder: Callable[[], str | None] | None = None
    limits: MemoryLimits = _DEFAULT_LIMITS
    nulls: NullPayloads | None = None

    @property
    def source_columns(self) -> tuple[str, ...]:
        """The columns of the records to read."""
        headers = ("headers",) if self.nulls is not None and self.nulls.needs_headers else ()
        listed = dict.fromkeys((*self.columns, KEY.name, "value", *_PLACE, *headers))
        return tuple(name for name in listed if name != OP_COLUMN)

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The newest record of each key.

        Args:
            batches: Records with `source_columns`, in each partition by ascending offsets.

        Yields:
            Batches with `columns`, without empty ones, when all records are read. Rows are in the
            order of the records.

        Raises:
            NullKeyError: A record has a null key, and `upsert.nullKeys` is `fail`.
            SpillError: A temporary file cannot be written or read.
        """
        return joined(self._rows(batches), self.limits.piece)

    def _rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = _PartitionNumbers()
        with closing(NewestRows(self.folder and self.folder(), self.limits)) as newest:
            for batch in batches:
                self._check_keys(batch)
                newest.add(self._carried(batch, numbers.of(batch)))
            for batch in newest.rows():
                yield self._finished(batch)

    def _check_keys(self, batch: pa.RecordBatch) -> None:
        keys = batch.column(KEY.name)
        if not keys.null_count or self.options.null_keys is NullKeys.KEEP:
            return
        row = pc.index(keys.is_null(), True).as_py()
        topic, partition, offset = (batch.column(name)[row].as_py() for name in _PLACE)
        raise NullKeyError(
            f"[KAFKA_UPSERT_NULL_KEY] {topic}-{partition} at offset {offset}: the record has no "
            "key, and the read has one row for each key. Set the option upsert.nullKeys to keep to "
            "read null as a key like others, or read the topic without envelope=upsert."
        )

    def _carried(self, batch: pa.RecordBatch, groups: pa.Array) -> pa.RecordBatch:
        """The columns that the result needs: without values if the query does not want them."""
        names = [name for name in self.columns if name not in {OP_COLUMN, KEY.name}]
        values = batch.column("value") if self.nulls is None else self.nulls.values_in(batch)
        carried = [values if name == "value" else batch.column(name) for name in names]
        return pa.RecordBatch.from_arrays(
            [groups, batch.column(KEY.name), values.is_null(), *carried],
            [GROUP.name, KEY.name, _IS_TOMBSTONE, *names],
        )

    def _finished(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        is_tombstone = batch.column(_IS_TOMBSTONE)
        if self.options.tombstones is Tombstones.DROP and is_tombstone.true_count:
            batch = batch.filter(pc.invert(is_tombstone))
            is_tombstone = batch.column(_IS_TOMBSTONE)
        op = pc.if_else(is_tombstone, DELETED, UPSERTED)
        arrays = [op if name == OP_COLUMN else batch.column(name) for name in self.columns]
        return pa.RecordBatch.from_arrays(arrays, [*self.columns])


class _PartitionNumbers:
    """Numbers the partitions of a read, as keys are compared within each."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, int], int] = {}

    def of(self, batch: pa.RecordBatch) -> pa.Array:
        """The number of each row's partition."""
        topics = batch.column("topic")
        topic = np.asarray(topics.dictionary_encode().indices)
        partition = np.asarray(batch.column("partition"))
        begins = np.ones(len(partition), dtype=np.bool_)
        begins[1:] = (topic[1:] != topic[:-1]) | (partition[1:] != partition[:-1])
        starts = np.flatnonzero(begins)
        numbers = [
            self._numbers.setdefault(
                (topics[start].as_py(), int(partition[start])), len(self._numbers)
            )
            for start in starts.tolist()
        ]
        lengths = np.diff(starts, append=len(partition))
        return pa.array(np.repeat(np.array(numbers, dtype=np.int32), lengths))
