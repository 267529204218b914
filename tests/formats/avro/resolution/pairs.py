"""Pairs of schemas, a writer's and a reader's, and values of the writer with their payloads.

Values are trees, so that a pair can be made smaller.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tests.formats.avro.payloads import varint, with_length

Json = Any
Value = Any


class Pair(NamedTuple):
    """Schemas, and values of the writer: tuples of branch and value for unions."""

    writer: Json
    reader: Json
    values: list[Value]

    @property
    def payloads(self) -> list[bytes]:
        """The values, encoded."""
        return [encoded(self.writer, each) for each in self.values]


def kind_of(schema: Json) -> str:
    """The type of a schema; `union` for a list."""
    if isinstance(schema, str):
        return schema
    return "union" if isinstance(schema, list) else str(schema["type"])


def encoded(schema: Json, value: Value) -> bytes:
    """The payload of a value."""
    return _ENCODED[kind_of(schema)](schema, value)


def _blocks(items: list[bytes]) -> bytes:
    # Some blocks have their size.
    count = varint(-len(items)) + varint(sum(map(len, items))) if len(items) == 2 else b""
    return (count or varint(len(items))) + b"".join(items) + b"\x00" if items else b"\x00"


_ENCODED: Final[Mapping[str, Callable[[Json, Value], bytes]]] = {
    "null": lambda schema, value: b"",
    "boolean": lambda schema, value: bytes([value]),
    "int": lambda schema, value: varint(value),
    "long": lambda schema, value: varint(value),
    "float": lambda schema, value: struct.pack("<f", value),
    "double": lambda schema, value: struct.pack("<d", value),
    "bytes": lambda schema, value: with_length(value),
    "string": lambda schema, value: with_length(value.encode()),
    "fixed": lambda schema, value: value,
    "enum": lambda schema, value: varint(value),
    "array": lambda schema, value: _blocks([encoded(schema["items"], each) for each in value]),
    "map": lambda schema, value: _blocks(
        [with_length(key.encode()) + encoded(schema["values"], each) for key, each in value]
    ),
    "union": lambda schema, value: varint(value[0]) + encoded(schema[value[0]], value[1]),
    "record": lambda schema, value: b"".join(
        encoded(each["type"], value[each["name"]]) for each in schema["fields"]
    ),
}
