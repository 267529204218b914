"""Texts of dates and timestamps -> days and microseconds, as Spark's `from_json` reads them.

Reads one text at a time: `decode` lets Arrow cast the usual texts of many payloads.
Source: Spark's `SparkDateTimeUtils.stringToDate` and `stringToTimestamp`. Unlike there a timestamp
needs a time zone in its text, because the session's is not known where payloads are decoded.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from datetime import time as time_of_day
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

# As in Spark: years may have a sign and zeros before them, digits and blanks are ASCII.
_DATE: Final = re.compile(
    r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL | re.ASCII
)
_DAYS: Final = re.compile(r"[+-]?\d{1,3}", re.ASCII)
_MOMENT: Final = re.compile(
    r"([+-]?\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?(.*))?)?)?)?",
    re.ASCII,
)
_OFFSET: Final = re.compile(
    r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?|:(\d))?", re.ASCII
)
_BLANKS: Final = "".join(map(chr, (*range(ord(" ") + 1), 0x7F)))
_MAX_OFFSET: Final = timedelta(hours=18)
_EPOCH: Final = datetime(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)
NO_ZONE: Final = (
    "has no time zone, and the session's is not known here: read the field as timestamp_ntz or "
    "string"
)


def to_date(text: str) -> date:
    """The date of a text: `yyyy-[m]m-[d]d`, text after a `T` or a blank does not count.

    Raises:
        ValueError: It has another form, or there is no such day in the years 1 to 9999.
    """
    match = _DATE.fullmatch(text.strip(_BLANKS))
    if match is None and _DAYS.fullmatch(text):
        # Days since 1970, as Spark 1.5 wrote dates; texts of more digits are years.
        return date(1970, 1, 1) + timedelta(days=int(text))
    if match is None:
        raise ValueError("is not a date")
    year, month, day = match.groups()
    return date(int(year), int(month or 1), int(day or 1))


def to_timestamp(text: str) -> int:
    """Microseconds since 1970 in UTC: `yyyy-[m]m-[d]d[T ][h]h:[m]m:[s]s[.fraction]` and a zone.

    Raises:
        ValueError: It has another form or no zone, or there is no such moment.
    """
    moment, zone = _moment(text)
    zone = zone.strip(_BLANKS)
    if not zone:
        raise ValueError(NO_ZONE)
    in_utc = moment.replace(tzinfo=timezone.utc) - _offset(zone, moment)
    return (in_utc.replace(tzinfo=None) - _EPOCH) // _MICROSECOND


def to_timestamp_ntz(text: str) -> int:
    """Microseconds since 1970 without a zone: as `to_timestamp`, and a part of it is enough.

    Raises:
        ValueError: It has another form or a zone, or there is no such moment.
    """
    moment, zone = _moment(text)
    if zone.strip(_BLANKS):
        raise ValueError("has a time zone: read the field as timestamp")
    return (moment - _EPOCH) // _MICROSECOND


def _moment(text: str) -> tuple[datetime, str]:
    match = _MOMENT.fullmatch(text.strip(_BLANKS))
    if match is None:
        raise ValueError("is not a timestamp")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    micros = int((fraction or "")[:6].ljust(6, "0"))
    time = time_of_day(int(hour or 0), int(minute or 0), int(second or 0), micros)
    day_of_it = date(int(year), int(month or 1), int(day or 1))
    return datetime.combine(day_of_it, time), zone or ""


def _offset(zone: str, moment: datetime) -> timedelta:
    match = _OFFSET.fullmatch(zone)
    if match:
        sign, *parts = match.groups()
        hours, long_minutes, seconds, minute = (int(part or 0) for part in parts)
        minutes = long_minutes or minute
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        if offset > _MAX_OFFSET or minutes > 59 or seconds > 59:
            raise ValueError(f"has no time zone {zone!r}")
        return -offset if sign == "-" else offset
    if zone in {"Z", "UTC", "GMT", "UT"}:
        return timedelta(0)
    try:
        found_offset = moment.replace(tzinfo=ZoneInfo(zone)).utcoffset()
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"has no time zone {zone!r}") from None
    return found_offset or timedelta(0)
