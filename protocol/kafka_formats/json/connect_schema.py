"""The schemas of Kafka Connect as its JsonConverter writes them, beside payloads -> types.

Source: `JsonConverter.asJsonSchema` and `asConnectSchema`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from kafka_formats.connect.semantics import ConnectType, Path, Semantic, semantic_in, shown
from kafka_formats.errors import ITEMS, VALUES, SchemaError, named

_MAX_DEPTH: Final = 60
_SURROGATE: Final = re.compile("[\\ud800-\\udfff]")
_PRIMITIVES: Final[Mapping[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}


def is_connect_schema(text: str) -> bool:
    """Whether a text is a schema of Connect: an object that lists its fields.

    A JSON Schema has `properties` instead.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(document, dict)
        and document.get("type") == "struct"
        and isinstance(document.get("fields"), list)
    )


@lru_cache(maxsize=1_000)
def connect_type(text: str) -> ConnectType:
    """The type of a schema's payloads in JSON, with its semantic types. All parts can be null.

    Raises:
        SchemaError: It is not a schema of Connect. Names the field.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"a schema of Connect is not valid JSON: {error}") from error
    return ConnectType(_type(document, (), 0), dict(_semantics(document, ())))


def _type(node: Any, path: Path, depth: int) -> pa.DataType:
    kind = node.get("type") if isinstance(node, dict) else None
    if depth > _MAX_DEPTH:
        raise SchemaError(f"a schema of Connect is nested more than {_MAX_DEPTH} times")
    if isinstance(kind, str) and kind in _PRIMITIVES:
        return _PRIMITIVES[kind]
    if isinstance(kind, str) and kind in _PARTS:
        return _PARTS[kind](node, path, depth + 1)
    raise SchemaError(f"{_named(path)} has the type {kind!r}")


def _struct(node: Mapping[str, Any], path: Path, depth: int) -> pa.DataType:
    fields = [
        pa.field(name, _type(each, (*path, name), depth)) for name, each in _fields(node, path)
    ]
    if len({field.name for field in fields}) < len(fields):
        raise SchemaError(f"{_named(path)} has a field twice")
    return pa.struct(fields)


def _array(node: Mapping[str, Any], path: Path, depth: int) -> pa.DataType:
    items = _type(node.get("items"), (*path, ITEMS), depth)
    return pa.list_(pa.field("element", items))


def _map(node: Mapping[str, Any], path: Path, depth: int) -> pa.DataType:
    values = _type(node.get("values"), (*path, VALUES), depth)
    keys = node.get("keys")
    if not isinstance(keys, dict) or keys.get("type") != "string":
        # It is an array of pairs, whose items have two types.
        return pa.string()
    return pa.map_(pa.string(), pa.field("value", values))


_PARTS: Final[Mapping[str, Callable[[Mapping[str, Any], Path, int], pa.DataType]]] = {
    "struct": _struct,
    "array": _array,
    "map": _map,
}


def _fields(node: Mapping[str, Any], path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    fields = node.get("fields")
    for each in fields if isinstance(fields, list) else [None]:
        name = each.get("field") if isinstance(each, dict) else None
        if not isinstance(each, dict) or not isinstance(name, str):
            raise SchemaError(f"{_named(path)} has no list of named fields")
        if _SURROGATE.search(name):
            raise SchemaError(f"{_named(path)} has a field whose name is not valid Unicode")
        yield name, each


def _semantics(node: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Semantic | None]]:
    """The semantic types of a schema that `_type` has checked."""
    yield path, semantic_in(node.get("name"), node.get("parameters"))
    match node["type"]:
        case "struct":
            for inner, each in _fields(node, path):
                yield from _semantics(each, (*path, inner))
        case "array":
            yield from _semantics(node["items"], (*path, ITEMS))
        case "map":
            yield from _semantics(node["values"], (*path, VALUES))


def _named(path: Path) -> str:
    return named(shown(path), "the schema of Connect")
