"""Avro schemas and payloads as Hypothesis draws them, encoded by code of the tests' own.

Blocks of items have sizes or not, and a list has several of them.
"""

from __future__ import annotations

import string
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from hypothesis import strategies as st

Json = Any
Draw = Callable[[st.SearchStrategy[Any]], Any]

_INT32: Final = st.one_of(st.integers(-100, 100), st.integers(-(2**31), 2**31 - 1))
_INT64: Final = st.one_of(st.integers(-100, 100), st.integers(-(2**63), 2**63 - 1))
# Those that a datetime of Python has.
_DAYS: Final = st.integers(-700_000, 2_900_000)
_MILLIS: Final = st.integers(-(10**13), 10**14)

_PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_LOGICAL: Final[Mapping[str, st.SearchStrategy[int]]] = {
    "date": _DAYS,
    "timestamp-millis": _MILLIS,
    "timestamp-micros": _MILLIS,
    "local-timestamp-millis": _MILLIS,
    "local-timestamp-micros": _MILLIS,
}


def varint(number: int) -> bytes:
    """A zigzag varint."""
    raw = (number << 1 ^ number >> 63) & 2**64 - 1
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes([*out, raw])


def with_length(data: bytes) -> bytes:
    """Bytes with their length."""
    return varint(len(data)) + data


@st.composite
def schemas(draw: Draw, depth: int = 3, *, with_unions: bool = True) -> Json:
    """A schema in JSON, with names that no other part of it has."""
    return _Names(draw, with_unions=with_unions).schema(depth)


class _Names:
    def __init__(self, draw: Draw, *, with_unions: bool) -> None:
        self._draw = draw
        self._count = 0
        self._with_unions = with_unions
        self._makers: Mapping[str, Callable[[int], Json]] = {
            "logical": self._logical,
            "decimal": self._decimal,
            "enum": self._enum,
            "fixed": self._fixed,
            "record": self._record,
            "array": self._array,
            "map": self._map,
        }

    def _new(self) -> str:
        self._count += 1
        return f"Name{self._count}"

    def schema(self, depth: int) -> Json:
        if depth and self._draw(st.integers(0, 4)) == 0:
            return ["null", self.part(depth - 1)]
        if depth and self._with_unions and self._draw(st.integers(0, 7)) == 0:
            found = {self.kind(each): each for each in (self.part(depth - 1) for _ in range(3))}
            return [*found.values()]
        return self.part(depth, null=True)

    def kind(self, schema: Json) -> str:
        if isinstance(schema, str):
            return schema
        return str(schema.get("name", schema["type"]))

    def part(self, depth: int, *, null: bool = False) -> Json:
        """No union."""
        plain = ["logical", "decimal", "enum", "fixed", *_PRIMITIVES[0 if null else 1 :]]
        nested = ["record", "array", "map"] * 3 if depth else []
        kind = self._draw(st.sampled_from([*nested, *plain]))
        if kind in _PRIMITIVES:
            return kind
        return self._makers[kind](depth - 1)

    def _logical(self, _depth: int) -> Json:
        name = self._draw(st.sampled_from(sorted(_LOGICAL)))
        return {"type": "int" if name == "date" else "long", "logicalType": name}

    def _decimal(self, _depth: int) -> Json:
        size = self._draw(st.sampled_from([None, 2, 9, 16]))
        digits = {None: [1, 18, 19, 38], 2: [4], 9: [4, 19], 16: [38]}[size]
        precision = self._draw(st.sampled_from(digits))
        scale = self._draw(st.integers(0, precision))
        logical = {"logicalType": "decimal", "precision": precision, "scale": scale}
        if size is None:
            return {"type": "bytes"} | logical
        return {"type": "fixed", "name": self._new(), "size": size} | logical

    def _enum(self, _depth: int) -> Json:
        return {"type": "enum", "name": self._new(), "symbols": ["A", "B", "C"]}

    def _fixed(self, _depth: int) -> Json:
        size = self._draw(st.sampled_from([0, 1, 16]))
        return {"type": "fixed", "name": self._new(), "size": size}

    def _record(self, depth: int) -> Json:
        fields = [
            {"name": letter, "type": self.schema(depth)}
            for letter in string.ascii_lowercase[: self._draw(st.integers(0, 4))]
        ]
        return {"type": "record", "name": self._new(), "fields": fields}

    def _array(self, depth: int) -> Json:
        return {"type": "array", "items": self.schema(depth)}

    def _map(self, depth: int) -> Json:
        return {"type": "map", "values": self.schema(depth)}


def payload(draw: Draw, schema: Json) -> bytes:
    """A valid payload of a schema."""
    if isinstance(schema, list):
        branch = draw(st.integers(0, len(schema) - 1))
        return varint(branch) + payload(draw, schema[branch])
    kind = schema if isinstance(schema, str) else schema["type"]
    logical = "" if isinstance(schema, str) else schema.get("logicalType", "")
    if logical in _LOGICAL:
        return varint(draw(_LOGICAL[logical]))
    if logical == "decimal":
        return _decimal_payload(draw, schema)
    return _PAYLOADS[kind](draw, schema)


def _decimal_payload(draw: Draw, schema: Json) -> bytes:
    limit = 10 ** int(schema["precision"]) - 1
    number = int(draw(st.integers(-limit, limit)))
    if "size" in schema:
        return number.to_bytes(int(schema["size"]), "big", signed=True)
    size = (number.bit_length() + 8) // 8 + draw(st.sampled_from([0, 0, 0, 2]))
    return with_length(number.to_bytes(size, "big", signed=True))


def _blocks(draw: Draw, schema: Json) -> bytes:
    out = b""
    keys = iter(range(1_000))
    for _ in range(draw(st.sampled_from([0, 1, 1, 2]))):
        count = draw(st.sampled_from([1, 1, 2, 3]))
        # Long lists repeat an item: to draw many takes long.
        item = payload(draw, schema.get("items", schema.get("values")))
        # Of items without bytes a list within a list may have ten.
        times = draw(st.sampled_from([1, 1, 1, 1, 80])) if item else 1
        items = [
            with_length(b"key %d" % next(keys)) + item if schema["type"] == "map" else item
            for _ in range(count * times)
        ]
        body = b"".join(items)
        has_size = draw(st.booleans())
        out += varint(-len(items)) + varint(len(body)) if has_size else varint(len(items))
        out += body
    return out + b"\x00"


_PAYLOADS: Final[Mapping[str, Callable[[Draw, Json], bytes]]] = {
    "null": lambda draw, schema: b"",
    "boolean": lambda draw, schema: bytes([draw(st.booleans())]),
    "int": lambda draw, schema: varint(draw(_INT32)),
    "long": lambda draw, schema: varint(draw(_INT64)),
    "float": lambda draw, schema: struct.pack("<f", draw(st.floats(width=32, allow_nan=False))),
    "double": lambda draw, schema: struct.pack("<d", draw(st.floats(allow_nan=False))),
    "bytes": lambda draw, schema: with_length(draw(st.binary(max_size=80))),
    "string": lambda draw, schema: with_length(draw(st.text(max_size=80)).encode()),
    "enum": lambda draw, schema: varint(draw(st.integers(0, 2))),
    "fixed": lambda draw, schema: draw(st.binary(min_size=schema["size"], max_size=schema["size"])),
    "record": lambda draw, schema: b"".join(
        payload(draw, field["type"]) for field in schema["fields"]
    ),
    "array": _blocks,
    "map": _blocks,
}
