"""Values -> their texts in JSON, as Spark's `to_json` writes them; whole columns at once.

Fields that are null are left out; null is written in arrays and maps. Unlike with `to_json`,
timestamps are in UTC, and keep their microseconds.

Source: Spark's `JacksonGenerator`.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_formats.arrow.arrays import without_first
from kafka_formats.errors import SchemaError
from kafka_formats.json.java_text import (
    day_text,
    double_text,
    moment_text,
    shortest_text,
    string_text,
)
from kafka_protocol.columnar.arrays.arrow_memory import EMPTY, array_of_bytes, scalar_of

_BINARY: Final = pa.binary()
_NULL: Final = scalar_of(b"null")
_COMMA: Final = scalar_of(b",")
# Jackson has texts of its own for control characters.
_CONTROL: Final = r"[\x00-\x1f]"
# Microseconds since 1970.
_MICROS_OF_DAY: Final = 86_400_000_000
_YEAR_0: Final = -719_528 * _MICROS_OF_DAY
_YEAR_10000: Final = 2_932_897 * _MICROS_OF_DAY


def encode(values: pa.Array) -> pa.BinaryArray:
    """The text of each value; null for null.

    Raises:
        SchemaError: JSON has no such type.
    """
    for matches, text_of in _TEXTS:
        if matches(values.type):
            return text_of(values)
    raise SchemaError(f"JSON has no type {values.type}")


def check_type(data_type: pa.DataType) -> None:
    """Check that JSON has a type.

    Raises:
        SchemaError: It has not.
    """
    encode(pa.nulls(0, data_type))


def _joined(*parts: Any) -> pa.BinaryArray:
    scalars = [scalar_of(each) if isinstance(each, bytes) else each for each in parts]
    return pc.binary_join_element_wise(*scalars, EMPTY)


def _struct(values: pa.StructArray) -> pa.BinaryArray:
    parts = []
    for number, field in enumerate(values.type):
        name = b"," + string_text(field.name).encode() + b":"
        parts.append(_joined(name, encode(values.field(number))).fill_null(EMPTY))
    if parts:
        fields = _joined(*parts) if len(parts) > 1 else parts[0]
        # The first comma goes; without fields there is no comma.
        body = without_first(1, pc.if_else(pc.equal(fields, EMPTY), _COMMA, fields))
    else:
        body = pa.repeat(EMPTY, len(values))
    return _null_as(values, _joined(b"{", body, b"}"))


def _list(values: pa.ListArray) -> pa.BinaryArray:
    return _null_as(values, _joined(b"[", _items(values, _or_null(values.values)), b"]"))


def _map(values: pa.MapArray) -> pa.BinaryArray:
    if not pa.types.is_string(values.type.key_type):
        raise SchemaError(f"JSON has no maps with keys of the type {values.type.key_type}")
    entries = _joined(encode(values.keys), b":", _or_null(values.items))
    return _null_as(values, _joined(b"{", _items(values, entries), b"}"))


def _items(values: pa.Array, texts: pa.BinaryArray) -> pa.BinaryArray:
    return pc.binary_join(pa.ListArray.from_arrays(values.offsets, texts), _COMMA)


def _or_null(values: pa.Array) -> pa.BinaryArray:
    return pc.fill_null(encode(values), _NULL)


def _null_as(values: pa.Array, texts: pa.BinaryArray) -> pa.BinaryArray:
    if not values.null_count:
        return texts
    return pc.if_else(values.is_valid(), texts, scalar_of(None))


def _string(values: pa.StringArray) -> pa.BinaryArray:
    if pc.any(pc.match_substring_regex(values, _CONTROL)).as_py():
        return _each(values, string_text)
    escaped = pc.replace_substring(values, "\\", "\\\\")
    escaped = pc.replace_substring(escaped, '"', '\\"')
    return _joined(b'"', escaped.cast(_BINARY), b'"')


def _plain(values: pa.Array) -> pa.BinaryArray:
    return values.cast(pa.string()).cast(_BINARY)


def _float(values: pa.FloatArray) -> pa.BinaryArray:
    def text(value: float) -> str:
        short = np.float32(value)
        return shortest_text(str(short), value) if np.isfinite(short) else double_text(value)

    return _each(values, text)


def _double(values: pa.DoubleArray) -> pa.BinaryArray:
    return _each(values, double_text)


def _bytes(values: pa.BinaryArray) -> pa.BinaryArray:
    return _each(values, lambda value: f'"{base64.b64encode(value).decode()}"')


def _each(values: pa.Array, text: Callable[[Any], str]) -> pa.BinaryArray:
    encoded = [None if value is None else text(value).encode() for value in values.to_pylist()]
    return array_of_bytes(encoded)


def _date(values: pa.Date32Array) -> pa.BinaryArray:
    return _joined(b'"', _of_calendar(values, pa.int32(), _MICROS_OF_DAY, _plain), b'"')


def _timestamp(values: pa.TimestampArray) -> pa.BinaryArray:
    texts = _of_calendar(values.cast(pa.timestamp("us")), pa.int64(), 1, _moments)
    return _joined(b'"', texts, b'"' if values.type.tz is None else b'Z"')


def _of_calendar(
    values: pa.Array,
    number: pa.DataType,
    micros: int,
    texts_of: Callable[[pa.Array], pa.BinaryArray],
) -> pa.BinaryArray:
    """The texts of dates or times: by Arrow if the year has four digits, else as Java writes them.

    Arrow writes `10000` where Java writes `+10000`, and no text for years that do not fit 16 bits.

    Args:
        values: Dates or times.
        number: The integer type that they are stored as.
        micros: The microseconds of one unit of the integers.
        texts_of: Writes the texts by Arrow.
    """
    numbers = values.cast(number)
    is_long = pc.or_(
        pc.less(numbers, _YEAR_0 // micros), pc.greater_equal(numbers, _YEAR_10000 // micros)
    )
    if not pc.any(is_long).as_py():
        return texts_of(values)
    texts = texts_of(pc.if_else(is_long, pa.scalar(None, values.type), values))
    rest = pc.if_else(is_long, numbers, pa.scalar(None, number))
    date_text = moment_text if micros == 1 else day_text
    return pc.coalesce(texts, _each(rest, date_text))


def _moments(values: pa.TimestampArray) -> pa.BinaryArray:
    millis = pc.floor_temporal(values, unit="millisecond")
    short = millis.cast(pa.timestamp("ms")).cast(pa.string())
    texts = pc.if_else(pc.equal(values, millis), short, values.cast(pa.string()))
    return pc.replace_substring(texts, " ", "T").cast(_BINARY)


def _nulls(values: pa.NullArray) -> pa.BinaryArray:
    return pa.nulls(len(values), _BINARY)


_TEXTS: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], pa.BinaryArray]], ...]] = (
    (pa.types.is_struct, _struct),
    (pa.types.is_list, _list),
    (pa.types.is_map, _map),
    (pa.types.is_string, _string),
    (pa.types.is_boolean, _plain),
    (pa.types.is_signed_integer, _plain),
    (pa.types.is_decimal, _plain),
    (pa.types.is_float32, _float),
    (pa.types.is_float64, _double),
    (pa.types.is_binary, _bytes),
    (pa.types.is_date32, _date),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_null, _nulls),
)
