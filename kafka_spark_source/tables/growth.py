"""What a table lacks for the rows of a topic: columns, fields, and wider types. Pure.

A table only grows: no column goes, and no type becomes one that lacks a value of the old one. What
cannot be held so is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from pyspark.sql import types as T

from kafka_spark_source.changes.types import fits
from kafka_spark_source.tables.ddl import path_text, type_text

Path = tuple[str, ...]
"""Names of fields from the outside in; `element`, `key` and `value` are in arrays and maps."""

MAX_DECIMAL: Final = 38


class At(NamedTuple):
    """A type at a place of a table."""

    path: Path
    type: T.DataType


@dataclass(frozen=True, slots=True)
class Growth:
    """What a table needs before it takes the rows.

    Attributes:
        added: Columns and fields that it lacks.
        widened: Columns, fields, elements and values that need another type.
        refused: What it cannot hold, each as the part of a sentence.
    """

    added: tuple[At, ...] = ()
    widened: tuple[At, ...] = ()
    refused: tuple[str, ...] = ()


_WHOLE: Final = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_DIGITS: Final[Mapping[type[T.DataType], int]] = dict(zip(_WHOLE, (3, 5, 10, 19), strict=True))
"""The digits of whole numbers."""
_MADE_OF: Final[Mapping[type[T.DataType], int]] = dict(zip(_WHOLE, (10, 10, 10, 20), strict=True))
"""The digits before the point that a decimal needs to be made of a column of whole numbers."""
WIDENINGS: Final[Mapping[str, Mapping[type[T.DataType], tuple[type[T.DataType], ...]]]] = {
    "delta": {
        T.ByteType: (T.ShortType, T.IntegerType, T.LongType, T.DoubleType),
        T.ShortType: (T.IntegerType, T.LongType, T.DoubleType),
        T.IntegerType: (T.LongType, T.DoubleType),
        T.FloatType: (T.DoubleType,),
        T.DateType: (T.TimestampNTZType,),
    },
    "iceberg": {T.IntegerType: (T.LongType,), T.FloatType: (T.DoubleType,)},
}
"""Format -> a type -> the types that ALTER COLUMN can make of it; decimals are below.

