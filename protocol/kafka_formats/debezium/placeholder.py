"""Debezium's placeholder for values that the database did not send.

PostgreSQL does not log large (TOAST) values that an update leaves as they are; Oracle does not log
LOBs. The placeholder has the type of the column: a text, its bytes, an array with it, and so on.

Source: `UnchangedToastedPlaceholder` of Debezium's connector for PostgreSQL.
"""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_formats.arrow.arrays import bounds_of, null_where
from kafka_protocol.columnar.arrays.arrow_memory import (
    array_of,
    bools_of,
    buffer_of,
    is_valid,
    numbers_of,
)

Bools: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Placeholder:
    """Finds a placeholder.

    Attributes:
        value: Its bytes, at least one.
    """

    value: bytes

    @cached_property
    def _text(self) -> str:
        return self.value.decode("utf-8", "replace")

    @cached_property
    def _texts(self) -> pa.Array:
        """The texts that stand for it: bytes may be written as base64, maps as JSON."""
        as_base64 = base64.b64encode(self.value).decode("ascii")
        as_map = json.dumps({self._text: self._text}, separators=(",", ":"))
        return pa.array([self._text, as_base64, as_map], pa.string())

    @cached_property
    def _items(self) -> dict[pa.DataType, Sequence[object]]:
        """The items of an array that stands for it."""
        as_uuid = uuid.UUID(
            bytes=hashlib.md5(self.value, usedforsecurity=False).digest(), version=3
        )
        return {
            pa.string(): (self._text, str(as_uuid)),
            pa.binary(): (self.value,),
            # Java's bytes have a sign.
            **dict.fromkeys(
                (pa.int32(), pa.int64()), np.frombuffer(self.value, dtype=np.int8).tolist()
            ),
        }

    def is_in(self, column: pa.Array) -> Bools:
        """For each value of a column of payloads, whether it is the placeholder."""
        data_type = column.type
        if pa.types.is_string(data_type):
            return _mask(pc.is_in(column, self._texts))
        if pa.types.is_binary(data_type):
            return _mask(pc.equal(column, pa.scalar(self.value, pa.binary())))
        if pa.types.is_map(data_type):
            return self._in_map(column)
        if pa.types.is_struct(data_type) and data_type.num_fields == 1:
            # A wrapper of Protobuf for a value that may be null.
            return self.is_in(column.flatten()[0])
        if pa.types.is_list(data_type) and data_type.value_type in self._items:
            return self._in_list(column)
        return np.zeros(len(column), dtype=np.bool_)

    def _in_list(self, column: pa.ListArray) -> Bools:
        items = self._items[column.type.value_type]
        is_number = pa.types.is_integer(column.type.value_type)
        length = len(items) if is_number else 1
        has_it: Bools = _lengths(column) == length
        rows = np.flatnonzero(has_it)
        if not len(rows):
            return has_it
        flat = pc.list_flatten(column.take(pa.array(rows)))
        if is_number:
            numbers = numbers_of(flat.fill_null(0)).reshape(-1, length)
            has_it[rows] = (numbers == np.array(items)).all(axis=1)
        else:
            known = pa.array(items, column.type.value_type)
            has_it[rows] = _mask(pc.is_in(flat, known)) & _mask(flat.is_valid())
        return has_it

    def _in_map(self, column: pa.MapArray) -> Bools:
        has_it: Bools = _lengths(column) == 1
        for row in np.flatnonzero(has_it).tolist():
            has_it[row] = column[row].as_py() == [(self._text, self._text)]
        return has_it


def without(columns: Sequence[pa.Array], masks: Sequence[Bools]) -> list[pa.Array]:
    """The columns with null where a value is not available."""
    return [null_where(mask, column) for column, mask in zip(columns, masks, strict=True)]


def names_of(names: Sequence[str], masks: Sequence[Bools], count: int) -> pa.ListArray:
    """In each row the names of the columns whose values are not available."""
    table = np.stack(masks, axis=1) if masks else np.zeros((count, 0), dtype=np.bool_)
    rows, places = np.nonzero(table)
    counts = np.bincount(rows, minlength=count) if len(rows) else np.zeros(count, dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    items = pa.array(names, pa.string()).take(array_of(places, pa.int64()))
    return pa.Array.from_buffers(
        pa.list_(pa.field("element", pa.string())),
        count,
        [None, buffer_of(offsets)],
        children=[items],
    )


def _lengths(column: pa.ListArray | pa.MapArray) -> npt.NDArray[np.int64]:
    """How many items each list or map has; -1 for null."""
    counts = np.diff(bounds_of(column))
    return np.where(is_valid(column), counts, -1).astype(np.int64)


def _mask(values: pa.Array) -> Bools:
    return bools_of(values.fill_null(False))
