"""Decimals of Kafka Connect and Debezium -> Arrow's decimals and texts.

They are unscaled numbers in bytes, two's complement with the highest byte first. The scale is a
parameter of the type (`Decimal`) or stands beside each number (`VariableScaleDecimal`). A value
that its type cannot have is marked, never rounded.

Source: `org.apache.kafka.connect.data.Decimal`, `io.debezium.data.VariableScaleDecimal`.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_formats.arrow.arrays import bounds_of, data_of, fields_of, is_valid
from kafka_formats.envelope.connect_times import Convert, Converted
from kafka_protocol.columnar.arrow_memory import buffer_of

# The longest number and the largest scale that are read: a text has as many digits.
_MAX_BYTES: Final = 4_096
_MAX_SCALE: Final = 10_000
_EXACT: Final = Context(prec=2 * _MAX_SCALE + 3 * _MAX_BYTES)
# Numbers of so many bytes fit 64 bits, and are read at once.
_SHORT: Final = 8


def decimal_of_bytes(scale: int, to: pa.Decimal128Type) -> Convert:
    """Unscaled bytes with a scale -> decimals of a type."""

    def convert(unscaled: pa.BinaryArray) -> Converted:
        if scale == to.scale and (converted := _all_short(unscaled, to)) is not None:
            return converted
        return _of_numbers(((number, scale) for number in _numbers(unscaled)), unscaled, to)

    return convert


def text_of_bytes(scale: int) -> Convert:
    """Unscaled bytes with a scale -> texts with all of their digits."""

    def convert(unscaled: pa.BinaryArray) -> Converted:
        return _texts(((number, scale) for number in _numbers(unscaled)), unscaled)

    return convert


def decimal_of_parts(to: pa.Decimal128Type) -> Convert:
    """Structs of scale and value -> decimals of a type."""
    return lambda parts: _of_numbers(_scaled(parts), parts, to)


def text_of_parts(parts: pa.StructArray) -> Converted:
    """Structs of scale and value -> texts with all of their digits."""
    return _texts(_scaled(parts), parts)


def text_of_decimal(decimals: pa.Array) -> Converted:
    """Decimals -> texts with all of their digits."""
    texts = [None if each is None else f"{each:f}" for each in decimals.to_pylist()]
    return Converted(pa.array(texts, pa.string()), np.zeros(len(decimals), dtype=np.bool_))


def _all_short(unscaled: pa.BinaryArray, to: pa.Decimal128Type) -> Converted | None:
    """The decimals, if all numbers are short: most are."""
    bounds = bounds_of(unscaled)
    lengths = np.diff(bounds)
    valid = is_valid(unscaled)
    if not ((lengths > 0) & (lengths <= _SHORT))[valid].all():
        return None
    numbers = _short_numbers(data_of(unscaled), bounds[:-1], np.where(valid, lengths, 0))
    # All of 64 bits have 19 digits at most.
    limit = 10**to.precision if to.precision <= 18 else None
    is_broken = np.zeros(len(numbers), dtype=np.bool_)
    if limit is not None:
        is_broken = valid & ((numbers >= limit) | (numbers <= -limit))
    halves = np.stack([numbers, numbers >> 63], axis=1)
    validity = pa.array(valid & ~is_broken).buffers()[1]
    values = pa.Array.from_buffers(to, len(numbers), [validity, buffer_of(halves)])
    return Converted(values, is_broken)


def _short_numbers(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    numbers = np.zeros(len(starts), dtype=np.int64)
    for place in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > place)
        byte = data[starts[rows] + place].astype(np.int64)
        # The first byte has the sign.
        signed = byte - ((byte & 0x80) << 1) if place == 0 else byte
        numbers[rows] = (numbers[rows] << 8) + signed
    return numbers


def _numbers(unscaled: pa.BinaryArray) -> Iterator[int | None]:
    """Each number; None for null, and for bytes that are not a number."""
    for value in unscaled.to_pylist():
        is_number = value is not None and 0 < len(value) <= _MAX_BYTES
        yield int.from_bytes(value, "big", signed=True) if is_number else None


def _scaled(parts: pa.StructArray) -> Iterator[tuple[int | None, int]]:
    columns = fields_of(parts)
    scales = columns["scale"].to_pylist()
    for number, scale in zip(_numbers(columns["value"]), scales, strict=True):
        yield (None, 0) if scale is None else (number, scale)


def _exact(number: int | None, scale: int) -> Decimal | None:
    if number is None or abs(scale) > _MAX_SCALE:
        return None
    return Decimal(number).scaleb(-scale, _EXACT)


def _texts(numbers: Iterator[tuple[int | None, int]], given: pa.Array) -> Converted:
    values = [_exact(number, scale) for number, scale in numbers]
    texts = pa.array([None if each is None else f"{each:f}" for each in values], pa.string())
    return Converted(texts, _broken(values, given))


def _of_numbers(
    numbers: Iterator[tuple[int | None, int]], given: pa.Array, to: pa.Decimal128Type
) -> Converted:
    values = [_fitting(_exact(number, scale), to) for number, scale in numbers]
    return Converted(pa.array(values, to), _broken(values, given))


def _fitting(value: Decimal | None, to: pa.Decimal128Type) -> Decimal | None:
    """The value, if the type has all of its digits."""
    if value is None or (value and value.adjusted() + to.scale >= to.precision):
        return None
    exact = value.quantize(Decimal(1).scaleb(-to.scale), context=_EXACT)
    return exact if exact == value else None


def _broken(values: list[Decimal | None], given: pa.Array) -> npt.NDArray[np.bool_]:
    return np.array([each is None for each in values], dtype=np.bool_) & is_valid(given)
