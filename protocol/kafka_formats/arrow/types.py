"""Arrow types of decoded payloads, whatever their format."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kafka_formats.errors import SchemaError

# Arrow has 64 for a batch.
MAX_DEPTH: Final = 60


def passed_on(data_type: pa.DataType) -> pa.DataType:
    """The type of a schema, which Spark can get from Arrow.

    Raises:
        SchemaError: It is nested too deeply.
    """
    if depth_of(data_type) > MAX_DEPTH:
        raise SchemaError(
            f"the schema is nested more than {MAX_DEPTH} times, which Arrow does not pass on: "
            "name the fields to read with .schema(...)"
        )
    return data_type


def depth_of(data_type: pa.DataType) -> int:
    """How many types are within each other."""
    fields = [data_type.field(place) for place in range(data_type.num_fields)]
    return 1 + max((depth_of(each.type) for each in fields), default=0)


def as_nullable(data_type: pa.DataType) -> pa.DataType:
    """The type with all parts nullable, except the keys of maps."""
    if pa.types.is_struct(data_type):
        return pa.struct([_nullable(field) for field in data_type])
    if pa.types.is_list(data_type):
        return pa.list_(_nullable(data_type.value_field))
    if pa.types.is_map(data_type):
        return pa.map_(data_type.key_type, _nullable(data_type.item_field))
    return data_type


def _nullable(field: pa.Field) -> pa.Field:
    return pa.field(field.name, as_nullable(field.type))
