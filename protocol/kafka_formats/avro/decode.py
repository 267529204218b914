"""Payloads of Avro, an Arrow array of bytes -> the values, and which payloads are broken.

Reads a field of all payloads at once, and lists item by item.

Source: Apache Avro 1.12, "Binary Encoding".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafka_formats.arrow.arrays import bounds_of, data_of, in_rows
from kafka_formats.arrow.bytes_cursor import Bools, Cursor, Longs
from kafka_formats.avro.decode_one import PayloadCursor
from kafka_formats.avro.plan import (
    Again,
    AvroPlan,
    Boolean,
    BranchPlan,
    Bytes,
    Choice,
    Decimal,
    DecimalText,
    Items,
    Null,
    Number,
    RecordPlan,
    Symbol,
)
from kafka_formats.avro.primitives import (
    read_boolean,
    read_bytes,
    read_decimal,
    read_decimal_text,
    read_null,
    read_number,
    read_some_bytes,
    read_symbol,
    skip_boolean,
    skip_bytes,
    skip_null,
    skip_number,
    skip_symbol,
)
from kafka_formats.errors import PayloadError
from kafka_formats.payload.format import Values
from kafka_protocol.columnar.arrays.arrow_memory import array_of, indices_of, is_valid

# With fewer lists than this, and more items left than this in one, value by value is faster.
_FEW_LISTS: Final = 16
_MANY_ITEMS: Final = 64
# Values of Python need much memory, and so do arrays of few values: at most as many at a time.
_MOST_VALUES: Final = 10_000
_MOST_PIECES: Final = 1_000


def decode(payloads: pa.BinaryArray, plan: AvroPlan, skipped_bytes: int = 0) -> Values:
    """Decode payloads, all of one writer's schema; `decode_one` says why one is broken.

    Args:
        payloads: Binary; null for a tombstone.
        plan: From `plan.resolve`.
        skipped_bytes: The size of a frame before each payload.
    """
    has_payload, bounds = is_valid(payloads), bounds_of(payloads)
    at, end = bounds[:-1] + skipped_bytes, bounds[1:]
    slots = np.flatnonzero(has_payload)
    cursor = Cursor(data_of(payloads), at[slots], end[slots], at[slots] > end[slots])
    values = read(plan, cursor)
    is_broken = np.zeros(len(payloads), dtype=np.bool_)
    is_broken[slots] = cursor.is_broken | (cursor.at > cursor.end)
    if len(slots) == len(payloads):
        return Values(values, is_broken)
    return Values(in_rows(has_payload, values), is_broken)


def read(plan: AvroPlan, cursor: Cursor) -> pa.Array:
    """The next value of each slot, with the plan's type; any value where a payload is broken."""
    return _READ[type(plan)](plan, cursor)


def skip(plan: AvroPlan, cursor: Cursor) -> None:
    """Skip the next value of each slot."""
    _SKIP[type(plan)](plan, cursor)


# --- Records -------------------------------------------------------------------------------------


def _read_struct(plan: RecordPlan, cursor: Cursor) -> pa.Array:
    columns: dict[int, pa.Array] = {}
    for step in plan.steps:
        if step.place is None:
            skip(step.plan, cursor)
        else:
            columns[step.place] = read(step.plan, cursor)
    for place, value in plan.constants.items():
        columns[place] = _repeated(value, plan.type[place].type, len(cursor))
    if not columns:
        return pa.Array.from_buffers(plan.type, len(cursor), [None], children=[])
    ordered = [columns[place] for place in range(plan.type.num_fields)]
    return pa.StructArray.from_arrays(ordered, fields=[*plan.type])


def _skip_again(plan: Again, cursor: Cursor) -> None:
    """Skip payload by payload: each has as many records within records as it likes."""
    is_broken = cursor.at >= cursor.end
    for slot in np.flatnonzero(~is_broken):
        one = PayloadCursor(cursor.data.data[: cursor.end[slot]], int(cursor.at[slot]))
        try:
            one.skip(plan.record)
        except PayloadError:
            is_broken[slot] = True
        cursor.at[slot] = one.at
    cursor.fail(is_broken)


def _repeated(value: Any, to: pa.DataType, count: int) -> pa.Array:
    one = pa.array([value], to)
    return one.take(indices_of(np.zeros(count, dtype=np.int64)))


