"""Arrow types of decoded payloads, whatever their format."""

from __future__ import annotations

import pyarrow as pa


def as_nullable(data_type: pa.DataType) -> pa.DataType:
    """The type with all parts nullable, but for the keys of maps."""
    if pa.types.is_struct(data_type):
        return pa.struct([_nullable(field) for field in data_type])
    if pa.types.is_list(data_type):
        return pa.list_(_nullable(data_type.value_field))
    if pa.types.is_map(data_type):
        return pa.map_(data_type.key_type, _nullable(data_type.item_field))
    return data_type


def _nullable(field: pa.Field) -> pa.Field:
    return pa.field(field.name, as_nullable(field.type))
