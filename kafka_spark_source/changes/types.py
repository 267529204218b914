"""The types of rows and target side by side, and values that can be compared. Pure.

MERGE casts a value to the type of its column. A cast that loses a digit or the time of a day does
not fail, and two keys may become one, so only lossless casts are allowed.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as T

from kafka_spark_source.changes.sql import quoted, text

_DIGITS: Final[dict[type[T.DataType], int]] = {
    T.ByteType: 3,
    T.ShortType: 5,
    T.IntegerType: 10,
    T.LongType: 19,
}
"""Whole numbers: how many digits the largest one has."""
_WIDER: Final[dict[type[T.DataType], tuple[type[T.DataType], ...]]] = {
    T.ByteType: (T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType),
    T.ShortType: (T.IntegerType, T.LongType, T.FloatType, T.DoubleType),
    T.IntegerType: (T.LongType, T.DoubleType),
    T.FloatType: (T.DoubleType,),
    # Not timestamp: its moment depends on the time zone of the session.
    T.DateType: (T.TimestampNTZType,),
}
"""A type -> the types that have all of its values. Decimals are below."""


def fits(given: T.DataType, there: T.DataType) -> bool:
    """Whether a column of type `there` can have all values of type `given`, unchanged."""
    if isinstance(given, T.NullType):
        return True
    if isinstance(given, T.StructType) and isinstance(there, T.StructType):
        return [each.name.lower() for each in given] == [each.name.lower() for each in there] and (
            all(
                fits(ours.dataType, theirs.dataType)
                for ours, theirs in zip(given, there, strict=True)
            )
        )
    if isinstance(given, T.ArrayType) and isinstance(there, T.ArrayType):
        return fits(given.elementType, there.elementType)
    if isinstance(given, T.MapType) and isinstance(there, T.MapType):
        return fits(given.keyType, there.keyType) and fits(given.valueType, there.valueType)
    if isinstance(there, T.DecimalType):
        return _fits_decimal(given, there)
    return given.simpleString() == there.simpleString() or type(there) in _WIDER.get(
        type(given), ()
    )


def comparable(value: str, type_: T.DataType, depth: int = 0) -> str:
    """An expression that is equal for equal values; SQL compares neither maps nor variants.

    Args:
        value: An expression of the type.
        type_: The type.
        depth: How many lambdas this is in, for the names of their arguments.
    """
    if _is_comparable(type_):
        return value
    element = f"e{depth}"
    if isinstance(type_, T.ArrayType):
        return (
            f"transform({value}, {element} -> {comparable(element, type_.elementType, depth + 1)})"
        )
    if isinstance(type_, T.MapType):
        parts = {
            "key": comparable(f"{element}.key", type_.keyType, depth + 1),
            "value": comparable(f"{element}.value", type_.valueType, depth + 1),
        }
        return f"array_sort(transform(map_entries({value}), {element} -> {_struct(parts)}))"
    if isinstance(type_, T.StructType):
        fields = {
            str(number): comparable(f"{value}.{quoted(each.name)}", each.dataType, depth)
            for number, each in enumerate(type_)
        }
        return f"CASE WHEN {value} IS NOT NULL THEN {_struct(fields)} END"
    if isinstance(type_, T.StringType):
        return f"CAST({value} AS BINARY)"
    return f"to_json({value})"


def is_same(column: str, given: T.DataType, there: T.DataType, source: str, target: str) -> str:
    """Whether a column of a source and of a target, both by their names, have equal values."""
    ours, theirs = f"{source}.{quoted(column)}", f"{target}.{quoted(column)}"
    if given.simpleString() != there.simpleString():
        ours = f"CAST({ours} AS {there.simpleString()})"
    return f"{comparable(ours, there)} <=> {comparable(theirs, there)}"


def _fits_decimal(given: T.DataType, there: T.DecimalType) -> bool:
    whole = there.precision - there.scale
    if isinstance(given, T.DecimalType):
        return given.scale <= there.scale and given.precision - given.scale <= whole
    return type(given) in _DIGITS and _DIGITS[type(given)] <= whole


def _is_comparable(type_: T.DataType) -> bool:
    if isinstance(type_, T.StructType):
        return all(_is_comparable(each.dataType) for each in type_)
    if isinstance(type_, T.ArrayType):
        return _is_comparable(type_.elementType)
    if isinstance(type_, T.StringType):  # with a collation 'a' may be equal to 'A'
        return type_.simpleString() == "string"
    return not isinstance(type_, T.MapType) and type_.typeName() != "variant"


def _struct(fields: dict[str, str]) -> str:
    parts = [f"{text(name)}, {value}" for name, value in fields.items()]
    return f"named_struct({', '.join(parts)})"
