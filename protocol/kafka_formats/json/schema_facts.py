"""The type of a value by all keywords and branches of a JSON Schema together.

`allOf` and `$ref` add keywords to a schema; `anyOf`, `oneOf` and others have alternatives. The
parts of objects and arrays are only collected, so that they are looked at when they are wanted.
Words that only constrain, such as `pattern`, `required` and `not`, say nothing.

Source: JSON Schema drafts 4 to 2020-12, "Validation"; for `connect.type` and the title of decimals,
Confluent's `JsonSchemaData`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from types import NoneType
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa

from kafka_formats.errors import SchemaError
from kafka_formats.json.schema_documents import Part, SchemaDocuments

Kinds: TypeAlias = "frozenset[str]"

# The kinds of values of JSON. A `number` is a whole number or a fraction.
KINDS_OF: Final[Mapping[str, Kinds]] = {
    "null": frozenset({"null"}),
    "boolean": frozenset({"boolean"}),
    "integer": frozenset({"integer"}),
    "number": frozenset({"integer", "fraction"}),
    "string": frozenset({"string"}),
    "array": frozenset({"array"}),
    "object": frozenset({"object"}),
}
ALL_KINDS: Final[Kinds] = frozenset().union(*KINDS_OF.values())
_NULL: Final = KINDS_OF["null"]
_KIND_OF_VALUE: Final[Mapping[type, Kinds]] = {
    NoneType: _NULL,
    bool: KINDS_OF["boolean"],
    int: KINDS_OF["integer"],
    float: KINDS_OF["number"],
    str: KINDS_OF["string"],
    list: KINDS_OF["array"],
    dict: KINDS_OF["object"],
}
# What helps where a part has no type.
CURE: Final = "leave the field out of .schema(...), or read it as a string there"
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
# References and branches within each other, at one place of a value.
_MAX_NESTED: Final = 64
_ANYTHING: Final[tuple[Any, ...]] = (True, {})


class Both(NamedTuple):
    """A value that has several schemas."""

    sources: tuple[Source, ...]


class Either(NamedTuple):
    """A value that has one of several schemas."""

    sources: tuple[Source, ...]


Source: TypeAlias = "Part | Both | Either"


class Facts(NamedTuple):
    """The facts about a value that follow from schemas.

    Attributes:
        declared: The kinds that `type` allows; None without it.
        implied: The kinds that other words are about; None without them.
        leaf: Its Arrow type, if the schema has Connect's name of it.
        fields: The named properties of objects.
        rest: Their other properties, if the schema describes them.
        is_open: Whether objects may have nothing that the schema names or describes.
        items: The items of arrays; None if the schema does not describe all.
        nodes: The schemas that say so, to find types that contain themselves.
    """

    declared: Kinds | None = None
    implied: Kinds | None = None
    leaf: pa.DataType | None = None
    fields: Mapping[str, Source] = {}
    rest: Source | None = None
    is_open: bool = True
    items: Source | None = None
    nodes: frozenset[int] = frozenset()

    @property
    def kinds(self) -> Kinds:
        """The kinds of values."""
        if self.declared is not None:
            return self.declared
        return ALL_KINDS if self.implied is None else self.implied


class FactReader:
    """Reads schemas; each is read once."""

    def __init__(self, documents: SchemaDocuments) -> None:
        self._documents = documents
        self._known: dict[tuple[int, str], Facts] = {}

    def facts(self, source: Source) -> Facts:
        """What the schemas of a value say.

        Raises:
            SchemaError: One is invalid, or has something that is not supported.
        """
        return self._facts(source, ())

    def _facts(self, source: Source, above: tuple[tuple[int, str], ...]) -> Facts:
        if isinstance(source, Both):
            return reduce(_both, [self._facts(each, above) for each in source.sources])
        if isinstance(source, Either):
            return _either([self._facts(each, above) for each in source.sources])
        if source.key in above:
            raise SchemaError("the type contains itself")
        if len(above) == _MAX_NESTED:
            raise SchemaError(
                f"more than {_MAX_NESTED} schemas are within each other for one value"
            )
        if source.key not in self._known:
            self._known[source.key] = self._of_part(source, (*above, source.key))
        return self._known[source.key]

    def _of_part(self, part: Part, above: tuple[tuple[int, str], ...]) -> Facts:
        node, base = part.node, self._documents.base_of(part)
        if isinstance(node, bool):
            return Facts() if node else Facts(declared=frozenset())
        if not isinstance(node, dict):
            raise SchemaError("it has a part that is not a schema, which is an object or a boolean")

        def facts(given: Any) -> Facts:
            return self._facts(Part(given, base), above)

        known = _own(node, base)
        if (target := self._target(node, base)) is not None:
            known = _both(self._facts(target, above), known)
        # What is inherited comes first, in order, as the fields of a base class do.
        inherited = [facts(each) for each in _listed(node, "allOf")]
        known = reduce(_both, [*inherited, known])
        for branches in _alternatives(node):
            known = _either([reduce(_both, map(facts, each), known) for each in branches])
        return known

    def _target(self, node: Mapping[str, Any], base: str) -> Part | None:
        for word in ("$dynamicRef", "$recursiveRef"):
            if word in node:
                raise SchemaError(f"{word} is not supported: {CURE}")
        if "$ref" not in node:
            return None
        if not isinstance(node["$ref"], str):
            raise SchemaError("$ref must be a string")
        return self._documents.target(node["$ref"], base)


def both(sources: Iterable[Source]) -> Source:
    """A value that has all of some schemas."""
    distinct = _distinct(sources)
    return distinct[0] if len(distinct) == 1 else Both(distinct)


def either(sources: Iterable[Source]) -> Source:
    """A value that has one of some schemas."""
    distinct = _distinct(sources)
    return distinct[0] if len(distinct) == 1 else Either(distinct)


def parts_of(source: Source) -> list[Part]:
    """The schemas of a value, whether it has all of them or one."""
    if isinstance(source, Part):
        return [source]
    return [part for each in source.sources for part in parts_of(each)]


def _distinct(sources: Iterable[Source]) -> tuple[Source, ...]:
    return tuple({_key(each): each for each in sources}.values())


def _key(source: Source) -> Any:
    if isinstance(source, Part):
        return source.key
    return type(source), tuple(map(_key, source.sources))


def _own(node: Mapping[str, Any], base: str) -> Facts:
    """What a schema says by itself."""
    fields = {name: Part(each, base) for name, each in _named(node, "properties").items()}
    rest = [*_named(node, "patternProperties").values()]
    rest += [node.get(word) for word in ("additionalProperties", "unevaluatedProperties")]
    described = [Part(each, base) for each in rest if isinstance(each, dict) and each]
    is_closed = False in [node.get("additionalProperties"), node.get("unevaluatedProperties")]
    items = _items(node, base)
    facts = Facts(
        declared=_declared(node),
        implied=_implied(node),
        leaf=_leaf(node),
        fields=fields,
        rest=either(described) if described else None,
        is_open=not (fields or described or is_closed),
        items=items,
    )
    says_nothing = facts == Facts()
    return facts if says_nothing else facts._replace(nodes=frozenset({id(node)}))


def _declared(node: Mapping[str, Any]) -> Kinds | None:
    given = node.get("type")
    if given is None:
        return None
    names = given if isinstance(given, list) else [given]
    if not all(isinstance(each, str) and each in KINDS_OF for each in names):
        raise SchemaError(f"the type {given!r} is not one of {', '.join(KINDS_OF)}")
    return frozenset().union(*(KINDS_OF[each] for each in names))


def _implied(node: Mapping[str, Any]) -> Kinds | None:
    if "const" in node or "enum" in node:
        values = [node["const"]] if "const" in node else _listed(node, "enum")
        return frozenset().union(*(_KIND_OF_VALUE[type(each)] for each in values))
    kinds: Kinds = frozenset()
    if {"properties", "patternProperties"} & node.keys() or _is_object(
        node, "additionalProperties"
    ):
        kinds |= KINDS_OF["object"]
    if "prefixItems" in node or isinstance(node.get("items"), (dict, list)):
        kinds |= KINDS_OF["array"]
    return kinds or None


def _is_object(node: Mapping[str, Any], word: str) -> bool:
    return isinstance(node.get(word), dict)


def _items(node: Mapping[str, Any], base: str) -> Source | None:
    """The items of arrays: one schema, or a list of schemas and one for the rest."""
    first, rest = _listed(node, "prefixItems"), node.get("items")
    if isinstance(rest, list):
        first, rest = rest, node.get("additionalItems")
    if rest is None:
        rest = node.get("unevaluatedItems")
    parts = [*first, *([rest] if isinstance(rest, dict) else [])]
    is_all = rest is False or rest not in (None, *_ANYTHING) or _at_most(node) <= len(first)
    return either([Part(each, base) for each in parts]) if parts and is_all else None


def _at_most(node: Mapping[str, Any]) -> float:
    count = node.get("maxItems")
    return count if isinstance(count, (int, float)) else float("inf")


def _leaf(node: Mapping[str, Any]) -> pa.DataType | None:
    name = node.get("connect.type")
    if not isinstance(name, str) or name not in _CONNECT_TYPES:
        return None
    if node.get("title") != _DECIMAL:
        return _CONNECT_TYPES[name]
    if _declared(node) in (None, KINDS_OF["string"]):
        # As bytes a decimal has no text of its own.
        raise SchemaError(f"a decimal as base64 is not supported: {CURE}")
    parameters = node.get("connect.parameters")
    scale = parameters.get("scale") if isinstance(parameters, dict) else None
    if not (isinstance(scale, str) and scale.isascii() and scale.isdigit() and int(scale) <= 38):
        raise SchemaError("a decimal needs a scale from 0 to 38 in connect.parameters")
    return pa.decimal128(38, int(scale))


def _alternatives(node: Mapping[str, Any]) -> list[list[Sequence[Any]]]:
    """For each word with branches: the branches, and the schemas that hold in each."""
    alternatives: list[list[Sequence[Any]]] = [
        [[each] for each in _listed(node, word)] for word in ("anyOf", "oneOf") if word in node
    ]
    if "if" in node and ("then" in node or "else" in node):
        alternatives.append([[node["if"], node.get("then", True)], [node.get("else", True)]])
    for word in ("dependentSchemas", "dependencies"):
        # In older drafts also lists of names.
        parts = [each for each in _named(node, word).values() if not isinstance(each, list)]
        alternatives += [[[each], []] for each in parts]
    return alternatives


def _both(first: Facts, second: Facts) -> Facts:
    """The facts about a value to which two schemas apply."""
    fields = dict(first.fields)
    for name, source in second.fields.items():
        fields[name] = both([fields[name], source]) if name in fields else source
    return Facts(
        declared=_common(first.declared, second.declared),
        implied=_common(first.implied, second.implied),
        leaf=second.leaf if first.leaf is None else first.leaf,
        fields=fields,
        rest=_both_or_one(first.rest, second.rest),
        is_open=first.is_open and second.is_open,
        items=_both_or_one(first.items, second.items),
        nodes=first.nodes | second.nodes,
    )


def _common(first: Kinds | None, second: Kinds | None) -> Kinds | None:
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _both_or_one(first: Source | None, second: Source | None) -> Source | None:
    given = [each for each in (first, second) if each is not None]
    return both(given) if given else None


def _either(branches: Sequence[Facts]) -> Facts:
    """The facts about a value to which one of several schemas applies."""
    kinds: Kinds = frozenset().union(*(each.kinds for each in branches))
    # Null fits every type, and a branch of no kinds fits no value.
    kept = [each for each in branches if each.kinds - _NULL]
    if not kept:
        return Facts(declared=kinds)
    is_declared = all(each.declared is not None for each in kept)
    objects = [each for each in kept if "object" in each.kinds]
    arrays = [each for each in kept if "array" in each.kinds]
    fields: dict[str, list[Source]] = {}
    for each in objects:
        for name, source in each.fields.items():
            fields.setdefault(name, []).append(source)
    rest = [each.rest for each in objects if each.rest is not None]
    items = [each.items for each in arrays if each.items is not None]
    # A map in one branch, and a struct in another.
    is_open = bool(fields) and any(each.rest and not each.fields for each in objects)
    return Facts(
        declared=kinds if is_declared else None,
        implied=None if is_declared else kinds,
        leaf=kept[0].leaf if len({each.leaf for each in kept}) == 1 else None,
        fields={name: either(sources) for name, sources in fields.items()},
        rest=either(rest) if rest else None,
        is_open=is_open or any(each.is_open for each in objects),
        items=either(items) if items and len(items) == len(arrays) else None,
        nodes=frozenset().union(*(each.nodes for each in kept)),
    )


def _listed(node: Mapping[str, Any], word: str) -> list[Any]:
    parts = node.get(word, [])
    if not isinstance(parts, list):
        raise SchemaError(f"{word} must be a list")
    return parts


def _named(node: Mapping[str, Any], word: str) -> dict[str, Any]:
    parts = node.get(word, {})
    if not isinstance(parts, dict):
        raise SchemaError(f"{word} must be an object")
    return parts