Sources: "Type widening" of Delta's documentation; "Schema Evolution" of Iceberg's specification.
"""
_UNSUPPORTED: Final = ("void", "variant", "interval", "time(")
"""How types begin that rows may have, and that neither format has in each release."""


_RESERVED_BY_ICEBERG: Final = {
    *("_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id"),
    *("_last_updated_sequence_number", "_change_type", "_change_ordinal", "_commit_snapshot_id"),
}
"""Metadata columns, which an ALTER TABLE takes nevertheless: then the table cannot be read."""


def growth(table: T.StructType, rows: T.StructType, provider: str) -> Growth:
    """What a table needs before it takes the rows.

    Names are compared without their case, as Spark compares them.

    Args:
        table: The columns of the table.
        rows: The columns of the rows.
        provider: `delta` or `iceberg`.
    """
    parts = [*_of_struct((), table, rows, provider)]
    return Growth(
        tuple(each for kind, each in parts if kind == "added" and isinstance(each, At)),
        tuple(each for kind, each in parts if kind == "widened" and isinstance(each, At)),
        tuple(each for _, each in parts if isinstance(each, str)),
    )


def wider(there: T.DataType, given: T.DataType, provider: str) -> T.DataType | None:
    """The smallest type that the format makes of `there`, and that has all values of `given`."""
    candidates = [to() for to in WIDENINGS[provider].get(type(there), ())]
    decimal = _decimal(there, given, provider)
    if decimal is not None:
        candidates.append(decimal)
    return next((each for each in candidates if fits(given, each)), None)


_Found = tuple[str, At | str]


def _of_struct(
    path: Path, table: T.StructType, rows: T.StructType, provider: str
) -> Iterator[_Found]:
    there = {each.name.lower(): each for each in table}
    yield from (("refused", each) for each in _same_names(path, rows))
    if provider == "iceberg" and not path:
        taken = [each for each in rows.names if each.lower() in _RESERVED_BY_ICEBERG]
        yield from (
            ("refused", f"{path_text([each])} is a name of Iceberg's own") for each in taken
        )
    names = [each.name.lower() for each in rows]
    for field in (each for each in rows if names.count(each.name.lower()) == 1):
        present = there.get(field.name.lower())
        if present is not None:
            name = (*path, present.name)
            yield from _of_type(name, present.dataType, field.dataType, provider)
        else:
            yield from _added((*path, field.name), field.dataType)


def _same_names(path: Path, rows: T.StructType) -> Iterator[str]:
    seen: dict[str, str] = {}
    for name in rows.names:
        if not name.strip():
            yield f"{path_text((*path, name))} is an empty name"
        other = seen.setdefault(name.lower(), name)
        if other != name or rows.names.count(name) > 1:
            names = path_text((*path, other)), path_text((*path, name))
            yield f"{names[0]} and {names[1]} are one name for a table"


def _added(path: Path, given: T.DataType) -> Iterator[_Found]:
    reasons = [*dict.fromkeys(_unsupported(path, given))]
    yield from (("refused", each) for each in reasons)
    if not reasons:
        yield "added", At(path, given)


def _of_type(path: Path, there: T.DataType, given: T.DataType, provider: str) -> Iterator[_Found]:
    match there, given:
        case T.StructType(), T.StructType():
            yield from _of_struct(path, there, given, provider)
        case T.ArrayType(), T.ArrayType():
            inner = there.elementType, given.elementType
            yield from _of_type((*path, "element"), *inner, provider)
        case T.MapType(), T.MapType():
            if not fits(given.keyType, there.keyType):
                yield "refused", _mismatch((*path, "key"), there.keyType, given.keyType)
            inner = there.valueType, given.valueType
            yield from _of_type((*path, "value"), *inner, provider)
        case _ if fits(given, there):
            return
        case _:
            to = wider(there, given, provider)
            if to is None:
                yield "refused", _mismatch(path, there, given)
            else:
                yield "widened", At(path, to)


def _mismatch(path: Path, there: T.DataType, given: T.DataType) -> str:
    return (
        f"{path_text(path)} is {type_text(given)} in the records and {type_text(there)} in the "
        "table, which cannot be widened to hold both"
    )


def _decimal(there: T.DataType, given: T.DataType, provider: str) -> T.DecimalType | None:
    """The decimal that has all values of both; None if there is none, or the format refuses it."""
    if not isinstance(there, T.DecimalType) and (
        type(there) not in _MADE_OF or provider == "iceberg"
    ):
        return None
    parts = [_whole_and_scale(there, _MADE_OF), _whole_and_scale(given, _DIGITS)]
    if None in parts:
        return None
    whole = max(each[0] for each in parts if each)
    scale = max(each[1] for each in parts if each)
    if whole + scale > MAX_DECIMAL:
        return None
    if provider == "iceberg" and isinstance(there, T.DecimalType) and scale != there.scale:
        return None
    return T.DecimalType(whole + scale, scale)


def _whole_and_scale(
    type_: T.DataType, digits: Mapping[type[T.DataType], int]
) -> tuple[int, int] | None:
    """The digits before and after the point; None for a type that is not a number."""
    if isinstance(type_, T.DecimalType):
        return type_.precision - type_.scale, type_.scale
    whole = digits.get(type(type_))
    return None if whole is None else (whole, 0)


def _unsupported(path: Path, type_: T.DataType) -> Iterator[str]:
    """The parts of a type that tables do not have."""
    match type_:
        case T.StructType():
            if not type_.fields:
                yield f"{path_text(path)} is a struct without fields, which tables do not have"
            yield from _same_names(path, type_)
            for each in type_:
                yield from _unsupported((*path, each.name), each.dataType)
        case T.ArrayType():
            yield from _unsupported((*path, "element"), type_.elementType)
        case T.MapType():
            yield from _unsupported((*path, "key"), type_.keyType)
            yield from _unsupported((*path, "value"), type_.valueType)
        case _ if type_.simpleString().startswith(_UNSUPPORTED):
            yield f"{path_text(path)} is {type_text(type_)}, which tables do not have"
