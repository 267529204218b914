"""Confluent's decimals: `confluent.type.Decimal`, and its precision and scale in a field's options.

Source: `ProtobufData` and `DecimalUtils` of Confluent's converter. Its `precision` does not round
values here, as in most of Confluent's clients; in Java it does if it is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import DESCRIPTOR, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from kafka_formats.arrow.decimals import (
    ARROW_DIGITS,
    MAX_BYTES,
    MAX_DIGITS,
    NOT_A_DECIMAL,
    Scaled,
    array_of_decimals,
    bytes_of,
    digits_of,
    does_not_fit,
    number_of,
    scaled_of,
    with_scale,
)
from kafka_formats.errors import PayloadError
from kafka_formats.protobuf.known_files import KNOWN_FILES, META_NUMBER
from kafka_protocol.columnar.arrays.arrow_memory import is_valid

if TYPE_CHECKING:
    import decimal

    from google.protobuf.descriptor import Descriptor

_NAME: Final = "confluent.type.Decimal"
PARTS: Final[Mapping[str, int]] = {
    "value": FieldDescriptor.TYPE_BYTES,
    "precision": FieldDescriptor.TYPE_UINT32,
    "scale": FieldDescriptor.TYPE_INT32,
}
"""The fields of the message, and their types."""

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,9}")


class Told(NamedTuple):
    """The precision and scale in the options of a field of decimals.

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
    """The precision and scale from the first field with such options; None if no field has them.

    As for Confluent's converter, a missing scale is 0. A missing precision is 38 digits.
    """
    for field in fields:
        params = _params(field.GetOptions().SerializeToString())
        precision, scale = (_number(params.get(name)) for name in ("precision", "scale"))
        if precision is not None or scale is not None:
            scale = scale or 0
            # Zero is any precision.
            digits = max(precision or 0, 0) or max(ARROW_DIGITS, scale)
            return Told(min(digits, MAX_DIGITS), scale)
    return None


class Decimals(NamedTuple):
    """Decimals of a type, and which of the values do not fit it: they are null there."""

    values: pa.Array
    is_wrong: npt.NDArray[np.bool_]


def decimals_of(to: pa.DataType, values: Sequence[tuple[bytes, int] | None]) -> Decimals:
    """Decimals or texts: each from the bytes of a number and its scale; None for null."""
    array = array_of_decimals((None if each is None else _scaled(*each) for each in values), to)
    is_null = np.array([each is None for each in values], np.bool_)
    return Decimals(array, ~is_null & ~is_valid(array))


def misfit(to: pa.DataType, value: bytes, scale: int) -> PayloadError:
    """The fault of a decimal that does not fit a type."""
    if pa.types.is_string(to) or len(value) > MAX_BYTES:
        reason = f"is not a number of up to {MAX_BYTES} bytes with a scale of up to {MAX_DIGITS}"
    else:
        reason = does_not_fit(to.precision, to.scale)
    return PayloadError("", f"a decimal of {len(value)} bytes with the scale {scale} {reason}")


def parts_of(value: decimal.Decimal | str, declared: Told | None) -> tuple[bytes, int, int]:
    """The value, the precision and the scale of a decimal, or of the text of one.

    Raises:
        PayloadError: It does not fit the schema's precision or scale, or the text is not a decimal.
    """
    given = scaled_of(value)
    if given is None:
        raise PayloadError("", NOT_A_DECIMAL)
    written = given if declared is None else _as_told(given, declared)
    return bytes_of(written.number), digits_of(written.number), written.scale


def _as_told(given: Scaled, told: Told) -> Scaled:
    number = with_scale(given, told.scale, told.precision)
    if number is None:
        raise PayloadError("", f"a decimal {does_not_fit(told.precision, told.scale)}")
    return Scaled(number, told.scale)


def _scaled(value: bytes, scale: int) -> Scaled | None:
    # No bytes are zero, as in Confluent's client in Python; Java fails.
    number = number_of(value) if value else 0
    return None if number is None else Scaled(number, scale)


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
    """A message class of field options that only has Confluent's: a schema's pool may lack them."""
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
