"""The first difference between the rows that were expected and those found. Pure."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from tests.endurance.torture.rows import Row

_SHOWN_BYTES = 40
_SHOWN_HEADERS = 5

Rows = dict[tuple[str, int], list[Row]]


class Difference(NamedTuple):
    """The first row that differs.

    Attributes:
        what: `missing`, `extra`, `twice`, `altered` or `order`.
        expected: The expected row at this place; None for `extra` and `twice`.
        found: The row found at this place; None for `missing`.
    """

    what: str
    expected: Row | None
    found: Row | None

    @property
    def text(self) -> str:
        """A few words with both rows; long keys and values are shown by length and CRC."""
        sides = (("expected", self.expected), ("found", self.found))
        rows = [f"{name} {_text(row)}" for name, row in sides if row is not None]
        return f"{self.what}{self._columns()}: {'; '.join(rows)}"

    def _columns(self) -> str:
        if self.what != "altered" or self.expected is None or self.found is None:
            return ""
        pairs = zip(Row._fields, self.expected, self.found, strict=True)
        return f" ({', '.join(name for name, one, two in pairs if one != two)})"


def first_difference(expected: Sequence[Row], found: Sequence[Row]) -> Difference | None:
    """The first difference, partition by partition; None if there is none.

    Only the order within a partition counts. A column that a query did not read must have the same
    neutral value on both sides (`None`, `-1`, `""` or `()`). Without topic and partition, sort both
    sides first.
    """
    all_expected, all_found = by_partition(expected), by_partition(found)
    for place in sorted({*all_expected, *all_found}):
        difference = _first(all_expected.get(place, []), all_found.get(place, []))
        if difference:
            return difference
    return None


def by_partition(rows: Iterable[Row]) -> Rows:
    """The rows of each topic and partition, in order."""
    grouped: Rows = defaultdict(list)
    for row in rows:
        grouped[row.topic, row.partition].append(row)
    return dict(grouped)


def _first(expected: list[Row], found: list[Row]) -> Difference | None:
    for place, (one, two) in enumerate(zip_longest(expected, found)):
        if one != two:
            return _explained(expected, found, place)
    return None


def _explained(expected: list[Row], found: list[Row], place: int) -> Difference:
    """What is different at the place, where the sides differ first."""
    one = expected[place] if place < len(expected) else None
    two = found[place] if place < len(found) else None
    if one is None or two is None:
        return _at_an_end(expected, found, place)
    if one.offset == two.offset:
        return Difference("altered", one, two)
    # Offsets that were not read are all equal, so these rows have offsets.
    wanted = {row.offset: row for row in expected}
    if two.offset in {row.offset for row in found[:place]}:
        return Difference("twice", None, two)
    if two.offset not in wanted:
        return Difference("extra", None, two)
    if one.offset not in {row.offset for row in found}:
        return Difference("missing", one, None)
    return Difference("order", one, two)


def _at_an_end(expected: list[Row], found: list[Row], place: int) -> Difference:
    if place < len(expected):
        return Difference("missing", expected[place], None)
    return Difference("twice" if found[place] in found[:place] else "extra", None, found[place])


def kept_in_order(wanted: Mapping[int, Row], rows: Sequence[Row]) -> Difference | None:
    """Why the rows are not some of the wanted ones of a partition, in order; None if they are."""
    last = -1
    seen: set[int] = set()
    for row in rows:
        original = wanted.get(row.offset)
        if row.offset in seen:
            return Difference("twice", None, row)
        if original is None:
            return Difference("extra", None, row)
        if original != row:
            return Difference("altered", original, row)
        if row.offset < last:
            return Difference("order", original, row)
        seen.add(row.offset)
        last = row.offset
    return None


def _text(row: Row) -> str:
    place = f"{row.topic}-{row.partition} offset {row.offset}"
    columns = {
        "timestamp": f"{row.timestamp} ({row.timestamp_type})",
        "key": _bytes_text(row.key),
        "value": _bytes_text(row.value),
        "headers": _headers_text(row.headers),
    }
    return f"{place}, " + ", ".join(f"{name} {text}" for name, text in columns.items())


def _bytes_text(data: bytes | None) -> str:
    if data is None or len(data) <= _SHOWN_BYTES:
        return repr(data)
    return f"{data[:_SHOWN_BYTES]!r}... ({len(data):,} bytes, CRC {zlib.crc32(data):08x})"


def _headers_text(headers: Sequence[tuple[str, bytes | None]]) -> str:
    shown = ", ".join(f"{name!r}={_bytes_text(data)}" for name, data in headers[:_SHOWN_HEADERS])
    more = len(headers) - _SHOWN_HEADERS
    return f"[{shown}{f' and {more} more' if more > 0 else ''}]"
