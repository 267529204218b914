"""JSON Schemas as types: each part is read when it is wanted.

A value of several kinds, or of none that the schema describes, is read as a string: its JSON text.
So nothing of a payload is lost because Spark has no type for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from kafka_formats.errors import ITEMS, VALUES, SchemaError, about, path_of
from kafka_formats.json.known_type import Shape
from kafka_formats.json.schema_documents import SchemaDocuments, parsed
from kafka_formats.json.schema_facts import (
    CURE,
    KINDS_OF,
    FactReader,
    Facts,
    Source,
    either,
    parts_of,
)
from kafka_formats.payload.schema_text import SchemaText

_MAX_DEPTH: Final = 100
_NULL: Final = KINDS_OF["null"]
_SIMPLE: Final[Mapping[frozenset[str], pa.DataType]] = {
    KINDS_OF["string"]: pa.string(),
    KINDS_OF["integer"]: pa.int64(),
    KINDS_OF["number"]: pa.float64(),
    KINDS_OF["boolean"]: pa.bool_(),
}


def title_of(schema: SchemaText) -> str:
    """The title of a JSON Schema: the name of its record for Confluent's clients."""
    document = parsed(schema.text, "the schema")
    title = document.get("title") if isinstance(document, dict) else None
    # Half of a surrogate pair has no encoding.
    if not isinstance(title, str) or re.search(r"[\ud800-\udfff]", title):
        return ""
    return title


class JsonSchema:
    """A JSON Schema, with the schemas that it refers to.

    Raises:
        SchemaError: A text is not a JSON Schema.
    """

    def __init__(self, schema: SchemaText) -> None:
        documents = SchemaDocuments(schema)
        self.root: Source = documents.root
        self._reader = FactReader(documents)

    def shape(self, part: Source, path: str) -> Shape[Source]:
        """The shape of a part, without the types of its own parts.

        Args:
            part: The part.
            path: The field, for errors.

        Raises:
            SchemaError: It is invalid, or not supported. Names the field.
        """
        return self._shape(self._facts(part, path), path)

    def type_of(self, part: Source, path: str) -> pa.DataType:
        """The type of a part. All of it can be null, as with `from_json`.

        Raises:
            SchemaError: Something in it is invalid, or not supported. Names the field.
        """
        return self._type_of(part, path, ())

    def _type_of(self, part: Source, path: str, above: tuple[frozenset[int], ...]) -> pa.DataType:
        facts = self._facts(part, path)
        shape = self._shape(facts, path)
        if shape.leaf is not None:
            return shape.leaf
        if facts.nodes in above:
            raise _refusal(path, f"the type contains itself: {CURE}")
        if len(above) == _MAX_DEPTH:
            raise _refusal(path, f"it is deeper than {_MAX_DEPTH} types")
        above = (*above, facts.nodes)
        if shape.items is not None:
            element = self._type_of(shape.items, path_of(path, ITEMS), above)
            return pa.list_(pa.field("element", element))
        if shape.values is not None:
            value = self._type_of(shape.values, path_of(path, VALUES), above)
            return pa.map_(pa.string(), pa.field("value", value))
        members = (shape.fields or {}).items()
        return pa.struct(
            [(name, self._type_of(each, path_of(path, name), above)) for name, each in members]
        )

    def _facts(self, part: Source, path: str) -> Facts:
        try:
            return self._reader.facts(part)
        except SchemaError as error:
            raise _refusal(path, str(error)) from error

    def _shape(self, facts: Facts, path: str) -> Shape[Source]:
        kinds = facts.kinds - _NULL
        if facts.leaf is not None:
            return Shape(leaf=facts.leaf)
        if kinds in _SIMPLE:
            return Shape(leaf=_SIMPLE[kinds])
        is_object = kinds == KINDS_OF["object"] and not facts.is_open
        if is_object and facts.fields and facts.rest is None:
            return Shape(fields=_ordered(facts.fields))
        if is_object and facts.rest is not None:
            # A struct would lose what is not named.
            values = either([*facts.fields.values(), facts.rest])
            if self._is_of_one_kind(values, path):
                return Shape(values=values, left_open=kinds if facts.fields else frozenset())
        if kinds == KINDS_OF["array"] and facts.items is not None:  # noqa: SIM102
            if self._is_of_one_kind(facts.items, path):
                return Shape(items=facts.items)
        return Shape(leaf=pa.string(), left_open=facts.kinds)

    def _is_of_one_kind(self, part: Source, path: str) -> bool:
        facts = self._facts(part, path)
        kinds = facts.kinds - _NULL
        is_simple = kinds in _SIMPLE or len(kinds) == 1 or facts.kinds == _NULL
        return facts.leaf is not None or is_simple


def _ordered(fields: Mapping[str, Source]) -> dict[str, Source]:
    """Fields by `connect.index`, as Confluent's converter writes it; others keep their order."""
    return dict(sorted(fields.items(), key=lambda field: _index_of(field[1])))


def _index_of(field: Source) -> int:
    for part in parts_of(field):
        index = part.node.get("connect.index") if isinstance(part.node, dict) else None
        if isinstance(index, int):
            return index
    return 0


def _refusal(path: str, reason: str) -> SchemaError:
    return SchemaError(about(path, reason))
