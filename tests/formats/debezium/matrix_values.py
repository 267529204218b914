"""What values of PostgreSQL mean: by the database's own text, and by what a read made of them.

Both become the same plain value of Python if and only if the read is exact.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pyarrow as pa

_DAY: Final = 86_400_000_000
_CYCLE_DAYS: Final = 146_097
_TIME: Final = "io.debezium.time."
_CONNECT: Final = "org.apache.kafka.connect.data."
# Microseconds in the unit of a number, as a fraction.
_UNITS: Final[Mapping[str, Fraction]] = {
    f"{_TIME}Timestamp": Fraction(1_000),
    f"{_TIME}MicroTimestamp": Fraction(1),
    f"{_TIME}NanoTimestamp": Fraction(1, 1_000),
    f"{_CONNECT}Timestamp": Fraction(1_000),
    f"{_TIME}Time": Fraction(1_000),
    f"{_TIME}MicroTime": Fraction(1),
    f"{_TIME}NanoTime": Fraction(1, 1_000),
    f"{_CONNECT}Time": Fraction(1_000),
    f"{_TIME}MicroDuration": Fraction(1),
    f"{_TIME}NanoDuration": Fraction(1, 1_000),
}
_DATE: Final = re.compile(r"([+-]?\d+)-(\d\d)-(\d\d)Z?( BC)?")
_CLOCK: Final = re.compile(r"(-?)(\d+):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d\d(?::\d\d)?)?")
_SPAN: Final = re.compile(r"(-?\d+) (year|mon|day)s?")
_ISO_SPAN: Final = re.compile(r"P(-?\d+)Y(-?\d+)M(-?\d+)DT(-?\d+)H(-?\d+)M(-?[\d.]+(?:E-?\d+)?)S")
_PAIR: Final = re.compile(r'"((?:[^"\\]|\\.)*)"=>(?:"((?:[^"\\]|\\.)*)"|NULL)')

Meaning = Any


def _number(text: str) -> Meaning:
    """A fraction, or the name of what is no number."""
    try:
        found = Decimal(text)
    except InvalidOperation:
        return text
    return Fraction(found) if found.is_finite() else str(found)


def _float(number: float) -> Meaning:
    """With the sign of zero; NaN is equal to itself."""
    return "NaN" if math.isnan(number) else (number, math.copysign(1, number))


def _days(text: str) -> Meaning:
    match = _DATE.fullmatch(text)
    if match is None:
        return text
    year, month, day = (int(each) for each in match.groups()[:3])
    # Before the year 1 is the year 1 BC, which the calendar counts as 0.
    cycles, rest = divmod((1 - year if match[4] else year) - 1, 400)
    in_cycle = date(rest + 1, month, day).toordinal()
    return cycles * _CYCLE_DAYS + in_cycle - date(1970, 1, 1).toordinal()


def _clock(text: str) -> Meaning:
    """Microseconds since midnight, and those of the zone if the text has one."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        return text
    sign, hours, minutes, seconds, fraction, zone = match.groups()
    total = (int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)
    micros = total * 1_000_000 + int((fraction or "").ljust(6, "0"))
    return (-micros if sign else micros), zone


def _zoned_clock(text: str) -> Meaning:
    micros, zone = _clock(text)
    return micros, "+00" if zone == "Z" else zone


def _moment(text: str) -> Meaning:
    """Microseconds since 1970; the zone of the session was UTC."""
    day, _, rest = text.replace("T", " ").partition(" ")
    rest, _, era = rest.partition(" ")
    days = _days(f"{day} BC" if era else day)
    if isinstance(days, str):
        return text
    return days * _DAY + _clock(rest)[0]


def _span(text: str) -> Meaning:
    """Months, days and microseconds."""
    found = {unit: int(number) for number, unit in _SPAN.findall(text)}
    clock = re.search(r"-?\d+:\d\d:\d\d(?:\.\d+)?", text)
    micros = _clock(clock[0])[0] if clock else 0
    return found.get("year", 0) * 12 + found.get("mon", 0), found.get("day", 0), micros


def _iso_span(text: str) -> Meaning:
    match = _ISO_SPAN.fullmatch(text)
    if match is None:
        return text
    years, months, days, hours, minutes = (int(each) for each in match.groups()[:5])
    seconds = Fraction(Decimal(match[6]))
    return years * 12 + months, days, (hours * 60 + minutes) * 60_000_000 + seconds * 1_000_000


