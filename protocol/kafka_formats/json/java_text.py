"""Numbers, strings, dates and times as Java writes them in JSON.

Source: `Double.toString`, Jackson's `JsonGenerator`, and `DateTimeFormatter` with the pattern
`uuuu-MM-dd'T'HH:mm:ss[.SSS]`, which Spark uses.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from types import NoneType
from typing import Any, Final

_SECONDS_OF_DAY: Final = 86_400
# The calendar is the same again after so many years.
_YEARS_OF_CYCLE: Final = 400
_DAYS_OF_CYCLE: Final = 146_097
_CYCLE_BEGINS: Final = date(2000, 1, 1)
_ESCAPE: Final = re.compile(r"\\u00(1[a-f]|0[bef])")
_NOT_BASIC: Final = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# `json.dumps` would make an encoder for each string.
_quoted: Final = json.JSONEncoder(ensure_ascii=False).encode


class NumberText(str):
    """A number as it is in a document, which Python's decoder does not make an int."""

    __slots__ = ()


class LongInteger(NumberText):
    """A whole number with more digits than Python makes an int of."""

    __slots__ = ()


def double_text(value: float) -> str:
    """A double as Java writes it; not finite ones are strings."""
    if not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
    return shortest_text(repr(value), value)


def shortest_text(text: str, value: float) -> str:
    """The shortest text of a number -> that of Java: `1.0E10` below 0.001 and from 10^7."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return text if "e" not in text and "." in text else f"{value:.1f}"
    mantissa, _, exponent = text.partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    power = int(exponent or 0) + len(whole) - 1
    digits = whole + fraction
    leading = len(digits) - len(digits.lstrip("0"))
    digits, power = digits[leading:].rstrip("0"), power - leading
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"


def day_text(days: int) -> str:
    """A date by its number of days since 1970. Years beyond four digits have a sign, as in Java."""
    cycles, rest = divmod(days - (_CYCLE_BEGINS - date(1970, 1, 1)).days, _DAYS_OF_CYCLE)
    within = _CYCLE_BEGINS + timedelta(days=rest)
    year = within.year + cycles * _YEARS_OF_CYCLE
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{within:%m-%d}"


def moment_text(micros: int) -> str:
    """A time by its number of microseconds since 1970, with three digits of a second, or six."""
    seconds, fraction = divmod(micros, 1_000_000)
    days, second = divmod(seconds, _SECONDS_OF_DAY)
    minute, second = divmod(second, 60)
    hour, minute = divmod(minute, 60)
    millis, rest = divmod(fraction, 1000)
    end = f"{fraction:06}" if rest else f"{millis:03}"
    return f"{day_text(days)}T{hour:02}:{minute:02}:{second:02}.{end}"


def string_text(value: str) -> str:
    """A string in JSON, in quotes."""
    quoted = _quoted(value)
    if "\\u" not in quoted:
        return quoted
    return _ESCAPE.sub(lambda escape: escape[0].upper().replace("U", "u", 1), quoted)


def utf8(value: str) -> str:
    """A string without halves of surrogate pairs, which Java replaces by question marks."""
    return value if value.isascii() else _SURROGATE.sub("?", value)


def json_text(value: Any, *, keeps_digits: bool = False) -> str:
    """The text of a part of a document, as Jackson copies it. Not by recursion: it may be deep.

    Args:
        value: The part.
        keeps_digits: Whether numbers are as in the document. Jackson copies doubles.
    """
    texts_of = _TEXTS_WITH_DIGITS if keeps_digits else _TEXTS
    simple = texts_of.get(type(value))
    if simple is not None:
        return simple(value)
    texts: list[str] = []
    # For each container around the next value: its other members, and the end of its text.
    around: list[tuple[Iterator[tuple[str, Any]], str]] = [(iter([("", value)]), "")]
    while around:
        rest, end = around[-1]
        for before, each in rest:
            texts.append(before)
            if isinstance(each, dict):
                texts.append("{")
                around.append((_members(each), "}"))
                break
            if isinstance(each, list):
                texts.append("[")
                around.append((_items(each), "]"))
                break
            texts.append(texts_of[type(each)](each))
        else:
            texts.append(end)
            around.pop()
    return "".join(texts)


def _members(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    comma = ""
    for key, each in value.items():
        yield f"{comma}{_copied_text(key)}:", each
        comma = ","


def _items(value: list[Any]) -> Iterator[tuple[str, Any]]:
    comma = ""
    for each in value:
        yield comma, each
        comma = ","


def _copied_text(value: str) -> str:
    """A string as Jackson copies it: surrogates are escaped, in pairs or not."""
    text = string_text(value)
    return text if text.isascii() else _NOT_BASIC.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex().upper()}" for at in range(0, len(units), 2))


_TEXTS: Final[Mapping[type, Callable[[Any], str]]] = {
    NoneType: lambda _: "null",
    bool: lambda value: "true" if value else "false",
    int: str,
    LongInteger: str,
    NumberText: lambda value: double_text(float(value)),
    str: _copied_text,
}
_TEXTS_WITH_DIGITS: Final[Mapping[type, Callable[[Any], str]]] = {**_TEXTS, NumberText: str}
