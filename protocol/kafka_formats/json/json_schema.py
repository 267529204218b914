"""JSON Schema -> Arrow types.

Source: JSON Schema drafts 4, 6, 7, 2019-09 and 2020-12; for `connect.type` and the title of
decimals, Confluent's `JsonSchemaData`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

import pyarrow as pa

from kafka_formats.errors import ITEMS, VALUES, SchemaError, about, path_of
from kafka_formats.payload.schema_text import SchemaText

Node: TypeAlias = "dict[str, Any]"

_MAX_DEPTH: Final = 100
_DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
_CONNECT_TYPES: Final[Mapping[str, pa.DataType]] = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "bytes": pa.binary(),
}
_SIMPLE: Final[Mapping[str, pa.DataType]] = {
    "string": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
}
_NAME_OF: Final[Mapping[type, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
}


def arrow_type(schema: SchemaText) -> pa.DataType:
    """The type of a JSON Schema. All parts can be null, as with `from_json`.

    Raises:
        SchemaError: It is not a JSON Schema, or is not supported. Names the field.
    """
    documents = {"": _parsed(schema.text, "the schema")}
    for name, text in schema.dependencies:
        documents[name] = _parsed(text, f"the reference {name!r}")
    for document in [*documents.values()]:
        if isinstance(document, dict) and isinstance(name := _id_of(document), str):
            documents.setdefault(urldefrag(name).url, document)
    return _Mapper(documents).type_of(documents[""], _id_of(documents[""]) or "", "", ())


def title_of(schema: SchemaText) -> str:
    """The title of a JSON Schema: the name of its record for Confluent's clients."""
    document = _parsed(schema.text, "the schema")
    return str(document.get("title", "")) if isinstance(document, dict) else ""


def _parsed(text: str, what: str) -> Any:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"{what} is not JSON: {error}") from error
    if not isinstance(document, (dict, bool)):
        raise SchemaError(f"{what} is not a JSON Schema: it must be an object")
    return document


def _id_of(document: Any) -> Any:
    if not isinstance(document, dict):
        return None
    return document.get("$id", document.get("id"))


class _Mapper:
    """Maps one schema and the schemas that it refers to, each known by its name or `$id`."""

    def __init__(self, documents: Mapping[str, Any]) -> None:
        self._documents = documents

    def type_of(self, node: Any, base: str, path: str, followed: tuple[str, ...]) -> pa.DataType:
        """The type of a part.

        Args:
            node: The part.
            base: The name of the document that it is in.
            path: The field, for errors.
            followed: The references that lead here, to find circles.
        """
        if path.count(".") + path.count("[") + path.count("{") > _MAX_DEPTH:
            raise _refusal(path, f"it is deeper than {_MAX_DEPTH} types")
        if not isinstance(node, dict):
            raise _refusal(path, "it allows any value; give it a type")
        node, base, followed = self._resolved(node, base, path, followed)
        if "connect.type" in node and node["connect.type"] in _CONNECT_TYPES:
            return _decimal_of(node, path) or _CONNECT_TYPES[node["connect.type"]]
        branches = self._branches(node, base, path, followed)
        if branches is not None:
            return self.type_of(*branches, path, followed)
        name = _type_name(node, path)
        if name == "object":
            return self._object(node, base, path, followed)
        if name == "array":
            return self._array(node, base, path, followed)
        return _SIMPLE[name]

    def _resolved(
        self, node: Node, base: str, path: str, followed: tuple[str, ...]
    ) -> tuple[Node, str, tuple[str, ...]]:
        """Follow `$ref`, and merge `allOf`."""
        while "$ref" in node:
            target = urljoin(base, str(node["$ref"]))
            if target in followed:
                raise _refusal(path, f"the type {node['$ref']!r} contains itself")
            followed = (*followed, target)
            node, base = self._target(str(node["$ref"]), base, path)
        for part in _listed(node, "allOf", path):
            merged, part_base, followed = self._resolved(_as_node(part, path), base, path, followed)
            if part_base != base:
                merged = _with_base(merged, part_base)
            node = _merged({k: v for k, v in node.items() if k != "allOf"}, merged)
        return node, base, followed

    def _target(self, reference: str, base: str, path: str) -> tuple[Node, str]:
        name, pointer = urldefrag(reference)
        joined = urldefrag(urljoin(base, name)).url if name else urldefrag(base).url
        for known in (name, joined) if name else (joined, ""):
            if known in self._documents:
                document = self._documents[known]
                return _as_node(_pointed(document, pointer, path), path), known
        raise _refusal(path, f"there is no schema {reference!r}: add it as a reference")

    def _branches(
        self, node: Node, base: str, path: str, followed: tuple[str, ...]
    ) -> tuple[Node, str] | None:
        """The one type of a `oneOf` or `anyOf` that is not null; None without them."""
        for word in ("oneOf", "anyOf"):
            if word not in node:
                continue
            parts = [
                self._resolved(_as_node(part, path), base, path, followed)
                for part in _listed(node, word, path)
            ]
            others = [part for part in parts if part[0].get("type") != "null"]
            if len(others) != 1:
                raise _refusal(
                    path,
                    f"{word} with several types has no type of Spark's: give value.schema as a "
                    "DDL, where string gives the JSON text",
                )
            rest = {key: value for key, value in node.items() if key != word}
            return _merged(rest, others[0][0]), others[0][1]
        return None

    def _object(self, node: Node, base: str, path: str, followed: tuple[str, ...]) -> pa.DataType:
        fields = node.get("properties", {})
        if not isinstance(fields, dict):
            raise _refusal(path, "properties must be an object")
        more = node.get("additionalProperties")
        if not fields and isinstance(more, dict):
            value = self.type_of(more, base, path_of(path, VALUES), followed)
            return pa.map_(pa.string(), pa.field("value", value))
        members = []
        for name, part in _ordered(fields):
            inner = path_of(path, name)
            own_base = part.pop(_BASE, base) if isinstance(part, dict) else base
            members.append(pa.field(name, self.type_of(part, own_base, inner, followed)))
        return pa.struct(members)

    def _array(self, node: Node, base: str, path: str, followed: tuple[str, ...]) -> pa.DataType:
        items = node.get("items")
        if items is None or isinstance(items, list) or "prefixItems" in node:
            raise _refusal(path, "an array needs items of one schema")
        element = self.type_of(items, base, path_of(path, ITEMS), followed)
        return pa.list_(pa.field("element", element))