def _skip_struct(plan: RecordPlan, cursor: Cursor) -> None:
    for step in plan.steps:
        skip(step.plan, cursor)


# --- Unions --------------------------------------------------------------------------------------


def _read_choice(plan: Choice, cursor: Cursor) -> pa.Array:
    chosen = [
        (branch, slots)
        for branch, slots in _choices(plan, cursor)
        if branch is not None and not isinstance(branch, Null)
    ]
    if len(chosen) == 1:
        branch, slots = chosen[0]
        if len(slots) == len(cursor):
            return read(branch, cursor)
        if isinstance(branch, Bytes):
            return read_some_bytes(branch, cursor, slots)
    pieces = _Pieces(plan.type)
    has_value = np.zeros(len(cursor), dtype=np.bool_)
    for branch, slots in chosen:
        selected = cursor.select(slots)
        pieces.add(read(branch, selected), slots)
        cursor.update(slots, selected)
        has_value[slots] = True
    return in_rows(has_value, pieces.joined())


def _skip_choice(plan: Choice, cursor: Cursor) -> None:
    for branch, slots in _choices(plan, cursor):
        if branch is not None:
            selected = cursor.select(slots)
            skip(branch, selected)
            cursor.update(slots, selected)


def _choices(plan: Choice, cursor: Cursor) -> Iterator[tuple[AvroPlan | None, Longs]]:
    """Each branch with its slots; None with the slots of broken payloads."""
    number = cursor.longs()
    none = len(plan.branches)
    number[(number < 0) | (number >= none)] = none
    wrong = np.array([branch is None for branch in [*plan.branches, None]])[number]
    cursor.fail(wrong)
    number[wrong] = none
    # Few of them are there, however many the union has.
    for place in np.flatnonzero(np.bincount(number)).tolist():
        yield plan.branches[place] if place < none else None, np.flatnonzero(number == place)


def _read_member(plan: BranchPlan, cursor: Cursor) -> pa.Array:
    columns = [
        read(plan.plan, cursor) if place == plan.member else pa.nulls(len(cursor), each.type)
        for place, each in enumerate(plan.type)
    ]
    return pa.StructArray.from_arrays(columns, fields=[*plan.type])


# --- Lists ---------------------------------------------------------------------------------------


def _read_items(plan: Items, cursor: Cursor) -> pa.Array:
    pieces = _Pieces(plan.item.type)
    for slots, selected, count in _rounds(plan, cursor):
        if count is None:
            pieces.add(read(plan.item, selected), slots)
        else:
            values = _one_by_one(plan, selected, count)
            pieces.add(pa.array(values, plan.item.type), np.repeat(slots, len(values)))
    offsets = np.zeros(len(cursor) + 1, dtype=np.int32)
    np.cumsum(np.bincount(pieces.slots(), minlength=len(cursor)), out=offsets[1:])
    return _joined(plan.type, array_of(offsets, pa.int32()), pieces.joined())


def _joined(to: pa.DataType, offsets: pa.Array, items: pa.Array) -> pa.Array:
    if pa.types.is_map(to):
        return pa.MapArray.from_arrays(offsets, items.field(0), items.field(1), type=to)
    return pa.ListArray.from_arrays(offsets, items, type=to)


def _skip_items(plan: Items, cursor: Cursor) -> None:
    for _, selected, count in _rounds(plan, cursor):
        if count is None:
            skip(plan.item, selected)
        else:
            _skip_one_by_one(plan, selected, count)


def _one_by_one(plan: Items, selected: Cursor, count: int) -> list[Any]:
    """The next items of the only slot; empty if one of them is broken."""
    cursor = PayloadCursor(selected.data.data[: selected.end[0]], int(selected.at[0]))
    try:
        values = [cursor.read(plan.item) for _ in range(count)]
    except PayloadError:
        selected.fail(np.array([True]))
        return []
    selected.at[0] = cursor.at
    return values


def _skip_one_by_one(plan: Items, selected: Cursor, count: int) -> None:
    """Skip the next items of the only slot."""
    cursor = PayloadCursor(selected.data.data[: selected.end[0]], int(selected.at[0]))
    try:
        for _ in range(count):
            cursor.skip(plan.item)
    except PayloadError:
        selected.fail(np.array([True]))
    else:
        selected.at[0] = cursor.at


