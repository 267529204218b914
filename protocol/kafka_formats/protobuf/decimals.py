"""Confluent's decimals: `confluent.type.Decimal`, and what the options of a field tell of it.

Values are exact: a value that its type cannot have is an error, never rounded.

Source: `ProtobufData` and `DecimalUtils` of Confluent's converter. Its `precision` does not round
values here, as in most of Confluent's clients; in Java it does if it is wrong.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import DESCRIPTOR, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from kafka_formats.arrow.arrays import null_where
from kafka_formats.errors import PayloadError
from kafka_formats.protobuf.known_files import KNOWN_FILES, META_NUMBER
from kafka_protocol.columnar.arrow_memory import buffer_of

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

_NAME: Final = "confluent.type.Decimal"
PARTS: Final[Mapping[str, int]] = {
    "value": FieldDescriptor.TYPE_BYTES,
    "precision": FieldDescriptor.TYPE_UINT32,
    "scale": FieldDescriptor.TYPE_INT32,
}
"""The fields of the message, and their types."""

# The most digits of Arrow's and Spark's decimals.
_MAX_PRECISION: Final = 38
# The most digits of a number as text, and of its scale: as many as Python makes a text of.
_MAX_DIGITS: Final = 4_300
_MAX_BYTES: Final = 1_785
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,9}")


class Told(NamedTuple):
    """What the options of a field tell of its decimals.

    Attributes:
        precision: The most digits; more than 38 are possible.
        scale: The digits after the point.
    """

    precision: int
    scale: int


def is_decimal(message: Descriptor) -> bool:
    """Whether a message is Confluent's decimal."""
    return (
        message.full_name == _NAME
        and {each.name: None if each.is_repeated else each.type for each in message.fields} == PARTS
    )


def told_by(*fields: FieldDescriptor) -> Told | None:
    """What the first field with such options tells; None if none of them does.

    As for Confluent's converter, a missing scale is 0. A missing precision is 38 digits.
    """
    for field in fields:
        params = _params(field.GetOptions().SerializeToString())
        precision, scale = (_number(params.get(name)) for name in ("precision", "scale"))
        if precision is not None or scale is not None:
            scale = scale or 0
            # Zero is any precision.
            digits = max(precision or 0, 0) or max(_MAX_PRECISION, scale)
            return Told(min(digits, _MAX_DIGITS), scale)
    return None


def unscaled(value: bytes, scale: int, to: int) -> int:
    """The number of units of the scale `to`.

    Args:
        value: A big-endian number, of units of `scale`; zero if it has no bytes.
        scale: The scale of the value.
        to: The scale that is wanted.

    Raises:
        PayloadError: It has more digits after the point, or too many.
    """
    number = _number_in(value)
    if scale == to or not number:
        return number
    if abs(scale - to) > _MAX_DIGITS:
        raise PayloadError("", f"a decimal with the scale {scale} does not fit the scale {to}")
    factor = int(10 ** abs(scale - to))
    if scale < to:
        return number * factor
    units, rest = divmod(number, factor)
    if rest:
        raise PayloadError("", f"a decimal has more than {to} digits after the point")
    return units


def text_of(value: bytes, scale: int) -> str:
    """The text of a decimal, with the digits that it has.

    Raises:
        PayloadError: They are too many.
    """
    number = _number_in(value)
    if abs(scale) > _MAX_DIGITS:
        raise PayloadError("", f"a decimal has the scale {scale}, beyond {_MAX_DIGITS}")
    if scale <= 0:
        return f"{number}{'0' * -scale}" if number else "0"
    digits = str(abs(number)).rjust(scale + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def array_of_decimals(to: pa.DataType, values: Sequence[tuple[bytes, int] | None]) -> pa.Array:
    """The array of decimals: each a value and its scale; None for null.

    Raises:
        PayloadError: A value does not fit.
    """
    if pa.types.is_string(to):
        return pa.array([None if each is None else text_of(*each) for each in values], to)
    limit = 10**to.precision
    numbers = [0 if each is None else unscaled(*each, to.scale) for each in values]
    if any(not -limit < each < limit for each in numbers):
        raise PayloadError("", f"a decimal does not fit {to.precision} digits")
    data = b"".join([each.to_bytes(16, "little", signed=True) for each in numbers])
    words = buffer_of(np.frombuffer(data, np.int64))
    array = pa.Array.from_buffers(to, len(numbers), [None, words])
    return null_where(np.array([each is None for each in values], np.bool_), array)


def fits(to: pa.DataType, value: bytes, scale: int) -> bool:
    """Whether a type has a decimal."""
    try:
        array_of_decimals(to, [(value, scale)])
    except PayloadError:
        return False
    return True


def parts_of(value: decimal.Decimal | str, told: Told | None) -> tuple[bytes, int, int]:
    """The value, the precision and the scale of a decimal, or of the text of one.

    Raises:
        PayloadError: It does not fit what the schema tells, or the text is not a decimal.
    """
    try:
        sign, digits, exponent = decimal.Decimal(value).as_tuple()
    except decimal.InvalidOperation:
        exponent = "n"
    if not isinstance(exponent, int):
        raise PayloadError("", "a text is not a decimal")
    if len(digits) > _MAX_DIGITS or abs(exponent) > _MAX_DIGITS:
        raise PayloadError("", f"a decimal has more than {_MAX_DIGITS} digits")
    number = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    scale = -exponent
    if told is not None:
        number, scale = unscaled(_bytes_of(number), scale, told.scale), told.scale
        if abs(number) >= 10**told.precision:
            raise PayloadError("", f"a decimal does not fit {told.precision} digits")
    # As BigDecimal.precision(): the digits of the number.
    return _bytes_of(number), len(str(abs(number))), scale


def _number_in(value: bytes) -> int:
    if len(value) > _MAX_BYTES:
        raise PayloadError("", f"a decimal has {len(value)} bytes, more than {_MAX_BYTES}")
    return int.from_bytes(value, "big", signed=True)


def _bytes_of(number: int) -> bytes:
    """As few bytes as hold the number and its sign, as BigInteger.toByteArray()."""
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True)


def _number(text: str | None) -> int | None:
    """The number that a parameter is; as for Confluent's converter, other texts do not count."""
    return int(text) if text is not None and _NUMBER.fullmatch(text) else None


def _params(options: bytes) -> Mapping[str, str]:
    """The parameters in Confluent's Meta among the options of a field."""
    if not options:
        return {}
    try:
        params: Mapping[str, str] = dict(_options_class().FromString(options).meta.params)
    except (DecodeError, ValueError):
        # Another option has its number.
        return {}
    return params


@lru_cache(maxsize=1)
def _options_class() -> Any:
    """Options of a field, with Confluent's only: the pool of a schema may not know its file."""
    meta = KNOWN_FILES["confluent/meta.proto"]
    field = {"name": "meta", "number": META_NUMBER, "label": 1, "type_name": ".confluent.Meta"}
    pool = DescriptorPool()
    pool.Add(FileDescriptorProto.FromString(DESCRIPTOR.serialized_pb))
    pool.Add(meta)
    pool.Add(
        FileDescriptorProto(
            name="options.proto",
            syntax="proto3",
            dependency=[meta.name],
            message_type=[{"name": "Options", "field": [field]}],
        )
    )
    return GetMessageClass(pool.FindMessageTypeByName("Options"))
