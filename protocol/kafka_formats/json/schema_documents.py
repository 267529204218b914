"""The texts of a JSON Schema and of its references -> the schemas in them, found by URI.

Knows where a schema has schemas, and the meaning of `$id`, `$anchor` and `$ref`; knows no types.

Source: JSON Schema drafts 4, 6, 7, 2019-09 and 2020-12, "Core"; RFC 6901 for pointers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urljoin

from kafka_formats.errors import SchemaError
from kafka_formats.payload.schema_text import SchemaText

# Where a schema has others: one, several, or several by name.
_ONE: Final = (
    *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if"),
    *("items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
)
_SEVERAL: Final = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_BY_NAME: Final = (
    *("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"),
    "properties",
)
# Before 2019-09 a `$ref` is alone: an `$id` beside it does not count.
_REF_ALONE: Final = ("draft-03", "draft-04", "draft-06", "draft-07")
# The last drafts that write `id`.
_PLAIN_ID: Final = ("draft-03", "draft-04")


class Part(NamedTuple):
    """A schema in a document.

    Attributes:
        node: The schema: an object, or true or false.
        base: The URI that references in it are relative to.
    """

    node: Any
    base: str

    @property
    def key(self) -> tuple[int, str]:
        """The key of the part among the parts of the same documents."""
        return id(self.node), self.base


class SchemaDocuments:
    """A schema, and the schemas that it refers to, each known by its name and by its `$id`.

    Raises:
        SchemaError: A text is not a JSON Schema.
    """

    def __init__(self, schema: SchemaText) -> None:
        self._by_uri: dict[str, Part] = {}
        self._by_anchor: dict[tuple[str, str], Part] = {}
        self._by_node: dict[int, Part] = {}
        self.root = self._add(parsed(schema.text, "the schema"), "")
        for name, text in schema.dependencies:
            self._add(parsed(text, f"the reference {name!r}"), name)

    def base_of(self, part: Part) -> str:
        """The URI that references in a part are relative to: it may have an `$id` of its own."""
        return self._by_node.get(id(part.node), part).base

    def target(self, reference: str, base: str) -> Part:
        """The schema that a `$ref` leads to.

        Raises:
            SchemaError: There is none.
        """
        name, _, fragment = reference.partition("#")
        # A name of the registry's need not be a URI.
        for uri in (name, _joined(base, name)) if name else (base,):
            if (document := self._by_uri.get(uri)) is not None:
                return self._in_document(document, unquote(fragment))
        raise SchemaError(f"there is no schema {reference!r}: add it as a reference")

    def _in_document(self, document: Part, fragment: str) -> Part:
        if not fragment:
            return document
        if not fragment.startswith("/"):
            if (document.base, fragment) not in self._by_anchor:
                raise SchemaError(f"there is nothing named '#{fragment}'")
            return self._by_anchor[document.base, fragment]
        node, base = document
        for step in fragment.split("/")[1:]:
            node = _member(node, step.replace("~1", "/").replace("~0", "~"), fragment)
            base = self.base_of(Part(node, base))
        return Part(node, base)

    def _add(self, document: Any, name: str) -> Part:
        """Find all schemas of a document. Not by recursion: it may be deep."""
        dialect = str(document.get("$schema", "")) if isinstance(document, dict) else ""
        rest = [Part(document, name)]
        while rest:
            node, base = rest.pop()
            if isinstance(node, dict):
                base = self._named(node, base, dialect)
                self._by_node[id(node)] = Part(node, base)
                rest += [Part(each, base) for each in _schemas_in(node)]
        root = self._by_node.get(id(document), Part(document, name))
        self._by_uri[name] = root
        return root

    def _named(self, node: dict[str, Any], base: str, dialect: str) -> str:
        """Note the names of a schema; returns the base URI of the schemas in it."""
        given = _id_of(node, dialect)
        if given is not None:
            uri, _, anchor = _joined(base, given).partition("#")
            if anchor:
                self._by_anchor.setdefault((uri, anchor), Part(node, uri))
            else:
                self._by_uri.setdefault(uri, Part(node, uri))
            base = uri
        for word in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := node.get(word), str):
                self._by_anchor.setdefault((base, name), Part(node, base))
        return base


def parsed(text: str, what: str) -> Any:
    """The document of a schema's text.

    Raises:
        SchemaError: It is not a JSON Schema.
    """
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise SchemaError(f"{what} is nested too deeply") from error
    except ValueError as error:
        raise SchemaError(f"{what} is not JSON: {error}") from error
    if not isinstance(document, (dict, bool)):
        raise SchemaError(f"{what} is not a JSON Schema: it must be an object")
    return document


def _id_of(node: dict[str, Any], dialect: str) -> str | None:
    if "$ref" in node and any(each in dialect for each in _REF_ALONE):
        return None
    given = node.get("$id")
    if given is None and (not dialect or any(each in dialect for each in _PLAIN_ID)):
        given = node.get("id")
    return given if isinstance(given, str) else None


def _joined(base: str, reference: str) -> str:
    if reference.startswith("#") or not reference:
        # `urljoin` does not know the schemes urn and tag.
        return base + reference
    try:
        return urljoin(base, reference)
    except ValueError as error:
        raise SchemaError(f"{reference!r} is not a URI: {error}") from error


def _schemas_in(node: dict[str, Any]) -> Iterator[Any]:
    for word in _ONE:
        yield node.get(word)
    for word in _SEVERAL:
        if isinstance(parts := node.get(word), list):
            yield from parts
    for word in _BY_NAME:
        if isinstance(parts := node.get(word), dict):
            yield from parts.values()


def _member(node: Any, step: str, pointer: str) -> Any:
    if isinstance(node, dict) and step in node:
        return node[step]
    if isinstance(node, list) and step.isascii() and step.isdigit() and int(step) < len(node):
        return node[int(step)]
    raise SchemaError(f"there is nothing at '#{pointer}'")
