"""Dates and moments of Kafka Connect and Debezium -> Arrow's, whole columns at once.

A value that its type cannot have is marked, never rounded: Spark has microseconds. Years beyond
9999, as PostgreSQL's infinity, are values like others.

Source: `io.debezium.time` and `org.apache.kafka.connect.data`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_protocol.columnar.arrays.arrow_memory import array_of, is_valid, numbers_of

Bools: TypeAlias = npt.NDArray[np.bool_]

_NTZ: Final = pa.timestamp("us")
_ZONED: Final = pa.timestamp("us", tz="UTC")
_MAX: Final = 2**63 - 1
# Texts that Arrow reads as they are meant; others are read one by one.
_USUAL: Final = r"\A[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z\z"
_MOMENT: Final = re.compile(
    r"([+-]?\d{4,9})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
    r"(?:Z|([+-])(\d\d):(\d\d)(?::(\d\d))?)",
    re.ASCII,
)
_DATE: Final = re.compile(r"([+-]?\d{4,9})-(\d\d)-(\d\d)Z?", re.ASCII)
# The days of 400 years, after which the calendar repeats.
_CYCLE_DAYS: Final = 146_097
_DAY_SECONDS: Final = 86_400
# As in `java.time.ZoneOffset`.
_MAX_OFFSET: Final = 18 * 3_600


class Converted(NamedTuple):
    """The values of a column, and which of them do not have the type."""

    values: pa.Array
    is_broken: Bools


Convert: TypeAlias = Callable[[pa.Array], Converted]


def date_of_days(days: pa.Array) -> Converted:
    """Days since 1970."""
    numbers, is_null = _numbers(days)
    is_broken = ~is_null & ((numbers >= 2**31) | (numbers < -(2**31)))
    return Converted(
        array_of(np.where(is_broken, 0, numbers), pa.date32(), is_null | is_broken), is_broken
    )


def moment_of_units(per_second: int) -> Convert:
    """The converter of numbers of units since 1970 to moments without a zone.

    Args:
        per_second: How many of the units are a second.
    """

    def convert(units: pa.Array) -> Converted:
        numbers, is_null = _numbers(units)
        if per_second > 1_000_000:
            micros, rest = np.divmod(numbers, per_second // 1_000_000)
            is_broken = rest != 0
        else:
            times = 1_000_000 // per_second
            is_broken = (numbers > _MAX // times) | (numbers < -(_MAX // times))
            micros = np.where(is_broken, 0, numbers) * times
        is_broken = is_broken & ~is_null
        return Converted(array_of(micros, _NTZ, is_null | is_broken), is_broken)

    return convert


def moment_without_zone(moments: pa.Array) -> Converted:
    """A moment in UTC, taken as one without a zone."""
    return Converted(moments.view(_NTZ), np.zeros(len(moments), dtype=np.bool_))


def moment_of_text(texts: pa.StringArray) -> Converted:
    """The moment of an ISO 8601 text with a zone."""
    return _of_texts(texts, _USUAL, _ZONED, _micros_of)


def local_moment_of_text(texts: pa.StringArray) -> Converted:
    """The moment of an ISO 8601 text in UTC, without a zone."""
    moments, is_broken = moment_of_text(texts)
    return Converted(moments.view(_NTZ), is_broken)


def date_of_text(texts: pa.StringArray) -> Converted:
    """The day of an ISO 8601 text, which may end with Z."""
    return _of_texts(texts, r"\A[12]\d{3}-\d\d-\d\d\z", pa.date32(), _days_of)


def _numbers(values: pa.Array) -> tuple[npt.NDArray[np.int64], Bools]:
    """The numbers in a column of numbers or of Arrow's times, and which are null."""
    is_null = ~is_valid(values)
    if pa.types.is_temporal(values.type):
        values = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    numbers = numbers_of(values.cast(pa.int64()).fill_null(0))
    return numbers, is_null


def _of_texts(
    texts: pa.StringArray, usual: str, to: pa.DataType, read: Callable[[str], int | None]
) -> Converted:
    if pc.all(pc.match_substring_regex(texts, usual)).as_py() is not False:
        try:
            return Converted(texts.cast(to), np.zeros(len(texts), dtype=np.bool_))
        except pa.ArrowInvalid:
            # There is no such day or hour in one of them.
            pass
    numbers = [None if text is None else read(text) for text in texts.to_pylist()]
    is_null = np.array([number is None for number in numbers], dtype=np.bool_)
    values = np.array([number or 0 for number in numbers], dtype=np.int64)
    return Converted(array_of(values, to, is_null), is_null & is_valid(texts))


def _days_of(text: str) -> int | None:
    match = _DATE.fullmatch(text)
    days = match and _day_number(*(int(part) for part in match.groups()))
    return days if days is not None and -(2**31) <= days < 2**31 else None


def _micros_of(text: str) -> int | None:
    """Microseconds since 1970; None for a text of another form, or beyond microseconds."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    *day, hour, minute, second, fraction, sign, zone_hour, zone_minute, zone_second = match.groups()
    days = _day_number(*(int(part) for part in day))
    hours, minutes, seconds = int(hour), int(minute), int(second or 0)
    nanos = int((fraction or "").ljust(9, "0"))
    if days is None or hours > 23 or minutes > 59 or seconds > 59 or nanos % 1_000:
        return None
    offset = int(zone_hour or 0) * 3_600 + int(zone_minute or 0) * 60 + int(zone_second or 0)
    if offset > _MAX_OFFSET or int(zone_minute or 0) > 59 or int(zone_second or 0) > 59:
        return None
    offset = -offset if sign == "-" else offset
    total = days * _DAY_SECONDS + hours * 3_600 + minutes * 60 + seconds - offset
    micros = total * 1_000_000 + nanos // 1_000
    return micros if -(2**63) <= micros < 2**63 else None


def _day_number(year: int, month: int, day: int) -> int | None:
    """Days since 1970 in the calendar of `java.time`, which has a year 0."""
    cycles, rest = divmod(year - 1, 400)
    try:
        # In each cycle of 400 years the same years are leap years.
        in_cycle = date(rest + 1, month, day).toordinal()
    except ValueError:
        return None
    return cycles * _CYCLE_DAYS + in_cycle - date(1970, 1, 1).toordinal()
