"""The arithmetic of decimals against Python's, and against the rules of Java's `BigDecimal`."""

from __future__ import annotations

import time
from decimal import Context, Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.arrow.decimals import (
    ARROW_DIGITS,
    MAX_BYTES,
    MAX_DIGITS,
    ONE,
    Scaled,
    array_of_numbers,
    bytes_of,
    cast_decimals,
    decimal_of,
    digits_of,
    number_of,
    ratio_of_scales,
    rescaled,
    scaled_of,
    size_of,
    text_of,
    with_scale,
)

NUMBERS = (
    st.integers()
    | st.integers(-(10**60), 10**60)
    | st.builds(lambda power, near: 2**power + near, st.integers(0, 200), st.integers(-2, 2))
    | st.builds(lambda power, near: -(10**power) + near, st.integers(0, 80), st.integers(-2, 2))
)
SCALES = st.integers(-60, 60)
LARGEST = 10**MAX_DIGITS - 1


def exactly(number: int, scale: int) -> Fraction:
    return Fraction(number) * Fraction(10) ** -scale


@given(NUMBERS)
def test_bytes_there_and_back(number: int) -> None:
    raw = bytes_of(number)
    assert number_of(raw) == number
    assert len(raw) == size_of(number)
    # A byte less does not hold it; one byte is the least.
    bits = 8 * (len(raw) - 1)
    assert bits == 0 or not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1)
    assert number_of((b"\xff" if number < 0 else b"\x00") * 3 + raw) == number


@given(NUMBERS, SCALES, SCALES, st.integers(1, 80))
def test_another_scale_is_the_same_value_or_none(
    number: int, scale: int, to: int, precision: int
) -> None:
    wanted = exactly(number, scale) * Fraction(10) ** to
    fits = wanted.denominator == 1 and abs(wanted) < 10**precision
    assert with_scale(Scaled(number, scale), to, precision) == (int(wanted) if fits else None)
    ratio = ratio_of_scales(scale, to)
    assert rescaled(number, ratio, None) == (int(wanted) if wanted.denominator == 1 else None)
    assert rescaled(number, ratio, 10**precision) == (int(wanted) if fits else None)


@given(NUMBERS, SCALES)
def test_texts_and_decimals_have_the_value(number: int, scale: int) -> None:
    text = text_of(number, scale)
    assert text is not None
    assert Fraction(text) == exactly(number, scale) == Fraction(decimal_of(number, scale))
    # All digits after the point are there, and neither an exponent nor a needless zero before it.
    whole, _, after = text.lstrip("-").partition(".")
    assert len(after) == max(scale, 0)
    assert whole.isdigit()
    assert whole == "0" or not whole.startswith("0")
    assert text.startswith("-") == (number < 0)


@given(NUMBERS, SCALES)
def test_a_text_has_the_parts_that_made_it(number: int, scale: int) -> None:
    text = text_of(number, scale)
    assert text is not None
    parts = scaled_of(text)
    assert parts == scaled_of(Decimal(text))
    assert parts == (Scaled(number, scale) if scale >= 0 else Scaled(int(text), 0))
    assert scaled_of(f"{number}E{-scale}") == Scaled(number, scale)


@given(NUMBERS)
def test_digits(number: int) -> None:
    assert digits_of(number) == len(str(abs(number)))


@given(st.lists(st.none() | st.integers(1 - 10**38, 10**38 - 1)), st.integers(0, ARROW_DIGITS))
def test_arrays(numbers: list[int | None], scale: int) -> None:
    array = array_of_numbers(numbers, pa.decimal128(ARROW_DIGITS, scale))
    array.validate(full=True)
    exact = Context(prec=100)
    wanted = [None if each is None else Decimal(each).scaleb(-scale, exact) for each in numbers]
    assert array.to_pylist() == wanted


@st.composite
def decimal_types(draw: st.DrawFn) -> pa.Decimal128Type:
    precision = draw(st.integers(1, ARROW_DIGITS))
    return pa.decimal128(precision, draw(st.integers(0, precision)))


@given(decimal_types(), decimal_types(), st.data())
def test_decimals_of_another_type_have_the_same_values_or_none(
    known: pa.Decimal128Type, to: pa.Decimal128Type, data: st.DataObject
) -> None:
    limit = 10**known.precision - 1
    numbers = st.integers(-limit, limit) | st.just(0) | st.just(limit)
    given_numbers = data.draw(st.lists(numbers, max_size=3))
    given_values = array_of_numbers(given_numbers, known)
    wanted = [
        with_scale(Scaled(each, known.scale), to.scale, to.precision) for each in given_numbers
    ]
    found = cast_decimals(given_values, to)
    if None in wanted:
        assert found is None
    else:
        assert found is not None
        assert found.equals(array_of_numbers(wanted, to))


def test_a_decimal_that_128_bits_do_not_hold_with_more_digits_after_the_point() -> None:
    value = Decimal("38267412501649937627561326922277530549")
    assert cast_decimals(pa.array([value], pa.decimal128(38)), pa.decimal128(38, 1)) is None


@pytest.mark.parametrize(
    ("number", "scale", "text"),
    # `BigDecimal.toPlainString`.
    [(0, 2, "0.00"), (0, -2, "0"), (12, -2, "1200"), (-5, 3, "-0.005"), (-123, 0, "-123")],
)
def test_texts_are_those_of_java(number: int, scale: int, text: str) -> None:
    assert text_of(number, scale) == text


@pytest.mark.parametrize("raw", [b"", b"\x01" * (MAX_BYTES + 1)])
def test_bytes_that_are_no_number(raw: bytes) -> None:
    assert number_of(raw) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "twelve",
        "NaN",
        "sNaN",
        "Infinity",
        "-inf",
        "1E10001",
        "1E-10001",
        "1E999999999",
        "1_0",
        "1.0_1",
    ],
)
def test_texts_that_are_no_decimal(text: str) -> None:
    assert scaled_of(text) is None


def test_the_largest_number() -> None:
    assert len(bytes_of(LARGEST)) <= MAX_BYTES
    text = text_of(LARGEST, MAX_DIGITS)
    assert text == "0." + "9" * MAX_DIGITS
    assert scaled_of(text) == Scaled(LARGEST, MAX_DIGITS)
    assert scaled_of("9" * (MAX_DIGITS + 1)) is None
    assert digits_of(LARGEST) == MAX_DIGITS
    # As text of the largest scale, with twice as many digits.
    rescaled_number = rescaled(LARGEST, ratio_of_scales(0, MAX_DIGITS), None)
    assert rescaled_number is not None
    text = text_of(rescaled_number, MAX_DIGITS)
    assert text == "9" * MAX_DIGITS + "." + "0" * MAX_DIGITS


@pytest.mark.parametrize("scale", [2**31 - 1, -(2**31), MAX_DIGITS + 1, -MAX_DIGITS - 1])
def test_hostile_scales_end_at_once(scale: int) -> None:
    begin = time.process_time()
    assert text_of(1, scale) is None
    assert with_scale(Scaled(LARGEST, scale), 0, ARROW_DIGITS) is None
    # Zero is zero with any scale.
    assert with_scale(Scaled(0, scale), 2, ARROW_DIGITS) == 0
    assert time.process_time() - begin < 1


def test_a_ratio_of_equal_scales_is_one() -> None:
    assert ratio_of_scales(3, 3) == ONE
