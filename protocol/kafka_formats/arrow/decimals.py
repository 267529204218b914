"""Exact arithmetic of numbers with a scale or a unit, as payloads hold decimals and times.

A decimal is an integer, big-endian and signed in bytes, and the number of its digits after the
point. A value keeps all of its digits, or is None because it does not fit: nothing is rounded here.
How a format writes scales, empty bytes and errors does not belong here.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_formats.arrow.arrays import null_where
from kafka_protocol.columnar.arrays.arrow_memory import buffer_of

# What Spark's and Arrow's decimals hold. Wider ones are text.
ARROW_DIGITS: Final = 38
# The most digits of a number, and the largest scale: hostile ones would take hours.
MAX_DIGITS: Final = 10_000
MAX_BYTES: Final = int(10**MAX_DIGITS).bit_length() // 8 + 1
_ARROW_BYTES: Final = 16
# A number that becomes one of the largest scale has twice as many digits.
_EXACT: Final = decimal.Context(prec=3 * MAX_DIGITS)


class Ratio(NamedTuple):
    """A factor, or a divisor that must leave no rest; the other one is 1."""

    times: int = 1
    per: int = 1


ONE: Final = Ratio()


class Scaled(NamedTuple):
    """A decimal: its digits as a number, and how many of them are after the point."""

    number: int
    scale: int


def ratio_of_scales(scale: int, to: int) -> Ratio:
    """How a number with a scale becomes one with another scale."""
    return Ratio(times=10 ** (to - scale)) if to >= scale else Ratio(per=10 ** (scale - to))


def rescaled(number: int, ratio: Ratio, limit: int | None) -> int | None:
    """The number in another unit; None if it loses digits, or is `limit` or more."""
    # Before the division: its cost grows with the number of digits.
    if limit is not None and abs(number) * ratio.times >= limit * ratio.per:
        return None
    whole, rest = divmod(number * ratio.times, ratio.per)
    return None if rest else whole


def with_scale(value: Scaled, to: int, precision: int) -> int | None:
    """The number of a decimal with the scale `to`; None if it has not, or has too many digits."""
    if not value.number:
        return 0
    if abs(value.scale - to) > MAX_DIGITS:
        return None
    return rescaled(value.number, ratio_of_scales(value.scale, to), 10**precision)


def number_of(raw: bytes) -> int | None:
    """The number in bytes; None if there are none, or too many."""
    return int.from_bytes(raw, "big", signed=True) if 0 < len(raw) <= MAX_BYTES else None


def bytes_of(number: int) -> bytes:
    """As few bytes as hold the number and its sign, as Java's `BigInteger.toByteArray`."""
    return number.to_bytes(size_of(number), "big", signed=True)


def size_of(number: int) -> int:
    """The least bytes that hold the number and its sign."""
    return (number if number >= 0 else ~number).bit_length() // 8 + 1


def digits_of(number: int) -> int:
    """The number of its digits, as Java's `BigDecimal.precision`."""
    return decimal_of(number, 0).adjusted() + 1


def decimal_of(number: int, scale: int) -> decimal.Decimal:
    """Python's decimal. The scale must be `MAX_DIGITS` at most."""
    return decimal.Decimal(number).scaleb(-scale, _EXACT)


def text_of(number: int, scale: int) -> str | None:
    """As Java's `BigDecimal.toPlainString`: all digits, without an exponent; None if too many."""
    return None if abs(scale) > MAX_DIGITS else f"{decimal_of(number, scale):f}"


def scaled_of(value: decimal.Decimal | str) -> Scaled | None:
    """The parts of a decimal, or of the text of one; None if it is not one, or has too many digits.

    The value's scale is kept; it is negative for `1E+2`.
    """
    # Python skips underscores: `1_0` is a typing error elsewhere, and not ten.
    if isinstance(value, str) and "_" in value:
        return None
    try:
        number = decimal.Decimal(value)
    except decimal.InvalidOperation:
        return None
    _, digits, exponent = number.as_tuple()
    # Infinity and NaN have a letter for an exponent.
    if not isinstance(exponent, int) or max(len(digits), abs(exponent)) > MAX_DIGITS:
        return None
    return Scaled(int(number.scaleb(-exponent, _EXACT)), -exponent)


def array_of_numbers(numbers: Sequence[int | None], to: pa.Decimal128Type) -> pa.Array:
    """Decimals of a type, from numbers with its scale that fit it."""
    data = b"".join([(each or 0).to_bytes(_ARROW_BYTES, "little", signed=True) for each in numbers])
    words = buffer_of(np.frombuffer(data, np.int64))
    array = pa.Array.from_buffers(to, len(numbers), [None, words])
    return null_where(np.array([each is None for each in numbers], np.bool_), array)


def array_of_decimals(
    values: Iterable[Scaled | None], to: pa.DataType
) -> pa.Decimal128Array | pa.StringArray:
    """Decimals of a type, or texts with all of their digits; null where a decimal does not fit."""
    if pa.types.is_string(to):
        return pa.array([None if each is None else text_of(*each) for each in values], to)
    fitting = [
        None if each is None else with_scale(each, to.scale, to.precision) for each in values
    ]
    return array_of_numbers(fitting, to)


def cast_decimals(values: pa.Array, to: pa.Decimal128Type) -> pa.Array | None:
    """Decimals with another precision and scale; None if one of them does not fit these."""
    places = to.scale - values.type.scale
    # Arrow's cast multiplies without a look at its 128 bits: `4E37` with one more digit after the
    # point is another number.
    digits = max(to.precision - places, 0)
    if places > 0 and digits < values.type.precision:
        limit = pa.scalar(decimal_of(10**digits, values.type.scale), values.type)
        if pc.any(pc.greater_equal(pc.abs(values), limit)).as_py():
            return None
    try:
        return values.cast(to)
    except pa.ArrowInvalid:
        return None


NOT_A_DECIMAL: Final = f"a value is not a decimal of up to {MAX_DIGITS} digits"


def does_not_fit(precision: int, scale: int) -> str:
    """The end of the sentence about a decimal that a type does not have."""
    return f"does not fit {precision} digits, {scale} of them after the point"
