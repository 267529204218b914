"""Decimals of Connect and Debezium, against Python's own."""

from __future__ import annotations

from decimal import Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.connect.decimals import (
    decimal_of_bytes,
    decimal_of_parts,
    text_of_bytes,
    text_of_decimal,
    text_of_parts,
)
from kafka_formats.connect.times import Converted

EXACT = Context(prec=200)
PARTS = pa.struct([("scale", pa.int32()), ("value", pa.binary())])
NUMBERS = st.integers(-(10**20), 10**20) | st.integers(-(2**63), 2**63 - 1) | st.integers(-999, 999)


def unscaled(number: int) -> bytes:
    """As Java's `BigInteger.toByteArray`."""
    return number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


def pairs(converted: Converted) -> list[tuple[object, bool]]:
    return list(zip(converted.values.to_pylist(), converted.is_broken.tolist(), strict=True))


def fits(value: Decimal, to: pa.Decimal128Type) -> bool:
    whole = value.scaleb(to.scale, EXACT)
    return whole == whole.to_integral_value() and abs(whole) < 10**to.precision


@given(
    st.lists(st.none() | NUMBERS),
    st.integers(0, 12),
    st.integers(1, 38).flatmap(lambda digits: st.tuples(st.just(digits), st.integers(0, digits))),
)
def test_bytes_are_decimals_or_broken(
    numbers: list[int | None], scale: int, digits: tuple[int, int]
) -> None:
    to = pa.decimal128(*digits)
    given_bytes = pa.array(
        [None if each is None else unscaled(each) for each in numbers], pa.binary()
    )
    values = [None if each is None else Decimal(each).scaleb(-scale, EXACT) for each in numbers]
    expected = [
        (None, False) if each is None else ((each, False) if fits(each, to) else (None, True))
        for each in values
    ]
    converted = decimal_of_bytes(scale, to)(given_bytes)
    converted.values.validate(full=True)
    assert pairs(converted) == expected
    same_scale = decimal_of_bytes(to.scale, to)(given_bytes)
    assert same_scale.is_broken.tolist() == [
        each is not None and abs(each) >= 10**to.precision for each in numbers
    ]
    parts = pa.array(
        [each and {"scale": scale, "value": each} for each in given_bytes.to_pylist()], PARTS
    )
    assert pairs(decimal_of_parts(to)(parts)) == expected


@given(st.lists(st.none() | NUMBERS), st.integers(-30, 30))
def test_texts_have_all_digits(numbers: list[int | None], scale: int) -> None:
    given_bytes = pa.array(
        [None if each is None else unscaled(each) for each in numbers], pa.binary()
    )
    converted = text_of_bytes(scale)(given_bytes)
    assert not converted.is_broken.any()
    for text, number in zip(converted.values.to_pylist(), numbers, strict=True):
        assert (text is None) == (number is None)
        if text is not None and number is not None:
            assert Decimal(text) == Decimal(number).scaleb(-scale, EXACT)
            assert "E" not in text


def test_the_extremes_of_64_bits() -> None:
    number = pa.array([unscaled(-(2**63)), unscaled(2**63 - 1), b"\xff" * 8, b"\x00" * 8])
    assert decimal_of_bytes(0, pa.decimal128(18, 0))(number).is_broken.tolist() == [
        True,
        True,
        False,
        False,
    ]
    wide = decimal_of_bytes(0, pa.decimal128(19, 0))(number)
    assert wide.values.to_pylist() == [-(2**63), 2**63 - 1, -1, 0]


@pytest.mark.parametrize("precision", range(1, 39))
def test_the_ends_of_each_type(precision: int) -> None:
    limit = 10**precision
    numbers = [limit - 1, limit, 1 - limit, -limit, limit + 1, None]
    to = pa.decimal128(precision, precision // 2)
    given_bytes = pa.array([each if each is None else unscaled(each) for each in numbers])
    parts = [each and {"scale": to.scale, "value": each} for each in given_bytes.to_pylist()]
    for converted in (
        decimal_of_bytes(to.scale, to)(given_bytes),
        decimal_of_parts(to)(pa.array(parts, PARTS)),
    ):
        largest = Decimal(limit - 1).scaleb(-to.scale, EXACT)
        assert converted.values.to_pylist() == [
            largest,
            None,
            largest.copy_negate(),
            None,
            None,
            None,
        ]
        assert converted.is_broken.tolist() == [False, True, False, True, True, False]


@pytest.mark.parametrize("bad", [b"", b"\x01" * 4_154])
def test_bytes_that_are_no_number(bad: bytes) -> None:
    given_bytes = pa.array([bad, b"\x05", None])
    expected = [(None, True), (Decimal("0.5"), False), (None, False)]
    assert pairs(decimal_of_bytes(1, pa.decimal128(3, 1))(given_bytes)) == expected
    assert pairs(text_of_bytes(1)(given_bytes))[:2] == [(None, True), ("0.5", False)]


def test_a_hostile_scale_makes_no_long_text() -> None:
    parts = pa.array([{"scale": each, "value": b"\x01"} for each in (2**31 - 1, -20_000, 3)], PARTS)
    assert pairs(text_of_parts(parts)) == [(None, True), (None, True), ("0.001", False)]
    lacking = pa.array([{"scale": None, "value": b"\x01"}, {"scale": 1, "value": None}], PARTS)
    assert text_of_parts(lacking).is_broken.tolist() == [True, True]


def test_decimals_as_texts() -> None:
    given_decimals = pa.array([Decimal("0.0000001"), None, Decimal(-5)], pa.decimal128(38, 7))
    assert pairs(text_of_decimal(given_decimals)) == [
        ("0.0000001", False),
        (None, False),
        ("-5.0000000", False),
    ]
