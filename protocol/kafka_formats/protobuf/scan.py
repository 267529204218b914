"""Finds the fields of many messages at once: in each round the fields with one tag.

Writers put fields in the order of their numbers and leave out absent fields. So each round takes
the lowest tag that comes next in any message, of all messages where it does: there are about as
many rounds as fields. Messages that are unusual, or may be damaged, are only marked.

Source: Protocol Buffers, "Encoding".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from kafka_formats.arrow.bytes_cursor import MAX_INT_BYTES, Bools, Cursor, Longs
from kafka_formats.protobuf.field_values import FieldValues, numbers
from kafka_formats.protobuf.layout import BYTES, FIXED32, FIXED64, VARINT, Layout, Tag

# After the last field of a message.
_END: Final = 2**62
_MAX_TAG: Final = 2**32 - 1
# A round with fewer messages than this costs more than to parse them one by one. There may be as
# many such rounds, and one more for each sixteen messages.
_FEW: Final = 16
_FEW_ROUNDS: Final = 64


def locate(layout: Layout, cursor: Cursor) -> list[list[FieldValues]]:
    """Find the wanted fields of a message of each slot, and go to its end.

    Returns:
        The values of each field in pieces, in the order of its values in each message.
    """
    # Its positions may be the starts of values.
    cursor.at = cursor.at.copy()
    pieces: list[list[FieldValues]] = [[] for _ in layout.fields]
    seen = {each: np.zeros(len(cursor), dtype=np.bool_) for each in {*layout.oneofs.values()}}
    small_rounds = _FEW_ROUNDS + len(cursor) // _FEW
    tags = _next_tags(cursor)
    while tags.size and (tag := int(tags.min())) != _END:
        slots = np.flatnonzero(tags == tag)
        is_all = len(slots) == len(cursor)
        selected = cursor if is_all else cursor.select(slots)
        small_rounds -= len(slots) < _FEW
        if small_rounds < 0 and len(slots) < _FEW:
            _fail_all(selected)
        else:
            _fail_repeated(layout, seen, tag, selected, slots)
            _read(layout, tag, selected, slots, pieces)
        following = _next_tags(selected)
        if is_all:
            tags = following
        else:
            cursor.update(slots, selected)
            tags[slots] = following
    return pieces


def _next_tags(cursor: Cursor) -> Longs:
    """The next tag of each slot."""
    left = cursor.end - cursor.at
    if left.size and left.min() > 0:
        tags: Longs = cursor.varints(MAX_INT_BYTES).view(np.int64)
        if not cursor.is_broken.any():
            return tags
    else:
        cursor.fail(left < 0)
        tags = np.full(len(cursor), _END)
        slots = np.flatnonzero(left > 0)
        if slots.size:
            selected = cursor.select(slots)
            tags[slots] = selected.varints(MAX_INT_BYTES).view(np.int64)
            cursor.update(slots, selected)
    tags[cursor.is_broken] = _END
    return tags


def _fail_repeated(
    layout: Layout, seen: Mapping[str, Bools], tag: Tag, selected: Cursor, slots: Longs
) -> None:
    """Mark messages with a second field of a oneof, which takes the place of the first."""
    oneof = layout.oneofs.get(tag >> 3)
    if oneof is not None:
        selected.fail(seen[oneof][slots])
        seen[oneof][slots] = True


def _read(
    layout: Layout, tag: Tag, selected: Cursor, slots: Longs, pieces: list[list[FieldValues]]
) -> None:
    """Read or skip the values after a tag."""
    number, wire_type = tag >> 3, tag & 7
    place = layout.places.get(tag)
    is_unusual = place is None and (layout.is_entry or number in layout.numbers)
    if is_unusual or not 0 < number <= _MAX_TAG >> 3 or wire_type not in _READ:
        _fail_all(selected)
    elif place is None:
        _SKIP[wire_type](selected, slots)
    else:
        pieces[place].append(_READ[wire_type](selected, slots))


def _fail_all(selected: Cursor) -> None:
    selected.fail(np.ones(len(selected), dtype=np.bool_))


def _bytes(cursor: Cursor, slots: Longs) -> FieldValues:
    """Bytes, without any where a message is broken."""
    length: Longs = cursor.varints().view(np.int64)
    wrong = (length < 0) | (length > cursor.end - cursor.at)
    if wrong.any():
        cursor.fail(wrong)
        length[wrong] = 0
    start = cursor.at
    cursor.at = start + length
    return FieldValues(slots, start, length)


_READ: Final[Mapping[int, Callable[[Cursor, Longs], FieldValues]]] = {
    VARINT: lambda cursor, slots: numbers(slots, cursor.varints()),
    FIXED64: lambda cursor, slots: numbers(slots, cursor.numbers("<u8")),
    BYTES: _bytes,
    FIXED32: lambda cursor, slots: numbers(slots, cursor.numbers("<u4")),
}
_SKIP: Final[Mapping[int, Callable[[Cursor, Longs], object]]] = {
    VARINT: lambda cursor, _: cursor.skip_longs(),
    FIXED64: lambda cursor, _: cursor.skip(8),
    BYTES: _bytes,
    FIXED32: lambda cursor, _: cursor.skip(4),
}
