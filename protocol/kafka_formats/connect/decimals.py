"""Decimals of Kafka Connect and Debezium -> Arrow's decimals and texts.

They are unscaled numbers in bytes, two's complement with the highest byte first. The scale is a
parameter of the type (`Decimal`) or stands beside each number (`VariableScaleDecimal`). A value
that its type cannot have is marked, never rounded.

Source: `org.apache.kafka.connect.data.Decimal`, `io.debezium.data.VariableScaleDecimal`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_formats.arrow.arrays import bounds_of, data_of, fields_of
from kafka_formats.arrow.decimals import (
    Scaled,
    array_of_decimals,
    number_of,
    scaled_of,
)
from kafka_formats.connect.times import Convert, Converted
from kafka_protocol.columnar.arrays.arrow_memory import buffer_of, is_valid

# Numbers of so many bytes fit 64 bits, and are read at once.
_SHORT: Final = 8


def decimal_of_bytes(scale: int, to: pa.Decimal128Type) -> Convert:
    """Unscaled bytes with a scale -> decimals of a type."""

    def convert(unscaled: pa.BinaryArray) -> Converted:
        if scale == to.scale and (converted := _all_short(unscaled, to)) is not None:
            return converted
        return _converted(_with(scale, unscaled), unscaled, to)

    return convert


def text_of_bytes(scale: int) -> Convert:
    """Unscaled bytes with a scale -> texts with all of their digits."""

    def convert(unscaled: pa.BinaryArray) -> Converted:
        return _converted(_with(scale, unscaled), unscaled, pa.string())

    return convert


def decimal_of_parts(to: pa.Decimal128Type) -> Convert:
    """Structs of scale and value -> decimals of a type."""
    return lambda parts: _converted(_scaled(parts), parts, to)


def text_of_parts(parts: pa.StructArray) -> Converted:
    """Structs of scale and value -> texts with all of their digits."""
    return _converted(_scaled(parts), parts, pa.string())


def text_of_decimal(decimals: pa.Array) -> Converted:
    """Decimals -> texts with all of their digits."""
    texts = [None if each is None else f"{each:f}" for each in decimals.to_pylist()]
    return Converted(pa.array(texts, pa.string()), np.zeros(len(decimals), dtype=np.bool_))


def plain_text(texts: pa.StringArray) -> Converted:
    """Texts of numbers -> texts with all of their digits, without an exponent."""
    numbers = (None if each is None else scaled_of(each) for each in texts.to_pylist())
    return _converted(numbers, texts, pa.string())


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


def _scaled(parts: pa.StructArray) -> Iterator[Scaled | None]:
    columns = fields_of(parts)
    for raw, scale in zip(columns["value"].to_pylist(), columns["scale"].to_pylist(), strict=True):
        number = None if raw is None or scale is None else number_of(raw)
        yield None if number is None else Scaled(number, scale)


def _with(scale: int, unscaled: pa.BinaryArray) -> Iterator[Scaled | None]:
    """Each number with the scale; None for null, and for bytes that are not a number."""
    for raw in unscaled.to_pylist():
        number = None if raw is None else number_of(raw)
        yield None if number is None else Scaled(number, scale)


def _converted(numbers: Iterator[Scaled | None], given: pa.Array, to: pa.DataType) -> Converted:
    """The values as another type. A value is broken if it is null now and was not before."""
    values = array_of_decimals(numbers, to)
    return Converted(values, is_valid(given) & ~is_valid(values))