def _rounds(plan: Items, cursor: Cursor) -> Iterator[tuple[Longs, Cursor, int | None]]:
    """Slots with a cursor of theirs before their next item; one slot if a count is given.

    The caller reads an item of each, or as many as counted.
    """
    slots = np.arange(len(cursor))
    left = np.zeros(len(cursor), dtype=np.int64)
    total = np.zeros(len(cursor), dtype=np.int64)
    while slots.size:
        at_header = slots[left[slots] == 0]
        if at_header.size:
            selected = cursor.select(at_header)
            count = _next_block(plan, selected, total[at_header])
            cursor.update(at_header, selected)
            left[at_header] = count
            total[at_header] += count
            slots = slots[left[slots] > 0]
        if 0 < slots.size < _FEW_LISTS and left[slots].max() > _MANY_ITEMS:
            groups: list[tuple[Longs, int | None]] = [
                (slots[i : i + 1], min(int(left[slots[i]]), _MOST_VALUES))
                for i in range(slots.size)
            ]
        else:
            groups = [(slots, None)] if slots.size else []
        for chosen, many in groups:
            selected = cursor.select(chosen)
            yield chosen, selected, many
            cursor.update(chosen, selected)
            left[chosen] -= 1 if many is None else many
        slots = slots[~cursor.is_broken[slots]]


def _next_block(plan: Items, cursor: Cursor, before: Longs) -> Longs:
    """The number of items of the next block; 0 at the end of a list, and where it is broken."""
    count = cursor.longs()
    has_size = np.flatnonzero(count < 0)
    if has_size.size:
        selected = cursor.select(has_size)
        selected.lengths()
        cursor.update(has_size, selected)
        count[has_size] = -count[has_size]
    wrong = _is_too_long(plan, cursor, count, before) | (count < 0) | cursor.is_broken
    cursor.fail(wrong)
    count[wrong] = 0
    return count


def _is_too_long(plan: Items, cursor: Cursor, count: Longs, before: Longs) -> Bools:
    if plan.item_bytes:
        return (count > 0) & (count > (cursor.end - cursor.at) // plan.item_bytes)
    return count > plan.most_empty - before


class _Piece(NamedTuple):
    values: pa.Array
    slots: Longs


class _Pieces:
    """Values of slots, in pieces: `_joined` ones, and new ones, so that there are never many."""

    def __init__(self, to: pa.DataType) -> None:
        self._type = to
        self._joined: list[_Piece] = []
        self._new: list[_Piece] = []

    def add(self, values: pa.Array, slots: Longs) -> None:
        """Add a value of each of these slots, after the values that a slot has."""
        self._new.append(_Piece(values, slots))
        if len(self._new) == _MOST_PIECES:
            self._joined.append(_concatenated(self._new))
            self._new = []

    def slots(self) -> Longs:
        """The slot of each value, in the order in which they were added."""
        pieces = [*self._joined, *self._new]
        return np.concatenate([np.empty(0, np.int64), *(piece.slots for piece in pieces)])

    def joined(self) -> pa.Array:
        """All values by slot."""
        pieces = [*self._joined, *self._new]
        if not pieces:
            return pa.nulls(0, self._type)
        if len(pieces) == 1 and not self._joined:
            return pieces[0].values
        values, slots = _concatenated(pieces)
        if (slots[1:] >= slots[:-1]).all():
            return values
        return values.take(indices_of(np.argsort(slots, kind="stable")))


def _concatenated(pieces: list[_Piece]) -> _Piece:
    values = pa.concat_arrays([piece.values for piece in pieces])
    return _Piece(values, np.concatenate([piece.slots for piece in pieces]))


_READ: Final[Mapping[type, Callable[[Any, Cursor], pa.Array]]] = {
    Null: read_null,
    Number: read_number,
    Boolean: read_boolean,
    Bytes: read_bytes,
    Symbol: read_symbol,
    Decimal: read_decimal,
    DecimalText: read_decimal_text,
    RecordPlan: _read_struct,
    Items: _read_items,
    Choice: _read_choice,
    BranchPlan: _read_member,
}
_SKIP: Final[Mapping[type, Callable[[Any, Cursor], None]]] = {
    Null: skip_null,
    Number: skip_number,
    Boolean: skip_boolean,
    Bytes: skip_bytes,
    Symbol: skip_symbol,
    RecordPlan: _skip_struct,
    Items: _skip_items,
    Choice: _skip_choice,
    Again: _skip_again,
}
