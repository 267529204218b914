"""Decoded events and keys -> rows: the table's columns, and the columns about the change.

A delete's row has the columns of its key from the key of the record, also if the event has no row
before the delete. Tombstones, and events that are about no single row, are left out and counted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_formats.arrow.arrays import fields_of, with_fields, with_type
from kafka_formats.debezium.events import DELETE, OP, OTHERS, ROW
from kafka_formats.debezium.origin import Column, Origin
from kafka_formats.options.settings import ERROR_COLUMN
from kafka_formats.payload.columns import ColumnValues, Fault
from kafka_formats.payload.format import Bools, Values
from kafka_protocol.columnar.arrays.arrow_memory import array_of_bools, bools_of, is_valid

_log = logging.getLogger(__name__)

KEY: Final = "key"
VALUE: Final = "value"
_NO_KEY: Final = (
    "the delete has neither before nor a decoded key, so its row is not known: set key.format, or "
    "the table's REPLICA IDENTITY to FULL"
)


@dataclass(frozen=True, slots=True)
class EventRows:
    """Makes rows; a stage of a read.

    Attributes:
        source_columns: The columns of decoded records.
        schema: The columns of the rows.
        columns: The origin of each column of the rows.
        shared: The columns of the table that keys have, too.
        has_shared: Whether keys have all of `shared`, by their schema.
        key_has_other_columns: Whether keys have no wanted column: then a delete without `before`
            needs no decoded key.
        keeps_others: Whether an event that is about no single row becomes a row.
    """

    source_columns: tuple[str, ...]
    schema: pa.Schema
    columns: Mapping[str, Column]
    shared: tuple[str, ...]
    has_shared: bool
    key_has_other_columns: bool
    keeps_others: bool

    def completed(self, columns: Mapping[str, ColumnValues]) -> Mapping[str, ColumnValues]:
        """The columns, with the rows of deletes completed from the keys; broken if they cannot be.

        Args:
            columns: Events as `value`, and keys as `key` if they are decoded.
        """
        events = columns[VALUE]
        if ROW not in {field.name for field in events.values.type}:
            return columns
        parts = fields_of(events.values)
        is_delete = _equal(parts[OP], [DELETE])
        if not is_delete.any():
            return columns
        key = columns.get(KEY)
        lacks = is_delete & ~events.is_broken & ~is_valid(parts[ROW])
        if key is not None:
            has_key = is_valid(key.values) & ~key.is_broken
            parts[ROW] = self._filled(parts[ROW], key.values, is_delete & has_key)
            is_unknown = self._has_no_key(parts[ROW], lacks)
            # The fault of a broken key is its own.
            lacks = is_delete & ~events.is_broken & ~key.is_broken & is_unknown
        elif self.key_has_other_columns:
            return columns
        values = pa.StructArray.from_arrays(
            [*parts.values()], [*parts], mask=array_of_bools(~is_valid(events.values))
        )
        return {**columns, VALUE: _Completed(events, values, lacks)}

    def _filled(
        self, row: pa.StructArray, keys: pa.StructArray, is_filled: Bools
    ) -> pa.StructArray:
        own, given = fields_of(row), fields_of(keys)
        mask = array_of_bools(is_filled)
        for name in self.shared:
            key = with_type(given[name], own[name].type)
            own[name] = pc.if_else(mask, pc.coalesce(key, own[name]), own[name])
        is_null = array_of_bools(~(is_valid(row) | is_filled))
        return pa.StructArray.from_arrays([*own.values()], [*own], mask=is_null)

    def _has_no_key(self, row: pa.StructArray, lacks_before: Bools) -> Bools:
        """Which rows are unknown: they have no value, or without `before` not all of their key."""
        is_unknown: Bools = ~is_valid(row)
        if self.shared and self.has_shared:
            own = fields_of(row)
            nulls = np.stack([~is_valid(own[name]) for name in self.shared])
            is_unknown |= lacks_before & nulls.any(axis=0)
            # The key of a row that `before` has may be null.
            is_unknown |= np.stack([~is_valid(each) for each in own.values()]).all(axis=0)
        return is_unknown

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of decoded records, without empty batches."""
        tombstones = others = 0
        for batch in batches:
            events = batch.column(VALUE)
            op = pc.struct_field(events, OP)
            is_tombstone = ~is_valid(events)
            if ERROR_COLUMN in batch.schema.names:
                is_tombstone &= ~is_valid(batch.column(ERROR_COLUMN))
            is_other = _equal(op, OTHERS)
            if self.keeps_others:
                is_other[:] = False
            tombstones += int(is_tombstone.sum())
            others += int(is_other.sum())
            is_left_out = is_tombstone | is_other
            kept = batch.filter(array_of_bools(~is_left_out)) if is_left_out.any() else batch
            if kept.num_rows:
                yield self._spread(kept)
        if others:
            _log.warning(
                "Events of truncated tables or messages that were left out: %d. The option "
                "debezium.otherEvents keeps them.",
                others,
            )
        if tombstones:
            _log.info("Tombstones that were left out: %d.", tombstones)

    def _spread(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        value = fields_of(batch.column(VALUE))
        parts: dict[Origin, dict[str, pa.Array]] = {
            Origin.RECORD: dict(zip(batch.schema.names, batch.columns, strict=True)),
            Origin.EVENT: value,
            Origin.ROW: fields_of(value[ROW]) if ROW in value else {},
        }
        arrays = []
        for field in self.schema:
            origin, name, _ = self.columns[field.name]
            if origin is Origin.KEY:
                array = with_fields(batch.column(KEY), field.type)
            else:
                array = parts[origin][name]
            arrays.append(with_type(array, field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


class _Completed(ColumnValues):
    """A column with other values, some of which are broken for another reason."""

    def __init__(self, column: ColumnValues, values: pa.Array, lacks: Bools) -> None:
        super().__init__(Values(values, column.is_broken | lacks), values, (), lambda _: _NO_KEY)
        self._column = column
        self._lacks = lacks

    def fault(self, row: int) -> Fault:
        """The fault in a broken payload."""
        return Fault(None, "", _NO_KEY) if self._lacks[row] else self._column.fault(row)


def _equal(texts: pa.StringArray, ones: Sequence[str]) -> Bools:
    is_one = pc.is_in(texts, pa.array(ones))
    return bools_of(is_one)
