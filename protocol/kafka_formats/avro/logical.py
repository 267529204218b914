"""Logical types: the types that they annotate, and how a value of one is read as another.

Java's library and Spark's `from_avro` take what was written for a value of the reader's logical
type: a timestamp in ms for one in us. Here it keeps its value, or is not read.

Source: Apache Avro 1.12, "Logical Types" and "Schema Resolution".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from typing import Any, Final, NamedTuple

from kafka_formats.arrow.decimals import (
    ARROW_DIGITS,
    MAX_BYTES,
    MAX_DIGITS,
    ONE,
    Ratio,
    digits_of,
    number_of,
    rescaled,
    text_of,
)


@dataclass(frozen=True, slots=True)
class Logical:
    """A logical type; `precision` and `scale` are for decimals."""

    name: str
    precision: int = 0
    scale: int = 0

    @property
    def is_text(self) -> bool:
        """Whether it is a decimal that has too many digits for Spark's."""
        return self.precision > ARROW_DIGITS


class _Time(NamedTuple):
    """A time: its meaning, and in nanoseconds the units that are written and that a reader gets."""

    meaning: str
    written: int
    shown: int


_MICROS: Final = 1_000
_MILLIS: Final = 1_000_000
_DAY: Final = 86_400_000_000_000
# Spark has microseconds for timestamps, and shows other times as the numbers that they are.
_TIMES: Final[Mapping[str, _Time]] = {
    "date": _Time("date", _DAY, _DAY),
    "time-millis": _Time("time", _MILLIS, _MILLIS),
    "time-micros": _Time("time", _MICROS, _MICROS),
    "timestamp-millis": _Time("instant", _MILLIS, _MICROS),
    "timestamp-micros": _Time("instant", _MICROS, _MICROS),
    "timestamp-nanos": _Time("instant", 1, 1),
    "local-timestamp-millis": _Time("local", _MILLIS, _MICROS),
    "local-timestamp-micros": _Time("local", _MICROS, _MICROS),
    "local-timestamp-nanos": _Time("local", 1, 1),
}
# The types that a logical type may annotate. Others are ignored, as the specification says.
_ANNOTATED: Final[Mapping[str, frozenset[str]]] = {
    "decimal": frozenset({"bytes", "fixed"}),
    "big-decimal": frozenset({"bytes"}),
    "uuid": frozenset({"string", "fixed"}),
    "duration": frozenset({"fixed"}),
    **{name: frozenset({"long"}) for name in _TIMES},
    "date": frozenset({"int"}),
    "time-millis": frozenset({"int"}),
}
# Meaning -> others that it may be read as: a date is its midnight, and a local time one of UTC.
_READ_AS: Final[Mapping[str, frozenset[str]]] = {
    "date": frozenset({"instant", "local"}),
    "instant": frozenset({"local"}),
    "local": frozenset({"instant"}),
}
_BINARY: Final = frozenset({"decimal", "big-decimal", "duration"})


def logical_of(value: Mapping[str, Any], kind: str, size: int | None = None) -> Logical | None:
    """The logical type; None if it is unknown or invalid, as the specification demands."""
    name = value.get("logicalType")
    if not isinstance(name, str) or kind not in _ANNOTATED.get(name, ()):
        return None
    if name != "decimal":
        return Logical(name)
    precision, scale = value.get("precision"), value.get("scale", 0)
    if not (isinstance(precision, int) and isinstance(scale, int)):
        return None
    fits = size is None or precision <= _digits_in(size)
    if not (0 < precision <= MAX_DIGITS and 0 <= scale <= precision and fits):
        return None
    return Logical(name, precision, scale)


def _digits_in(size: int) -> int:
    """The digits of any signed number of this many bytes."""
    return digits_of(2 ** (8 * min(size, MAX_BYTES) - 1) - 1) - 1 if size else 0


def is_readable(written: Logical | None, read: Logical | None) -> bool:
    """Whether a value of one type may be read as the other. A type without a logical one may be."""
    if written is None or read is None:
        return True
    meaning, other = _meaning(written), _meaning(read)
    return meaning == other or other in _READ_AS.get(meaning, ())


def is_binary(logical: Logical | None) -> bool:
    """Whether a logical type is a number in bytes, which cannot be a text."""
    return logical is not None and logical.name in _BINARY


def _meaning(logical: Logical) -> str:
    return _TIMES[logical.name].meaning if logical.name in _TIMES else logical.name


def ratio_of(written: Logical | None, read: Logical | None) -> Ratio:
    """How a written number becomes one in the unit that a reader gets."""
    to = _TIMES.get(read.name) if read else None
    if to is None:
        return ONE
    unit = _TIMES.get(written.name, to).written if written else to.written
    common = gcd(unit, to.shown)
    return ONE if unit == to.shown else Ratio(unit // common, to.shown // common)


def text_of_decimal(raw: bytes, ratio: Ratio, scale: int) -> str | None:
    """The text of a decimal in bytes; None if it is empty, too long, or loses digits."""
    written = number_of(raw)
    number = None if written is None else rescaled(written, ratio, None)
    return None if number is None else text_of(number, scale)
