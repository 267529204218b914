"""The semantic types of Kafka Connect in Avro schemas: the properties `connect.name` and so on.

Source: `AvroData` of Confluent's converter; Apicurio's writes the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from kafka_formats.avro.schema import PRIMITIVES, parsed
from kafka_formats.connect.semantics import Path, Semantic, Semantics, semantic_in, shown
from kafka_formats.errors import ITEMS, VALUES, SchemaError, named
from kafka_formats.payload.schema_text import SchemaText

_Named: TypeAlias = "tuple[Path, Semantic | None]"

_DEFINITIONS: Final = frozenset({"record", "error", "fixed", "enum"})


@lru_cache(maxsize=1_000)
def semantics_of(schema: SchemaText) -> Semantics:
    """The semantic types of a schema's parts.

    A record within itself has them at its first level only.

    Raises:
        SchemaError: The schema is invalid, or a field has aliases.
    """
    parsed(schema)
    walk = _Walk()
    for _, text in schema.dependencies:
        walk.define(json.loads(text), "")
    return dict(walk.semantics(json.loads(schema.text), "", ()))


class _Walk:
    """Follows names as `schema` does; the schema is valid."""

    def __init__(self) -> None:
        self._named: dict[str, tuple[Mapping[str, Any], str]] = {}
        self._open: set[str] = set()

    def define(self, node: Any, namespace: str) -> None:
        """Note the named types of a schema that is referred to."""
        for _ in self.semantics(node, namespace, ()):
            pass

    def semantics(self, node: Any, namespace: str, path: Path) -> Iterator[_Named]:
        if isinstance(node, str) and node in PRIMITIVES:
            yield path, None
        elif isinstance(node, str):
            yield from self._by_name(node, namespace, path)
        elif isinstance(node, list):
            # Only a union with null alone has one type.
            others = [each for each in node if each != "null"]
            for each in others:
                semantics = [*self.semantics(each, namespace, path)]
                if len(others) == 1:
                    yield from semantics
        elif not isinstance(node["type"], str):
            yield from self.semantics(node["type"], namespace, path)
        else:
            yield from self._complex(node, namespace, path)

    def _complex(self, node: Mapping[str, Any], namespace: str, path: Path) -> Iterator[_Named]:
        kind = node["type"]
        yield path, semantic_in(node.get("connect.name"), node.get("connect.parameters"))
        if kind in _DEFINITIONS:
            full = _full_name(node["name"], node.get("namespace", namespace))
            self._named[full] = (node, full.rpartition(".")[0])
            if kind in {"record", "error"}:
                yield from self._fields(full, path)
        elif kind == "array":
            yield from self.semantics(node["items"], namespace, (*path, ITEMS))
        elif kind == "map":
            yield from self.semantics(node["values"], namespace, (*path, VALUES))
        elif kind not in PRIMITIVES:
            yield from self._by_name(kind, namespace, path)

    def _fields(self, full: str, path: Path) -> Iterator[_Named]:
        node, namespace = self._named[full]
        self._open.add(full)
        for field in node.get("fields", ()):
            if field.get("aliases"):
                raise SchemaError(
                    f"{named(shown((*path, field['name'])))} has aliases, and columns of a table "
                    "are found by their names only"
                )
            yield from self.semantics(field["type"], namespace, (*path, field["name"]))
        self._open.discard(full)

    def _by_name(self, name: str, namespace: str, path: Path) -> Iterator[_Named]:
        full = _full_name(name, namespace)
        known = full if full in self._named else name
        node, within = self._named[known]
        if known not in self._open:
            yield from self._complex({**node, "name": known, "namespace": within}, within, path)


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"