def _hstore(text: str) -> Meaning:
    return {each[1]: each[2] if each[0].endswith('"') else None for each in _PAIR.finditer(text)}


def _bits(text: str) -> Meaning:
    return len(text), int(text or "0", 2)


def _is_true(text: str) -> bool:
    return text in {"true", "1"}


_OF_TEXT: Final[Mapping[str, Callable[[str], Meaning]]] = {
    **dict.fromkeys(("bool", "bit1"), _is_true),
    **dict.fromkeys(("int2", "int4", "int8", "oid"), int),
    "float4": lambda text: _float(float(np.float32(text))),
    "float8": lambda text: _float(float(text)),
    **dict.fromkeys(
        ("num10_2", "num38_10", "num50_2", "num5_m2", "num3_5", "num", "money", "domain"), _number
    ),
    "bytea": lambda text: bytes.fromhex(text.removeprefix("\\x")),
    "bit10": lambda text: int(text, 2),
    "varbit": _bits,
    "date": _days,
    **dict.fromkeys(("time", "time3"), lambda text: _clock(text)[0]),
    "timetz": _zoned_clock,
    **dict.fromkeys(("ts", "ts3", "ts0", "tstz"), _moment),
    "interval": _span,
    "point": lambda text: tuple(float(each) for each in text.strip("()").split(",")),
    "hstore": _hstore,
    "vector": json.loads,
}


def meaning_of_text(kind: str, text: str) -> Meaning:
    """What the database's text of a value means; texts of other kinds are what they are."""
    return _OF_TEXT.get(kind, str)(text)


def _plain(scalar: pa.Scalar) -> Any:
    """Python's value, but numbers for dates and moments: Python has not all years."""
    kind = scalar.type
    return scalar.value if pa.types.is_temporal(kind) else scalar.as_py()


def _time_of(kind: str, value: Any, semantic: str | None, data_type: pa.DataType) -> Meaning:
    if isinstance(value, str):
        if kind == "date":
            return _days(value)
        if kind == "interval":
            return _iso_span(value)
        if kind == "timetz":
            return _zoned_clock(value)
        return _clock(value)[0] if kind in {"time", "time3"} else _moment(value)
    if kind == "date" or pa.types.is_timestamp(data_type):
        return value
    micros = value * _UNITS[semantic or ""]
    return (0, micros // _DAY, micros % _DAY) if kind == "interval" else micros


_TIMES: Final = {"date", "time", "time3", "timetz", "ts", "ts3", "ts0", "tstz", "interval"}
_NUMBERS: Final = {"num10_2", "num38_10", "num50_2", "num5_m2", "num3_5", "num", "money", "domain"}
_TEXT_OF_BYTES: Final[Mapping[str, Callable[[str], bytes]]] = {
    "base64": base64.b64decode,
    "base64-url-safe": base64.urlsafe_b64decode,
    "hex": bytes.fromhex,
}


def meaning(kind: str, scalar: pa.Scalar, semantic: str | None, binary_mode: str) -> Meaning:
    """What a value means that was read.

    Args:
        kind: Its type in `matrix.KINDS`.
        scalar: The value, not null.
        semantic: Its semantic type in Connect's schema.
        binary_mode: The connector's `binary.handling.mode`.
    """
    value = _plain(scalar)
    if kind in _TIMES:
        return _time_of(kind, value, semantic, scalar.type)
    if kind == "bytea" and isinstance(value, str):
        return _TEXT_OF_BYTES[binary_mode](value)
    return _OF_VALUE.get(kind, _as_it_is)(value)


def _as_it_is(value: Any) -> Meaning:
    return value


def _of_number(value: Any) -> Meaning:
    if isinstance(value, dict):
        number = int.from_bytes(value["value"], "big", signed=True)
        return Fraction(number) / Fraction(10) ** value["scale"]
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(value)
    if isinstance(value, float):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return _number(str(value))


_OF_VALUE: Final[Mapping[str, Callable[[Any], Meaning]]] = {
    **dict.fromkeys(_NUMBERS, _of_number),
    "float4": lambda value: _float(float(np.float32(value))),
    "float8": _float,
    # Debezium's `Bits`: the lowest byte first.
    "bit10": lambda value: int.from_bytes(value, "little"),
    "varbit": lambda value: (8 * len(value), int.from_bytes(value, "little")),
    "point": lambda value: (value["x"], value["y"]),
    "hstore": lambda value: json.loads(value) if isinstance(value, str) else dict(value),
}
