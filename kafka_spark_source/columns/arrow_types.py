"""Spark's types <-> Arrow types, with nullability.

PySpark's own conversion differs by release, and forgets which items of lists and maps can be null.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql import types as T

from kafka_protocol.errors import KafkaConfigError

_PAIRS: Final[tuple[tuple[T.DataType, pa.DataType], ...]] = (
    (T.NullType(), pa.null()),
    (T.BooleanType(), pa.bool_()),
    (T.ByteType(), pa.int8()),
    (T.ShortType(), pa.int16()),
    (T.IntegerType(), pa.int32()),
    (T.LongType(), pa.int64()),
    (T.FloatType(), pa.float32()),
    (T.DoubleType(), pa.float64()),
    (T.StringType(), pa.string()),
    (T.BinaryType(), pa.binary()),
    (T.DateType(), pa.date32()),
    (T.TimestampType(), pa.timestamp("us", tz="UTC")),
    (T.TimestampNTZType(), pa.timestamp("us")),
    (T.DayTimeIntervalType(), pa.duration("us")),
)
_TO_ARROW: Final = dict(_PAIRS)
_TO_SPARK: Final = {arrow: spark for spark, arrow in _PAIRS}


def to_arrow(data_type: T.DataType) -> pa.DataType:
    """The Arrow type of a type of Spark's.

    Raises:
        KafkaConfigError: Payloads cannot have the type.
    """
    match data_type:
        case T.StructType():
            return pa.struct([_arrow_field(field) for field in data_type])
        case T.ArrayType():
            element = to_arrow(data_type.elementType)
            return pa.list_(pa.field("element", element, nullable=data_type.containsNull))
        case T.MapType():
            value = to_arrow(data_type.valueType)
            return pa.map_(
                to_arrow(data_type.keyType),
                pa.field("value", value, nullable=data_type.valueContainsNull),
            )
        case T.DecimalType():
            return pa.decimal128(data_type.precision, data_type.scale)
    if data_type not in _TO_ARROW:
        raise KafkaConfigError(f"Payloads have no type {data_type.simpleString()}.")
    return _TO_ARROW[data_type]


def to_arrow_schema(schema: T.StructType) -> pa.Schema:
    """The Arrow schema of some columns.

    Raises:
        KafkaConfigError: As from `to_arrow`.
    """
    return pa.schema([_arrow_field(field) for field in schema])


def to_spark_schema(schema: pa.Schema) -> T.StructType:
    """The columns of an Arrow schema, all nullable."""
    return T.StructType([T.StructField(field.name, to_spark(field.type)) for field in schema])


def to_spark(data_type: pa.DataType) -> T.DataType:
    """The type of Spark's for an Arrow type of payloads."""
    if pa.types.is_struct(data_type):
        return T.StructType(
            [T.StructField(each.name, to_spark(each.type), each.nullable) for each in data_type]
        )
    if pa.types.is_list(data_type):
        element = data_type.value_field
        return T.ArrayType(to_spark(element.type), element.nullable)
    if pa.types.is_map(data_type):
        value = data_type.item_field
        return T.MapType(to_spark(data_type.key_type), to_spark(value.type), value.nullable)
    if pa.types.is_decimal(data_type):
        return T.DecimalType(data_type.precision, data_type.scale)
    return _TO_SPARK[data_type]


def _arrow_field(field: T.StructField) -> pa.Field:
    # point: exact-schema
    return pa.field(field.name, to_arrow(field.dataType), nullable=field.nullable)
