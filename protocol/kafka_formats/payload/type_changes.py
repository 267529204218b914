"""The differences of two types: parts that one lacks, and parts whose values it cannot hold. Pure.

Types of Arrow only: what a schema says beyond its type is a matter of each format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pyarrow as pa

from kafka_formats.errors import ITEMS, VALUES, path_of


class Loss(NamedTuple):
    """A part of a written schema with values that the part of a read one cannot hold.

    Attributes:
        path: The part; empty for the whole.
        reason: Why, after the name of the part; empty if the types say it.
        written: The type that was written, without a reason.
        read: The type to read as, without a reason.
    """

    path: str
    reason: str = ""
    written: pa.DataType | None = None
    read: pa.DataType | None = None

    def why(self, shown: Callable[[pa.DataType], str] = str) -> str:
        """The end of a sentence that begins with the part; `shown` is how types are written."""
        if self.written is None or self.read is None:
            return self.reason
        return f"has the type {shown(self.written)}, not {shown(self.read)}"


def new_fields(
    written: pa.DataType, read: pa.DataType, path: str = ""
) -> Iterator[tuple[str, pa.DataType]]:
    """The fields that a written type has and a read one lacks: path and type, at any depth."""
    for part in _parts(written, read, path) or ():
        if part.read is None:
            yield part.path, part.written
        else:
            yield from new_fields(part.written, part.read, part.path)


def changed_types(written: pa.DataType, read: pa.DataType, path: str = "") -> Iterator[Loss]:
    """The parts of both types whose written values the read type does not have."""
    parts = _parts(written, read, path)
    if parts is None and not is_held(written, read):
        yield Loss(path, written=written, read=read)
    for part in parts or ():
        if part.read is not None:
            yield from changed_types(part.written, part.read, part.path)


def is_held(written: pa.DataType, read: pa.DataType) -> bool:
    """Whether `read` can hold each value of `written`, a type without parts."""
    if written == read or pa.types.is_null(written):
        return True
    if pa.types.is_signed_integer(written) and pa.types.is_signed_integer(read):
        return bool(written.bit_width <= read.bit_width)
    if not pa.types.is_floating(read):
        return False
    if pa.types.is_floating(written):
        return bool(written.bit_width <= read.bit_width)
    # A double has 53 bits for digits, and a float 24.
    bits = 53 if read.bit_width == 64 else 24
    return bool(pa.types.is_signed_integer(written) and written.bit_width <= bits)


def part_in(whole: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """The part of a type whose fields another type has, too."""
    if pa.types.is_struct(whole) and pa.types.is_struct(wanted):
        known = {field.name: field.type for field in wanted}
        return pa.struct(
            [
                field.with_type(part_in(field.type, known[field.name]))
                for field in whole
                if field.name in known
            ]
        )
    if pa.types.is_list(whole) and pa.types.is_list(wanted):
        items = whole.value_field
        return pa.list_(items.with_type(part_in(items.type, wanted.value_type)))
    if pa.types.is_map(whole) and pa.types.is_map(wanted):
        items = whole.item_field
        return pa.map_(whole.key_type, items.with_type(part_in(items.type, wanted.item_type)))
    return whole


class _Part(NamedTuple):
    """A part of a written type, and the part in its place of a read type, if there is one."""

    path: str
    written: pa.DataType
    read: pa.DataType | None


def _parts(written: pa.DataType, read: pa.DataType, path: str) -> list[_Part] | None:
    """The parts of two nested types of one kind; None for other types."""
    if pa.types.is_struct(written) and pa.types.is_struct(read):
        known = {field.name: field.type for field in read}
        return [
            _Part(path_of(path, field.name), field.type, known.get(field.name)) for field in written
        ]
    if pa.types.is_list(written) and pa.types.is_list(read):
        return [_Part(path_of(path, ITEMS), written.value_type, read.value_type)]
    if pa.types.is_map(written) and pa.types.is_map(read):
        return [_Part(path_of(path, VALUES), written.item_type, read.item_type)]
    return None
