"""Dates and moments of Connect and Debezium, against Python's own and at their extremes."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.connect.times import (
    Converted,
    date_of_days,
    date_of_text,
    local_moment_of_text,
    moment_of_text,
    moment_of_units,
    moment_without_zone,
)

EPOCH = datetime(1970, 1, 1)
MICROS = moment_of_units(1_000_000)
MILLIS = moment_of_units(1_000)
NANOS = moment_of_units(1_000_000_000)
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))


def values(converted: Converted) -> list[object]:
    """The values, `broken` where one is."""
    pairs = zip(converted.values.to_pylist(), converted.is_broken.tolist(), strict=True)
    assert not any(value is not None and broken for value, broken in converted_pairs(converted))
    return ["broken" if broken else value for value, broken in pairs]


def converted_pairs(converted: Converted) -> list[tuple[object, bool]]:
    return list(zip(converted.values.to_pylist(), converted.is_broken.tolist(), strict=True))


def units_of(moment: datetime | None, unit: timedelta) -> int | None:
    return None if moment is None else (moment - EPOCH) // unit


def numbers(*given: int | None) -> pa.Array:
    return pa.array(given, pa.int64())


@given(st.lists(st.none() | MOMENTS))
def test_units_since_1970(moments: list[datetime | None]) -> None:
    micros = [units_of(each, timedelta(microseconds=1)) for each in moments]
    assert values(MICROS(numbers(*micros))) == moments
    cut = [each and each.replace(microsecond=each.microsecond // 1_000 * 1_000) for each in moments]
    millis = [units_of(each, timedelta(milliseconds=1)) for each in cut]
    assert values(MILLIS(numbers(*millis))) == cut


def test_nanoseconds_are_not_rounded() -> None:
    assert values(NANOS(numbers(1_000, 1_001, -1_000, -1, None))) == [
        EPOCH + timedelta(microseconds=1),
        "broken",
        EPOCH - timedelta(microseconds=1),
        "broken",
        None,
    ]


@pytest.mark.parametrize("number", [9_223_372_036_825_200_000, -9_223_372_036_832_400_000])
def test_infinity_of_postgresql(number: int) -> None:
    assert MICROS(numbers(number)).values.cast(pa.int64()).to_pylist() == [number]
    assert values(MILLIS(numbers(number, 2**63 - 1, -(2**63)))) == ["broken"] * 3


def test_the_ends_of_milliseconds() -> None:
    last = (2**63 - 1) // 1_000
    converted = MILLIS(numbers(last, last + 1, -last, -last - 1))
    assert converted.is_broken.tolist() == [False, True, False, True]
    assert converted.values.cast(pa.int64()).to_pylist() == [
        last * 1_000,
        None,
        -last * 1_000,
        None,
    ]


def test_numbers_that_a_format_took_for_moments() -> None:
    """A writer's milliseconds, which a reader's schema takes for Avro's timestamp-micros."""
    given_moments = numbers(1_500).view(pa.timestamp("us", tz="UTC"))
    assert values(MILLIS(given_moments)) == [EPOCH + timedelta(milliseconds=1_500)]
    assert values(moment_without_zone(given_moments)) == [EPOCH + timedelta(microseconds=1_500)]


def test_days() -> None:
    days = pa.array([0, -1, None, 2_932_896], pa.int32())
    expected = [date(1970, 1, 1), date(1969, 12, 31), None, date(9999, 12, 31)]
    assert values(date_of_days(days)) == expected
    assert values(date_of_days(days.cast(pa.date32()))) == expected
    assert values(date_of_days(numbers(2**31, -(2**31) - 1, 1))) == [
        "broken",
        "broken",
        date(1970, 1, 2),
    ]


@given(st.lists(st.none() | MOMENTS), st.integers(-18 * 60, 18 * 60))
def test_texts_with_a_zone(moments: list[datetime | None], minutes: int) -> None:
    zone = timezone(timedelta(minutes=minutes))
    zoned = [each and each.replace(tzinfo=zone) for each in moments]
    texts = pa.array([each and each.isoformat() for each in zoned], pa.string())
    assert values(moment_of_text(texts)) == zoned
    local = [each and each.isoformat() + "Z" for each in moments]
    assert values(local_moment_of_text(pa.array(local, pa.string()))) == moments


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("2026-03-01T10:00Z", 1_772_359_200_000_000),
        ("2026-03-01T10:00:00.123456000Z", 1_772_359_200_123_456),
        ("+10000-01-01T00:00:00Z", 253_402_300_800_000_000),
        ("0000-12-31T00:00:00Z", -62_135_683_200_000_000),
        ("-0001-02-28T00:00:00Z", -62_193_744_000_000_000),
        ("+294247-01-10T04:00:54.775807Z", 2**63 - 1),
        ("+294247-01-10T04:00:54.775808Z", None),
        ("2026-03-01T10:00:00.1234567Z", None),
        ("2026-03-01T10:00:00", None),
        ("2026-02-29T10:00:00Z", None),
        ("2026-02-01T24:00:00Z", None),
        ("2026-02-01T00:60:00Z", None),
        ("1772359200000000", None),
        ("infinity", None),
        ("", None),
    ],
)
def test_unusual_texts(text: str, micros: int | None) -> None:
    converted = moment_of_text(pa.array([text, None]))
    assert converted.values.cast(pa.int64()).to_pylist() == [micros, None]
    assert converted.is_broken.tolist() == [micros is None, False]


def test_dates_as_texts() -> None:
    texts = pa.array(["2026-02-28", "2026-02-28Z", "2026-02-29Z", None, "20000", "+12026-01-01Z"])
    converted = date_of_text(texts)
    assert converted.is_broken.tolist() == [False, False, True, False, True, False]
    assert converted.values[:2].to_pylist() == [date(2026, 2, 28)] * 2
    assert converted.values[5].cast(pa.int32()).as_py() == 3_672_879


def test_a_zone_is_at_most_18_hours_from_utc() -> None:
    ends = pa.array(["2026-01-02T00:00:00+18:00", "2026-01-02T00:00:00-18:00"])
    assert moment_of_text(ends).is_broken.tolist() == [False, False]
    beyond = ["+18:01", "-18:00:01", "+25:00", "+01:60", "-01:00:60"]
    texts = pa.array([f"2026-01-02T00:00:00{zone}" for zone in beyond])
    assert moment_of_text(texts).is_broken.all()
