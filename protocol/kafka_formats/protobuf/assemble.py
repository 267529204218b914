"""Arrays of parts -> arrays of structs, lists and maps, with the types that a plan has."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from kafka_formats.protobuf.plan import Member, Struct


def struct_of(plan: Struct, members: Sequence[pa.Array]) -> pa.StructArray:
    """Structs without nulls."""
    fields = [
        pa.field(member.name, array.type, member.nullable)
        for member, array in zip(plan.members, members, strict=True)
    ]
    return pa.StructArray.from_arrays(members, fields=fields)


def list_of(member: Member, offsets: pa.Array, items: pa.Array) -> pa.ListArray:
    """Lists without nulls; `offsets` as Arrow has them."""
    field = pa.field("element", items.type, member.type.value_field.nullable)
    return pa.ListArray.from_arrays(offsets, items, pa.list_(field))


def map_of(member: Member, offsets: pa.Array, keys: pa.Array, items: pa.Array) -> pa.MapArray:
    """Maps without nulls."""
    field = pa.field("value", items.type, member.type.item_field.nullable)
    return pa.MapArray.from_arrays(offsets, keys, items, pa.map_(keys.type, field))
