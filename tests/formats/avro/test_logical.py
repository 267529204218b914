"""Values of one logical type that are read as another: as a time or a number they are equal."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.avro.decode import decode
from kafka_formats.avro.decode_one import read_payload
from kafka_formats.errors import PayloadError, SchemaError
from tests.formats.avro.checks import check, plan_of
from tests.formats.avro.payloads import Json, varint, with_length
from tests.formats.times import as_numbers

SECOND = 1_000_000
DAY = 86_400 * SECOND


def of(name: str) -> Json:
    return {"type": "int" if name in {"date", "time-millis"} else "long", "logicalType": name}


def decimal(precision: int, scale: int, size: int | None = None) -> Json:
    fixed = {"type": "bytes"} if size is None else {"type": "fixed", "name": "F", "size": size}
    return fixed | {"logicalType": "decimal", "precision": precision, "scale": scale}


def unscaled(number: int, size: int | None = None) -> bytes:
    raw = number.to_bytes(size or number.bit_length() // 8 + 1, "big", signed=True)
    return raw if size else with_length(raw)


def read(writer: Json, reader: Json, row: bytes) -> Any:
    plan = plan_of(writer, reader)
    check(plan, [row, row])
    (value,) = as_numbers(decode(pa.array([row], pa.binary()), plan).values)
    return value


TIMES = [
    ("timestamp-millis", "timestamp-micros", 1_500, 1_500_000),
    ("timestamp-micros", "timestamp-millis", 1_500_001, 1_500_001),
    ("timestamp-nanos", "timestamp-micros", -2_000, -2),
    ("timestamp-nanos", "timestamp-millis", 2_000, 2),
    ("timestamp-millis", "timestamp-nanos", -3, -3_000_000),
    ("timestamp-micros", "timestamp-nanos", 3, 3_000),
    ("local-timestamp-millis", "local-timestamp-micros", 7, 7_000),
    ("local-timestamp-nanos", "local-timestamp-micros", 7_000, 7),
    ("timestamp-millis", "local-timestamp-micros", 7, 7_000),
    ("local-timestamp-millis", "timestamp-millis", 7, 7_000),
    ("time-millis", "time-micros", 86_399_999, 86_399_999_000),
    ("date", "timestamp-millis", 20_000, 20_000 * DAY),
    ("date", "timestamp-micros", -1, -DAY),
    ("date", "local-timestamp-micros", 20_000, 20_000 * DAY),
    ("date", "timestamp-nanos", 1, DAY * 1_000),
    ("timestamp-millis", "timestamp-millis", -(2**63 // 1_000), -(2**63 // 1_000) * 1_000),
]


@pytest.mark.no_cover
@pytest.mark.parametrize(("written", "as_", "number", "value"), TIMES)
@pytest.mark.parametrize("around", ["alone", "union", "array", "map", "record"])
def test_a_time_keeps_its_moment(
    written: str, as_: str, number: int, value: int, around: str
) -> None:
    row = varint(number)
    nested: dict[str, tuple[Any, bytes, Any]] = {
        "alone": (lambda kind: kind, row, value),
        "union": (lambda kind: ["null", kind], varint(1) + row, value),
        "array": (lambda kind: {"type": "array", "items": kind}, b"\x02" + row + b"\0", [value]),
        "map": (
            lambda kind: {"type": "map", "values": ["null", kind]},
            b"\x02" + with_length(b"k") + varint(1) + row + b"\0",
            [("k", value)],
        ),
        "record": (
            lambda kind: {"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]},
            row,
            {"a": value},
        ),
    }
    make, payload, wanted = nested[around]
    assert read(make(of(written)), make(of(as_)), payload) == wanted


@pytest.mark.parametrize(
    ("written", "as_", "number", "reason"),
    [
        ("timestamp-nanos", "timestamp-micros", 1_001, "the time 1001 is not a multiple"),
        ("timestamp-nanos", "local-timestamp-millis", -1, "the time -1 is not a multiple"),
        ("timestamp-millis", "timestamp-micros", 2**62, "does not fit 64 bits"),
        ("timestamp-millis", "timestamp-nanos", -(10**13), "does not fit 64 bits"),
        ("date", "timestamp-micros", 2**31 - 1, "does not fit 64 bits"),
    ],
)
def test_a_time_that_loses_digits_is_broken(
    written: str, as_: str, number: int, reason: str
) -> None:
    plan = plan_of(of(written), of(as_))
    with pytest.raises(PayloadError, match=reason):
        read_payload(plan, varint(number))
    check(plan, [varint(number), varint(0), varint(number)])


DECIMALS = [
    (decimal(10, 2), decimal(12, 4), 1234, "12.3400"),
    (decimal(12, 4), decimal(10, 2), 123400, "12.34"),
    (decimal(10, 2), decimal(10, 0), -1200, "-12"),
    (decimal(38, 0), decimal(38, 0), 10**38 - 1, str(10**38 - 1)),
    (decimal(18, 0), decimal(38, 20), 10**18 - 1, "999999999999999999." + "0" * 20),
    (decimal(38, 38), decimal(19, 19), 10**37, "0.1000000000000000000"),
    (decimal(38, 37), decimal(1, 0), -9 * 10**37, "-9"),
    (decimal(64, 30), decimal(38, 0), 10**63, str(10**33)),
    (decimal(64, 2), decimal(38, 2), 1234, "12.34"),
]


@pytest.mark.parametrize(("written", "as_", "number", "value"), DECIMALS)
@pytest.mark.parametrize("size", [None, 32])
def test_a_decimal_keeps_its_value(
    written: Json, as_: Json, number: int, value: str, size: int | None
) -> None:
    writer, reader = (decimal(each["precision"], each["scale"], size) for each in (written, as_))
    assert str(read(writer, reader, unscaled(number, size))) == value


@pytest.mark.parametrize(
    ("written", "as_", "number"),
    [
        (decimal(12, 4), decimal(10, 2), 123401),
        (decimal(12, 4), decimal(10, 2), -1),
        (decimal(10, 2), decimal(11, 4), 10**10 - 1),
        (decimal(10, 0), decimal(9, 0), 10**9),
        (decimal(38, 38), decimal(19, 19), 1),
        (decimal(38, 0), decimal(38, 20), 10**37),
        (decimal(64, 30), decimal(38, 0), 10**63 + 1),
        (decimal(64, 2), decimal(38, 2), 10**38),
    ],
)
def test_a_decimal_that_loses_digits_is_broken(written: Json, as_: Json, number: int) -> None:
    plan = plan_of(written, as_)
    with pytest.raises(PayloadError, match="digits"):
        read_payload(plan, unscaled(number))
    check(plan, [unscaled(number), unscaled(0), unscaled(number)])


@pytest.mark.parametrize(
    ("written", "as_", "reason"),
    [
        (of("time-micros"), of("timestamp-micros"), "time-micros was written, timestamp-micros is"),
        (of("timestamp-micros"), of("time-micros"), "timestamp-micros was written"),
        (of("time-millis"), of("date"), "time-millis was written, date is expected"),
        (of("time-millis"), of("timestamp-millis"), "time-millis was written"),
        (of("date"), of("time-micros"), "date was written"),
        (decimal(4, 2), {"type": "bytes", "logicalType": "big-decimal"}, "decimal was written"),
        ({"type": "bytes", "logicalType": "big-decimal"}, decimal(4, 2), "big-decimal was written"),
        (decimal(4, 2), "string", "decimal was written, string is expected"),
        ("string", decimal(4, 2), "string was written, decimal is expected"),
        (
            decimal(9, 2, 12),
            {"type": "fixed", "name": "F", "size": 12, "logicalType": "duration"},
            "decimal was written, duration is expected",
        ),
    ],
)
def test_another_meaning_is_refused(written: Json, as_: Json, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        plan_of(written, as_)


@pytest.mark.parametrize(
    ("written", "as_", "row", "value"),
    [
        ("long", of("timestamp-millis"), varint(5), 5_000),
        (of("timestamp-millis"), "long", varint(5), 5),
        (of("date"), "double", varint(5), 5.0),
        ("bytes", decimal(4, 2), unscaled(1234), Decimal("12.34")),
        (decimal(4, 2), "bytes", unscaled(1234), b"\x04\xd2"),
        ({"type": "string", "logicalType": "uuid"}, "bytes", with_length(b"a"), b"a"),
    ],
)
def test_a_type_without_a_logical_one_is_read_by_the_other(
    written: Json, as_: Json, row: bytes, value: Any
) -> None:
    assert read(written, as_, row) == value


@pytest.mark.parametrize(
    ("number", "scale", "text"),
    [
        (0, 2, "0.00"),
        (-1, 40, "-0." + "0" * 39 + "1"),
        (10**63, 0, "1" + "0" * 63),
        (-(10**63), 2, "-1" + "0" * 61 + ".00"),
        # Connect does not keep to its precision of 64.
        (10**99, 0, "1" + "0" * 99),
    ],
)
@pytest.mark.parametrize("size", [None, 48])
def test_a_decimal_wider_than_arrows_is_its_text(
    number: int, scale: int, text: str, size: int | None
) -> None:
    assert read(decimal(64, scale, size), decimal(64, scale, size), unscaled(number, size)) == text


def test_the_text_of_a_decimal_has_the_readers_scale() -> None:
    assert read(decimal(9, 2), decimal(64, 4), unscaled(1234)) == "12.3400"
    plan = plan_of(decimal(64, 4), decimal(64, 2))
    for row in (unscaled(12345), varint(0), with_length(bytes(5_000))):
        with pytest.raises(PayloadError, match="is not a number of up to 4153 bytes with 2 digits"):
            read_payload(plan, row)
        check(plan, [row, unscaled(0)])
