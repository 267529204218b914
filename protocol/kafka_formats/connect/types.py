"""Spark's types for the semantic types of Kafka Connect and Debezium, in one table.

Timestamps of Debezium have no zone, except `ZonedTimestamp`. Nor have Connect's timestamps, as
Debezium writes them for columns without a zone. Times of a day and durations stay the numbers that
they are: Spark before 4.1 and most tables have no such type.

Source: "Data type mappings" of Debezium's connectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa

from kafka_formats.connect.decimals import (
    decimal_of_bytes,
    decimal_of_parts,
    text_of_bytes,
    text_of_decimal,
    text_of_parts,
)
from kafka_formats.connect.semantics import Semantic
from kafka_formats.connect.times import (
    Convert,
    date_of_days,
    date_of_text,
    local_moment_of_text,
    moment_of_text,
    moment_of_units,
    moment_without_zone,
)

DATE: Final = pa.date32()
LOCAL: Final = pa.timestamp("us")
MOMENT: Final = pa.timestamp("us", tz="UTC")
TEXT: Final = pa.string()

_TIME: Final = "io.debezium.time."
_CONNECT: Final = "org.apache.kafka.connect.data."
DECIMAL: Final = f"{_CONNECT}Decimal"
VARIABLE_DECIMAL: Final = "io.debezium.data.VariableScaleDecimal"
_MAX_DIGITS: Final = 38
_SCALE: Final = re.compile(r"-?[0-9]{1,6}")

_Make: TypeAlias = Callable[[pa.DataType, pa.DataType, Semantic], Convert | None]


@dataclass(frozen=True, slots=True)
class Mapped:
    """How a semantic type is read.

    Attributes:
        default: The type to read it as, by the type that payloads have.
        convert: Makes values of a type from payloads with another type. None: it cannot.
    """

    default: Callable[[pa.DataType, Semantic], pa.DataType]
    convert: _Make


def _fixed(
    to: pa.DataType, convert: Convert, is_written_as: Callable[[pa.DataType], bool]
) -> Mapped:
    """Values of one type. With another type in payloads, the name of a schema means nothing."""
    return Mapped(
        lambda raw, _: to if is_written_as(raw) else raw,
        lambda raw, wanted, _: convert if wanted == to and is_written_as(raw) else None,
    )


def _is_days(raw: pa.DataType) -> bool:
    return bool(pa.types.is_integer(raw) or pa.types.is_date32(raw))


def _as_it_is() -> Mapped:
    """Numbers with a unit, which are not converted."""
    return Mapped(lambda raw, _: raw, lambda _raw, _wanted, _semantic: None)


def _connect_moment() -> Mapped:
    """Milliseconds in JSON; Avro and Protobuf have a moment of their own."""
    of_millis = moment_of_units(1_000)

    def convert(raw: pa.DataType, wanted: pa.DataType, _semantic: Semantic) -> Convert | None:
        if wanted != LOCAL:
            return None
        if pa.types.is_timestamp(raw):
            return moment_without_zone
        return of_millis if pa.types.is_integer(raw) else None

    def default(raw: pa.DataType, _semantic: Semantic) -> pa.DataType:
        return LOCAL if pa.types.is_timestamp(raw) or pa.types.is_integer(raw) else raw

    return Mapped(default, convert)


def scale_of(semantic: Semantic) -> int | None:
    """The scale of a decimal; None if its schema has none."""
    text = semantic.parameters.get("scale", "")
    return int(text) if _SCALE.fullmatch(text) else None


def _decimal_type(raw: pa.DataType, semantic: Semantic) -> pa.DataType:
    """A decimal, or a text with all digits if no decimal of Spark's is sure to have them."""
    if pa.types.is_decimal(raw):
        return raw
    text = semantic.parameters.get("connect.decimal.precision", "")
    precision, scale = int(text) if _SCALE.fullmatch(text) else 0, scale_of(semantic)
    if scale is None:
        return raw
    if not 0 <= scale <= _MAX_DIGITS or not 0 < precision <= _MAX_DIGITS:
        return TEXT
    return pa.decimal128(max(precision, scale), scale)


def _convert_decimal(raw: pa.DataType, wanted: pa.DataType, semantic: Semantic) -> Convert | None:
    scale = scale_of(semantic)
    if pa.types.is_decimal(raw):
        return text_of_decimal if wanted == TEXT else None
    if scale is None or not pa.types.is_binary(raw):
        return None
    if pa.types.is_decimal128(wanted):
        return decimal_of_bytes(scale, wanted)
    return text_of_bytes(scale) if wanted == TEXT else None


def _convert_parts(raw: pa.DataType, wanted: pa.DataType, _semantic: Semantic) -> Convert | None:
    if not has_parts(raw):
        return None
    if pa.types.is_decimal128(wanted):
        return decimal_of_parts(wanted)
    return text_of_parts if wanted == TEXT else None


def has_parts(raw: pa.DataType) -> bool:
    """Whether a type is a decimal whose values each have a scale."""
    return bool(
        pa.types.is_struct(raw)
        and {each.name: each.type for each in raw} == {"scale": pa.int32(), "value": pa.binary()}
    )


TYPES: Final[Mapping[str, Mapped]] = {
    f"{_TIME}Date": _fixed(DATE, date_of_days, _is_days),
    f"{_TIME}Timestamp": _fixed(LOCAL, moment_of_units(1_000), pa.types.is_integer),
    f"{_TIME}MicroTimestamp": _fixed(LOCAL, moment_of_units(1_000_000), pa.types.is_integer),
    f"{_TIME}NanoTimestamp": _fixed(LOCAL, moment_of_units(1_000_000_000), pa.types.is_integer),
    f"{_TIME}ZonedTimestamp": _fixed(MOMENT, moment_of_text, pa.types.is_string),
    f"{_TIME}IsoDate": _fixed(DATE, date_of_text, pa.types.is_string),
    f"{_TIME}IsoTimestamp": _fixed(LOCAL, local_moment_of_text, pa.types.is_string),
    **{
        f"{_TIME}{name}": _as_it_is()
        for name in ("Time", "MicroTime", "NanoTime", "MicroDuration", "NanoDuration", "Year")
    },
    f"{_CONNECT}Date": _fixed(DATE, date_of_days, _is_days),
    f"{_CONNECT}Timestamp": _connect_moment(),
    f"{_CONNECT}Time": _as_it_is(),
    DECIMAL: Mapped(_decimal_type, _convert_decimal),
    VARIABLE_DECIMAL: Mapped(lambda raw, _: TEXT if has_parts(raw) else raw, _convert_parts),
}
"""Semantic types whose numbers do not mean the same as in a plain type. Others, such as
`io.debezium.data.Json`, have the values of their plain type."""
