"""One payload -> its value, with the rules of Spark's `from_json`. It says why one is broken.

It is the reference of `decode`, and reads the payloads that `decode` does not.

Source: Spark's `JacksonParser`.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from kafka_formats.errors import ITEMS, VALUES, PayloadError
from kafka_formats.json.depth import check_depth, room_for_documents
from kafka_formats.json.java_text import LongInteger, NumberText, json_text, utf8
from kafka_formats.json.timestamps import to_date, to_timestamp, to_timestamp_ntz

# A value of a document -> the value of the type; never for null. Raises PayloadError.
Convert: TypeAlias = Callable[[Any], Any]
ConverterOf: TypeAlias = Callable[[pa.DataType], Convert]

_DECODER: Final = json.JSONDecoder(parse_float=NumberText, parse_constant=NumberText)
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_NOT_FINITE: Final = {
    "NaN": "nan",
    "Infinity": "inf",
    "+Infinity": "inf",
    "+INF": "inf",
    "-Infinity": "-inf",
    "-INF": "-inf",
}
_CONTEXT: Final = Context(prec=2_000, rounding=ROUND_HALF_UP)
_MAX_SECONDS: Final = (2**63 - 1) // 1_000_000


def parse(payload: bytes) -> Any:
    """The first document of a payload; None if there is nothing but blanks.

    Raises:
        PayloadError: It is not JSON, nested too deeply, or only `null`.
    """
    check_depth(payload)
    try:
        text = payload.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PayloadError("", f"it is not UTF-8: {error.reason} at byte {error.start}") from error
    start = _BLANK.match(text).end()  # type: ignore[union-attr]
    if start == len(text):
        return None
    try:
        document = _document(text, start)
    except json.JSONDecodeError as error:
        reason = f"it is not JSON: {error.msg} at character {error.pos}"
        raise PayloadError("", reason) from error
    if document is None:
        raise PayloadError("", "it is null; a tombstone has no payload at all")
    return document


def _document(text: str, start: int) -> Any:
    try:
        return _DECODER.raw_decode(text, start)[0]
    except json.JSONDecodeError:
        raise
    except (RecursionError, ValueError):
        # The caller is deep, or a number is longer than Python's limit.
        with room_for_documents():
            return _DECODER_OF_LONG_NUMBERS.raw_decode(text, start)[0]


def _whole_number(digits: str) -> int | LongInteger:
    try:
        return int(digits)
    except ValueError:
        return LongInteger(digits)


_DECODER_OF_LONG_NUMBERS: Final = json.JSONDecoder(
    parse_float=NumberText, parse_constant=NumberText, parse_int=_whole_number
)


def root_converter(data_type: pa.DataType, *, exact: bool = False) -> Convert:
    """The function that converts whole documents to a type.

    Args:
        data_type: The type.
        exact: Whether a number that the type does not have is a fault. `from_json` rounds it.
    """
    convert = (_exact if exact else converter)(data_type)
    if pa.types.is_list(data_type) and pa.types.is_struct(data_type.value_type):
        # One object is an array of one.
        return lambda value: convert([value] if isinstance(value, dict) else value)
    return convert


def converter(data_type: pa.DataType) -> Convert:
    """The function that converts parts of documents to a type, or raises PayloadError."""
    for matches, make in _NESTED.items():
        if matches(data_type):
            return make(data_type, converter)
    for matches, make_leaf in _LEAVES.items():
        if matches(data_type):
            return make_leaf(data_type)
    raise AssertionError(f"JSON is not read as {data_type}")


def _exact(data_type: pa.DataType) -> Convert:
    for matches, make in _NESTED.items():
        if matches(data_type):
            return make(data_type, _exact)
    for matches, make_leaf in _EXACT_LEAVES.items():
        if matches(data_type):
            return make_leaf(data_type)
    return converter(data_type)


def _struct(data_type: pa.StructType, inner_of: ConverterOf) -> Convert:
    fields = {field.name: inner_of(field.type) for field in data_type}

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _misfit(value, "an object")
        values = {}
        try:
            for name, inner in fields.items():
                part = value.get(name)
                if part is not None:
                    values[name] = inner(part)
        except PayloadError as error:
            raise error.within(name) from error.__cause__
        return values

    return convert


def _list(data_type: pa.ListType, inner_of: ConverterOf) -> Convert:
    inner = inner_of(data_type.value_type)

    def convert(value: Any) -> Any:
        if not isinstance(value, list):
            raise _misfit(value, "an array")
        try:
            return [None if each is None else inner(each) for each in value]
        except PayloadError as error:
            raise error.within(ITEMS) from error.__cause__

    return convert


def _map(data_type: pa.MapType, inner_of: ConverterOf) -> Convert:
    inner = inner_of(data_type.item_type)

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _misfit(value, "an object")
        try:
            return [
                (utf8(key), None if each is None else inner(each)) for key, each in value.items()
            ]
        except PayloadError as error:
            raise error.within(VALUES) from error.__cause__

    return convert


def _string(_data_type: pa.DataType) -> Convert:
    def convert(value: Any) -> Any:
        is_text = isinstance(value, str) and not isinstance(value, NumberText)
        return utf8(value) if is_text else json_text(value)

    return convert


def _exact_string(_data_type: pa.DataType) -> Convert:
    def convert(value: Any) -> Any:
        is_text = isinstance(value, str) and not isinstance(value, NumberText)
        return utf8(value) if is_text else json_text(value, keeps_digits=True)

    return convert


def _boolean(_data_type: pa.DataType) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, bool):
            raise _misfit(value, "true or false")
        return value

    return convert


def _integer(data_type: pa.DataType) -> Convert:
    largest = 2 ** (data_type.bit_width - 1)

    def convert(value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            if -largest <= value < largest:
                return value
        elif not isinstance(value, LongInteger):
            raise _misfit(value, "a whole number")
        raise PayloadError("", f"the number does not fit {data_type.bit_width} bits")

    return convert


def _double(data_type: pa.DataType) -> Convert:
    held = _with_odd_end if pa.types.is_float32(data_type) else _as_it_is

    def convert(value: Any) -> Any:
        if isinstance(value, NumberText):
            return held(float(value), value)
        if isinstance(value, str) and value in _NOT_FINITE:
            return float(_NOT_FINITE[value])
        if not isinstance(value, int) or isinstance(value, bool):
            raise _misfit(value, "a number")
        try:
            return held(float(value), value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")

    return convert


def _as_it_is(number: float, _exact: str | int) -> float:
    return number


def _with_odd_end(number: float, exact: str | int) -> float:
    """The double whose nearest float is also that of the exact number.

    A double that was rounded to the middle of two floats would be rounded again, to the wrong one.
    So one that is not exact ends with a bit that is set, as the middles do not.
    """
    if not number or not math.isfinite(number):
        return number
    difference = Decimal(exact).compare(Decimal(number))
    if not difference or np.float64(number).view(np.int64) & 1:
        return number
    return math.nextafter(number, math.inf if difference > 0 else -math.inf)


def _exact_double(data_type: pa.DataType) -> Convert:
    """A fraction is the nearest number of the type. A whole number is itself."""
    rounded = _double(data_type)
    narrow = np.float32 if pa.types.is_float32(data_type) else np.float64

    def convert(value: Any) -> Any:
        number = rounded(value)
        if isinstance(value, str) and value in _NOT_FINITE:
            return number
        with np.errstate(over="ignore"):
            held = float(narrow(number))
        is_whole = isinstance(value, (int, LongInteger))
        if not math.isfinite(held) or (is_whole and held != int(value)):
            raise PayloadError("", f"the number does not fit {data_type}")
        return number

    return convert


def _decimal(data_type: pa.Decimal128Type, *, exact: bool = False) -> Convert:
    step = Decimal(1).scaleb(-data_type.scale)

    def convert(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise _misfit(value, "a number")
        text = str(value).replace(",", "")
        if not _NUMBER.fullmatch(text):
            raise PayloadError("", "it is not a number")
        given = Decimal(text)
        number: Decimal | None
        try:
            number = given.quantize(step, context=_CONTEXT)
        except InvalidOperation:
            number = None
        is_rounded = exact and number != given
        if number is None or is_rounded or len(number.as_tuple().digits) > data_type.precision:
            raise PayloadError("", f"the number does not fit {data_type}")
        return number

    return convert


_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,9})?", re.ASCII)


# As in Jackson, blanks may be before each group of four, and padding may be in any of them.
_BASE64_GROUP: Final = re.compile(r"[A-Za-z0-9+/]{2}(?:[A-Za-z0-9+/]{2}|[A-Za-z0-9+/]=|==)")
_BASE64_BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))


def _binary(_data_type: pa.DataType) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, str) or isinstance(value, NumberText):
            raise _misfit(value, "a string of base64")
        try:
            return base64.b64decode(value.encode("ascii"), validate=True)
        except (binascii.Error, ValueError):
            if _BASE64_GROUP.sub("", value).strip(_BASE64_BLANKS):
                raise PayloadError("", "it is not base64") from None
            data = bytearray()
            for group in _BASE64_GROUP.finditer(value):
                data += base64.b64decode(group[0])
            return bytes(data)

    return convert


def _moment(read: Callable[[str], Any]) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, str) or isinstance(value, NumberText):
            raise _misfit(value, "a string")
        try:
            return read(value)
        except (ValueError, OverflowError) as error:
            raise PayloadError("", f"the text {error}") from error

    return convert


def _date(_data_type: pa.DataType) -> Convert:
    return _moment(to_date)


def _timestamp(data_type: pa.TimestampType) -> Convert:
    if data_type.tz is None:
        return _moment(to_timestamp_ntz)
    text = _moment(to_timestamp)

    def convert(value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            # Seconds.
            if abs(value) > _MAX_SECONDS:
                raise PayloadError("", "the time is out of range")
            return value * 1_000_000
        return text(value)

    return convert


_Matches: TypeAlias = Callable[[pa.DataType], bool]
_NESTED: Final[Mapping[_Matches, Callable[[Any, ConverterOf], Convert]]] = {
    pa.types.is_struct: _struct,
    pa.types.is_list: _list,
    pa.types.is_map: _map,
}
_LEAVES: Final[Mapping[_Matches, Callable[[Any], Convert]]] = {
    pa.types.is_string: _string,
    pa.types.is_boolean: _boolean,
    pa.types.is_signed_integer: _integer,
    pa.types.is_floating: _double,
    pa.types.is_decimal: _decimal,
    pa.types.is_binary: _binary,
    pa.types.is_date32: _date,
    pa.types.is_timestamp: _timestamp,
}
_EXACT_LEAVES: Final[Mapping[_Matches, Callable[[Any], Convert]]] = {
    pa.types.is_string: _exact_string,
    pa.types.is_floating: _exact_double,
    pa.types.is_decimal: partial(_decimal, exact=True),
}


def _misfit(value: Any, wanted: str) -> PayloadError:
    return PayloadError("", f"it is {_kind_of(value)}, not {wanted}")


def _kind_of(value: Any) -> str:
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    return "another value"


_KINDS: Final[tuple[tuple[type, str], ...]] = (
    (bool, "a boolean"),
    (LongInteger, "a whole number"),
    (NumberText, "a number with a fraction or an exponent"),
    (int, "a whole number"),
    (str, "a string"),
    (dict, "an object"),
    (list, "an array"),
)
