"""Which types the members of unions are: `member0`, `member1` say nothing of it.

A new version of a schema may have the types of a union in another order. Payloads are read right
then, but the same column has other values.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_formats.avro.schema import Array, Map, RecordSchema, Schema, Union, kind_of
from kafka_formats.avro.types import member_name, members_of


def types_of_members(schema: Schema, path: str = "") -> Iterator[tuple[str, list[str]]]:
    """The path of each union that is a struct of members, and the full names of its types.

    Lists and maps add no name to a path.
    """
    match schema:
        case RecordSchema(fields=fields):
            for field in fields:
                below = f"{path}.{field.name}".removeprefix(".")
                yield from types_of_members(field.schema, below)
        case Array(items=inner) | Map(values=inner):
            yield from types_of_members(inner, path)
        case Union(branches=branches):
            members = members_of(schema)
            if members:
                yield path, [kind_of(each) for each in members]
            for number, branch in enumerate(members or branches):
                below = f"{path}.{member_name(number)}".removeprefix(".") if members else path
                yield from types_of_members(branch, below)