# Marks a field that was merged from another document.
_BASE: Final = "\0base"


def _with_base(node: Node, base: str) -> Node:
    fields = node.get("properties", {})
    return node | {"properties": {name: {**part, _BASE: base} for name, part in fields.items()}}


def _as_node(part: Any, path: str) -> Node:
    if not isinstance(part, dict):
        raise _refusal(path, "it has a part that is not an object")
    return part


def _listed(node: Node, word: str, path: str) -> Sequence[Any]:
    items = node.get(word, [])
    if not isinstance(items, list):
        raise _refusal(path, f"{word} must be a list")
    return items


def _merged(node: Node, other: Node) -> Node:
    fields = {**other.get("properties", {}), **node.get("properties", {})}
    return {**other, **node} | ({"properties": fields} if fields else {})


def _pointed(document: Any, pointer: str, path: str) -> Any:
    node = document
    for step in unquote(pointer).split("/")[1:] if pointer.startswith("/") else []:
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or key not in node:
            raise _refusal(path, f"there is nothing at '#{pointer}'")
        node = node[key]
    if pointer and not pointer.startswith("/"):
        return _anchored(document, pointer, path)
    return node


def _anchored(document: Any, name: str, path: str) -> Any:
    for word in ("$defs", "definitions"):
        for part in (document.get(word) or {}).values():
            if isinstance(part, dict) and name in (
                part.get("$anchor"),
                str(_id_of(part)).removeprefix("#"),
            ):
                return part
    raise _refusal(path, f"there is nothing named '#{name}'")


def _type_name(node: Node, path: str) -> str:
    given = node.get("type")
    names = [given] if isinstance(given, str) else given
    if names is None:
        names = _implied(node)
    if not isinstance(names, list):
        raise _refusal(path, "type must be a name or a list of names")
    others = [name for name in names if name != "null"]
    if {*others} == {"integer", "number"}:
        return "number"
    if len(others) != 1 or others[0] not in _KNOWN:
        raise _refusal(
            path,
            f"the type {given!r} has no type of Spark's: give value.schema as a DDL, where string "
            "gives the JSON text",
        )
    return str(others[0])


_KNOWN: Final = frozenset({*_SIMPLE, "object", "array"})


def _implied(node: Node) -> list[str]:
    if "properties" in node:
        return ["object"]
    if "items" in node:
        return ["array"]
    values = node["enum"] if isinstance(node.get("enum"), list) else [node.get("const")]
    return [*dict.fromkeys(_NAME_OF[type(each)] for each in values if type(each) in _NAME_OF)]


def _ordered(fields: Node) -> list[tuple[str, Any]]:
    """Fields by `connect.index`, as Confluent's converter writes it; others as they come."""
    index: Callable[[tuple[str, Any]], int] = lambda field: (  # noqa: E731
        field[1].get("connect.index", 0) if isinstance(field[1], dict) else 0
    )
    copies = [
        (name, dict(part) if isinstance(part, dict) else part) for name, part in fields.items()
    ]
    return sorted(copies, key=index)


def _decimal_of(node: Node, path: str) -> pa.DataType | None:
    """The type of a decimal of Connect's as a number; as bytes it has no text of its own."""
    if node.get("title") != _DECIMAL:
        return None
    if _type_name(node, path) != "number":
        raise _refusal(path, "a decimal as base64 is not supported: give value.schema as a DDL")
    parameters = node.get("connect.parameters")
    scale = parameters.get("scale") if isinstance(parameters, dict) else None
    if not (isinstance(scale, str) and scale.isdigit() and int(scale) <= 38):
        raise _refusal(path, "a decimal needs a scale from 0 to 38 in connect.parameters")
    return pa.decimal128(38, int(scale))


def _refusal(path: str, reason: str) -> SchemaError:
    return SchemaError(about(path, reason))
