"""Values whose dates and timestamps are numbers: Python has no year before 1 or after 9999."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kafka_formats.arrow.arrays import with_type


def as_numbers(values: pa.Array) -> list[Any]:
    """The values, with dates and timestamps as numbers."""
    listed: list[Any] = with_type(values, without_times(values.type)).to_pylist()
    return listed


def without_times(data_type: pa.DataType) -> pa.DataType:
    """The type with numbers for dates and timestamps, in the same layout."""

    def part(field: pa.Field) -> pa.Field:
        return field.with_type(without_times(field.type))

    if pa.types.is_struct(data_type):
        return pa.struct([part(field) for field in data_type])
    if pa.types.is_list(data_type):
        return pa.list_(part(data_type.value_field))
    if pa.types.is_map(data_type):
        return pa.map_(data_type.key_type, part(data_type.item_field))
    if pa.types.is_date32(data_type):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(data_type) else data_type
