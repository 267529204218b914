"""Documents without schemas: units are options, and nothing is guessed or rounded."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.errors import MalformedRecordError
from tests.formats.debezium.converters import TOLD
from tests.formats.debezium.events import (
    CONNECT,
    JSON,
    Record,
    connect_envelope,
    dumped,
    event,
    named,
    read,
    short,
    wrapped,
)


@pytest.mark.parametrize(
    ("mode", "value", "expected"),
    [
        ("connect", 1_500, datetime(1970, 1, 1, 0, 0, 1, 500_000)),
        ("microseconds", 1_500, datetime(1970, 1, 1, 0, 0, 0, 1_500)),
        ("nanoseconds", 1_500_000, datetime(1970, 1, 1, 0, 0, 0, 1_500)),
        ("isostring", "1970-01-01T00:00:01Z", datetime(1970, 1, 1, 0, 0, 1)),
    ],
)
def test_the_unit_of_moments_is_an_option(mode: str, value: Any, expected: datetime) -> None:
    options = {**JSON, "value.schema": "at timestamp_ntz", "debezium.time.precision.mode": mode}
    given = [(None, dumped(event("c", after={"at": value})))]
    assert short(read(options, given), "at") == [(expected,)]


def test_dates_may_be_texts() -> None:
    options = {
        **JSON,
        "value.schema": "day date",
        "debezium.time.precision.mode": "isostring",
    }
    given = [(None, dumped(event("c", after={"day": "2026-01-02Z"})))]
    assert short(read(options, given), "day") == [(date(2026, 1, 2),)]


def test_the_unit_of_moments_is_not_guessed() -> None:
    options = {**JSON, "value.schema": "at timestamp_ntz"}
    given = [(None, dumped(event("c", after={"at": 1_500})))]
    with pytest.raises(MalformedRecordError) as raised:
        read(options, given)
    assert (
        "at offset 0: the value: field at: it is wanted as timestamp_ntz, and no schema names the "
        "unit of its numbers: set debezium.time.precision.mode to connect,"
    ) in str(raised.value)
    without = [(dumped({"at": None}), dumped(event("c", after={"at": None})))]
    assert short(read(options, without), "at") == [(None,)]


@pytest.mark.parametrize(
    ("ddl", "value", "expected"),
    [
        ("date", 20_000, date(2024, 10, 4)),
        ("decimal(4, 2)", "fQ==", Decimal("1.25")),
        ("binary", "fQ==", b"\x7d"),
        ("timestamp", "2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, 0, timezone.utc)),
        ("struct<scale: int, value: binary>", {"scale": 1, "value": "fQ=="}, None),
        ("array<date>", [1], [date(1970, 1, 2)]),
        ("map<string, timestamp>", {"a": "1970-01-01T00:00:00Z"}, None),
    ],
)
def test_types_without_schemas(ddl: str, value: Any, expected: Any) -> None:
    options = {**JSON, "value.schema": f"x {ddl}"}
    (row,) = read(options, [(None, dumped(event("c", after={"x": value})))])
    if expected is not None:
        assert row["x"] == expected
    elif isinstance(row["x"], dict):
        assert row["x"] == {"scale": 1, "value": b"\x7d"}
    else:
        assert row["x"] == [("a", datetime(1970, 1, 1, tzinfo=timezone.utc))]


@pytest.mark.parametrize(
    ("ddl", "value"),
    [
        # Each would be read as something else by guessing.
        ("decimal(10, 2)", 1234),
        ("decimal(10, 2)", 12.5),
        ("decimal(2, 2)", "AMg="),
        ("timestamp", 1_772_359_200),
        ("timestamp", "2026-01-02T03:04:05"),
        ("date", "2026-01-02"),
        ("bigint", "1"),
    ],
)
def test_nothing_is_guessed_without_schemas(ddl: str, value: Any) -> None:
    options = {**JSON, "value.schema": f"x {ddl}"}
    for count in (1, 100):
        good = (None, dumped(event("c", after={"x": None})))
        given = [good, (None, dumped(event("c", after={"x": value}))), *[good] * count]
        with pytest.raises(
            MalformedRecordError, match=r"at offset 1: the value: field (after\.)?x"
        ):
            read(options, given)


def test_decimals_may_be_numbers() -> None:
    options = {**JSON, "value.schema": "x decimal(10, 2)", "debezium.decimal.format": "NUMERIC"}
    given = [(None, dumped(event("c", after={"x": 12.5})))]
    assert short(read(options, given), "x") == [(Decimal("12.50"),)]
    schema = connect_envelope({"x": TOLD["price"][0]})
    told = [(None, wrapped(schema, event("c", after={"x": 12.5})))]
    assert short(read(options, told), "x") == [(Decimal("12.50"),)]
    with pytest.raises(MalformedRecordError, match="a decimal with the scale 2, which cannot be"):
        read({**options, "value.schema": "x decimal(10, 1)"}, told)


NUMERIC = {**JSON, "debezium.decimal.format": "NUMERIC"}
LONG = "12345678901234567890.123456789"


def event_of(number: str, schema: Mapping[str, Any] | None = None) -> Record:
    """An event with a number as it is, which Python would make a double."""
    payload = event("c", after={"x": "NUMBER"})
    text = dumped(payload) if schema is None else wrapped(schema, payload)
    return None, text.replace(b'"NUMBER"', number.encode())


@pytest.mark.parametrize(
    ("ddl", "number", "expected"),
    [
        ("decimal(38, 9)", LONG, Decimal(LONG)),
        ("decimal(10, 2)", "1.250", Decimal("1.25")),
        ("array<decimal(10, 2)>", "[1.5]", [Decimal("1.50")]),
        ("string", LONG, LONG),
        ("string", f'{{"a": [{LONG}]}}', f'{{"a":[{LONG}]}}'),
        ("double", "9007199254740992", 2.0**53),
        ("double", "1e300", 1e300),
        ("float", "16777216", 2.0**24),
        ("array<double>", '["Infinity", 0.1]', [math.inf, 0.1]),
    ],
)
def test_numbers_keep_all_of_their_digits(ddl: str, number: str, expected: Any) -> None:
    options = {**NUMERIC, "value.schema": f"x {ddl}"}
    for count in (1, 100):
        rows = read(options, [event_of(number)] * count)
        assert short(rows, "x") == [(expected,)] * count


@pytest.mark.parametrize(
    ("ddl", "number"),
    [
        ("decimal(10, 2)", "1.255"),
        ("decimal(10, 2)", "1e-3"),
        ("decimal(10, 2)", '"1.255"'),
        ("array<decimal(10, 2)>", "[1, 1.255]"),
        ("map<string, decimal(10, 2)>", '{"a": 0.001}'),
        ("double", "1e400"),
        ("double", "-1e400"),
        ("double", "9007199254740993"),
        ("array<double>", "[9007199254740993]"),
        ("float", "1e300"),
        ("float", "16777217"),
        ("double", "9" * 5_000),
    ],
)
def test_no_number_is_rounded(ddl: str, number: str) -> None:
    options = {**NUMERIC, "value.schema": f"x {ddl}"}
    good = event_of("null")
    for count in (1, 100):
        with pytest.raises(
            MalformedRecordError, match=r"at offset 1: .* field after\.x.*: the num"
        ):
            read(options, [good, event_of(number), *[good] * count])


@pytest.mark.parametrize(
    ("number", "text"), [(LONG, LONG), ("0E-9", "0.000000000"), ("1E+2", "100"), ("0.10", "0.10")]
)
def test_a_decimal_without_a_precision_is_a_text_with_its_digits(number: str, text: str) -> None:
    schema = connect_envelope({"x": named("bytes", f"{CONNECT}Decimal", scale="9")})
    record = event_of(number, schema)
    for options in (NUMERIC, {**NUMERIC, "value.schema": json.dumps(schema)}):
        types = {"x": pa.string()}
        assert short(read(options, [record], types=types), "x") == [(text,)]
