"""Converts decoded payloads to other types, part by part, and names a part that does not convert.

Rows that do not convert are marked as broken payloads are, and the fault is found by the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from kafka_formats.connect.semantics import Path
from kafka_formats.connect.times import Bools, Convert
from kafka_formats.errors import ITEMS, VALUES
from kafka_protocol.columnar.arrays.arrow_memory import array_of_bools, is_valid, numbers_of


@dataclass(frozen=True, slots=True)
class Leaf:
    """All of a value is converted.

    Attributes:
        convert: Makes the values.
        reason: Why a value does not convert.
    """

    convert: Convert
    reason: str


@dataclass(frozen=True, slots=True)
class Fields:
    """Some fields of a struct are converted, by their places."""

    parts: Mapping[int, Conversion]


@dataclass(frozen=True, slots=True)
class Items:
    """The items of lists are converted."""

    part: Conversion


@dataclass(frozen=True, slots=True)
class Values:
    """The values of maps are converted."""

    part: Conversion


Conversion: TypeAlias = "Leaf | Fields | Items | Values"


class Misfit(NamedTuple):
    """Values at a path that do not convert.

    Attributes:
        path: The part.
        is_broken: Whether it has such a value in each row.
        reason: Why.
    """

    path: Path
    is_broken: Bools
    reason: str


class Outcome(NamedTuple):
    """The converted values, and the values that do not convert."""

    values: pa.Array
    misfits: list[Misfit]


def converted(conversion: Conversion | None, values: pa.Array) -> Outcome:
    """Convert a column; None leaves it as it is."""
    if conversion is None:
        return Outcome(values, [])
    return _CONVERTED[type(conversion)](conversion, values)


def _leaf(conversion: Leaf, values: pa.Array) -> Outcome:
    result, is_broken = conversion.convert(values)
    return Outcome(result, [Misfit((), is_broken, conversion.reason)] if is_broken.any() else [])


def _fields(conversion: Fields, values: pa.StructArray) -> Outcome:
    # With the nulls of the structs, below which there may be anything.
    parts = values.flatten()
    misfits: list[Misfit] = []
    for place, part in conversion.parts.items():
        parts[place], part_misfits = converted(part, parts[place])
        misfits += _within(values.type.field(place).name, part_misfits)
    fields = [
        pa.field(each.name, part.type, each.nullable)
        for each, part in zip(values.type, parts, strict=True)
    ]
    mask = array_of_bools(~is_valid(values)) if values.null_count else None
    return Outcome(pa.StructArray.from_arrays(parts, fields=fields, mask=mask), misfits)


def _items(conversion: Items, values: pa.ListArray) -> Outcome:
    items, misfits = converted(conversion.part, values.values)
    inner = values.type.value_field
    to = pa.list_(pa.field(inner.name, items.type, inner.nullable))
    return _rebuilt(values, to, items, _within(ITEMS, misfits))


def _map_values(conversion: Values, values: pa.MapArray) -> Outcome:
    items, misfits = converted(conversion.part, values.items)
    inner = values.type.item_field
    to = pa.map_(values.type.key_type, pa.field(inner.name, items.type, inner.nullable))
    entries = pa.StructArray.from_arrays([values.keys, items], fields=[to.key_field, to.item_field])
    return _rebuilt(values, to, entries, _within(VALUES, misfits))


def _rebuilt(
    values: pa.Array, to: pa.DataType, children: pa.Array, misfits: list[Misfit]
) -> Outcome:
    """Lists or maps with other children; what does not convert, by rows."""
    rebuilt = pa.Array.from_buffers(
        to, len(values), values.buffers()[:2], offset=values.offset, children=[children]
    )
    bounds = numbers_of(values.offsets)
    valid = is_valid(values)
    by_rows = []
    for path, is_broken, reason in misfits:
        before = np.concatenate([[0], np.cumsum(is_broken)])
        in_row = valid & (before[bounds[1:]] > before[bounds[:-1]])
        if in_row.any():
            by_rows.append(Misfit(path, in_row, reason))
    return Outcome(rebuilt, by_rows)


def _within(name: str, misfits: list[Misfit]) -> list[Misfit]:
    return [each._replace(path=(name, *each.path)) for each in misfits]


_CONVERTED: Final[Mapping[type[Conversion], Callable[[Any, Any], Outcome]]] = {
    Leaf: _leaf,
    Fields: _fields,
    Items: _items,
    Values: _map_values,
}
