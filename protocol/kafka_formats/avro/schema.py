"""Avro schemas in JSON -> a tree of types. Names are resolved and checked; no bytes are read here.

Source: Apache Avro 1.12, "Schema Declaration", "Names" and "Logical Types".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from kafka_formats.avro.logical import Logical, logical_of
from kafka_formats.errors import SchemaError
from kafka_formats.payload.schema_text import SchemaText

# As Java's library reads them: the specification has letters of ASCII only.
_NAME: Final = re.compile(r"[^\W\d]\w*")
# Java's inner classes, as its reflection wrote them before 1.12.
_NAMESPACE_PART: Final = re.compile(r"[^\W\d][\w$]*")
PRIMITIVES: Final = frozenset(
    {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}
)
# The largest schema that is read, with the types that it names: what walks it recurses.
_MAX_DEPTH: Final = 100
_MAX_TYPES: Final = 100_000
_NO_DEFAULT: Final = object()


@dataclass(frozen=True, slots=True)
class Primitive:
    """One of `PRIMITIVES`."""

    name: str
    logical: Logical | None = None


@dataclass(frozen=True, slots=True)
class Fixed:
    """Bytes of one length."""

    name: str
    size: int
    aliases: frozenset[str] = frozenset()
    logical: Logical | None = None


@dataclass(frozen=True, slots=True)
class Enum:
    """One of some symbols; `default` stands for symbols that a reader does not know."""

    name: str
    symbols: Sequence[str]
    aliases: frozenset[str] = frozenset()
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Array:
    """A list of items."""

    items: Schema


@dataclass(frozen=True, slots=True)
class Map:
    """Values by string keys."""

    values: Schema


@dataclass(frozen=True, slots=True)
class Union:
    """One of several types."""

    branches: Sequence[Schema]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record. `default` is JSON, as `has_default` says."""

    name: str
    schema: Schema
    aliases: frozenset[str] = frozenset()
    default: Any = field(default=_NO_DEFAULT)

    @property
    def has_default(self) -> bool:
        """Whether a reader can do without the field."""
        return self.default is not _NO_DEFAULT


@dataclass(frozen=True, slots=True)
class RecordSchema:
    """Fields in their order."""

    name: str
    fields: Sequence[Field]
    aliases: frozenset[str] = frozenset()


@dataclass(slots=True)
class Recursive:
    """A record within itself: its name, by which it is compared, and the record."""

    name: str
    record: RecordSchema = field(init=False, repr=False, compare=False)


Schema: TypeAlias = "Primitive | Fixed | Enum | Array | Map | Union | RecordSchema | Recursive"
Named: TypeAlias = "Fixed | Enum | RecordSchema"


def parsed(schema: SchemaText) -> Schema:
    """The tree of a schema, or of the type of a union that its message names.

    Raises:
        SchemaError: The text is not a valid schema.
    """
    tree = _tree(schema.text, tuple(text for _, text in schema.dependencies))
    if schema.message is None or not isinstance(tree, Union):
        return tree
    return next(each for each in tree.branches if kind_of(each) == schema.message)


# One text is read as each type of its union.
@lru_cache(maxsize=100)
def _tree(text: str, references: tuple[str, ...]) -> Schema:
    return parse_schema(text, references)


def parse_schema(text: str, references: Sequence[str] = ()) -> Schema:
    """The tree of a schema in JSON.

    Args:
        text: The schema.
        references: Schemas of names that it uses; each may use the schemas before it.

    Raises:
        SchemaError: The text is not a valid schema.
    """
    parser = _Parser()
    try:
        for reference in references:
            parser.schema(_json(reference), "")
        return parser.schema(_json(text), "")
    except RecursionError as error:
        raise SchemaError("an Avro schema is nested too deep") from error


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise SchemaError(f"an Avro schema is not valid JSON: {error}") from error


class _Defined(NamedTuple):
    """A named type, the number of types in it, and how deep they are nested."""

    schema: Named
    types: int
    depth: int


class _Parser:
    """Reads the types of a schema."""

    def __init__(self) -> None:
        self._named: dict[str, _Defined] = {}  # by full name
        self._open: dict[str, Recursive] = {}  # the records that are being read
        self._depth = 0
        self._deepest = 0
        self._types = 0

    def schema(self, value: Any, namespace: str) -> Schema:
        self._depth += 1
        self._add(types=1, depth=0)
        schema = self._schema(value, namespace)
        self._depth -= 1
        return schema

    def _add(self, types: int, depth: int) -> None:
        """Count types, nested as deep, at this place."""
        self._types += types
        self._deepest = max(self._deepest, self._depth + depth)
        if self._deepest > _MAX_DEPTH:
            raise SchemaError(f"an Avro schema is nested more than {_MAX_DEPTH} times")
        if self._types > _MAX_TYPES:
            raise SchemaError(f"an Avro schema has more than {_MAX_TYPES:,} types")

    def _schema(self, value: Any, namespace: str) -> Schema:
        if isinstance(value, list):
            return self._union(value, namespace)
        if isinstance(value, str):
            return self._by_name(value, namespace)
        if not isinstance(value, dict) or "type" not in value:
            raise SchemaError(f"{_shown(value)} is not an Avro type")
        kind = value["type"]
        if not isinstance(kind, str):
            return self.schema(kind, namespace)
        return self._complex(kind, value, namespace)

    def _complex(self, kind: str, value: Mapping[str, Any], namespace: str) -> Schema:
        match kind:
            case "array":
                return Array(self.schema(_required(value, "items"), namespace))
            case "map":
                return Map(self.schema(_required(value, "values"), namespace))
            case "record" | "error" | "fixed" | "enum":
                return self._definition(kind, value, namespace)
        if kind in PRIMITIVES:
            return Primitive(kind, logical_of(value, kind))
        return self._by_name(kind, namespace)

    def _by_name(self, name: str, namespace: str) -> Schema:
        if name in PRIMITIVES:
            return Primitive(name)
        full = _full_name(name, namespace)
        if full in self._open:
            return self._open[full]
        defined = self._named.get(full) or self._named.get(name)
        if defined is None:
            raise SchemaError(f"the Avro type {full!r} is not defined")
        self._add(defined.types, defined.depth)
        return defined.schema

    def _union(self, values: Sequence[Any], namespace: str) -> Union:
        branches = [self.schema(value, namespace) for value in values]
        if not branches:
            raise SchemaError("a union has no types")
        if any(isinstance(branch, Union) for branch in branches):
            raise SchemaError("a union is directly within another one")
        kinds = [kind_of(branch) for branch in branches]
        if twice := {kind for kind in kinds if kinds.count(kind) > 1}:
            raise SchemaError(f"a union has the type {min(twice)!r} twice")
        return Union(branches)

    def _definition(self, kind: str, value: Mapping[str, Any], namespace: str) -> Named:
        full = _full_name(_required(value, "name"), value.get("namespace", namespace))
        own_namespace, _, own_name = full.rpartition(".")
        for part in own_namespace.split(".") if own_namespace else []:
            _check_name(part, _NAMESPACE_PART)
        _check_name(own_name)
        if full in {*self._open, *PRIMITIVES}:
            raise SchemaError(f"the Avro type {full!r} is defined twice")
        aliases = frozenset(
            _full_name(alias, own_namespace) for alias in _strings(value, "aliases")
        )
        types, deepest, self._deepest = self._types, self._deepest, self._depth
        if kind == "fixed":
            definition: Named = _fixed(full, value, aliases)
        elif kind == "enum":
            definition = _enum(full, value, aliases)
        else:
            definition = self._record(full, value, aliases)
        defined = _Defined(definition, self._types - types, self._deepest - self._depth)
        self._deepest = max(deepest, self._deepest)
        # The same definition may be repeated (AVRO-3940).
        if self._named.setdefault(full, defined).schema != definition:
            raise SchemaError(f"the Avro type {full!r} is defined twice")
        return definition

    def _record(self, full: str, value: Mapping[str, Any], aliases: frozenset[str]) -> RecordSchema:
        within = self._open[full] = Recursive(full)
        record = RecordSchema(full, [*self._fields(full, value, full.rpartition(".")[0])], aliases)
        within.record = record
        del self._open[full]
        return record

    def _fields(self, record: str, value: Mapping[str, Any], namespace: str) -> Iterator[Field]:
        names: set[str] = set()
        for each in _list(value, "fields"):
            if not isinstance(each, dict):
                raise SchemaError(f"{_shown(each)} is not a field of the record {record!r}")
            name = _required(each, "name")
            _check_name(name)
            if name in names:
                raise SchemaError(f"the record {record!r} has the field {name!r} twice")
            names.add(name)
            yield Field(
                name,
                self.schema(_required(each, "type"), namespace),
                frozenset(_strings(each, "aliases")),
                each.get("default", _NO_DEFAULT),
            )


def is_text(value: str) -> bool:
    """Whether a text of JSON has an encoding: half of a surrogate pair has none."""
    return value.isascii() or not re.search(r"[\ud800-\udfff]", value)


def kind_of(schema: Schema) -> str:
    """The key of a branch, unique in its union: the type, or the name of a named type."""
    match schema:
        case Primitive(name):
            return name
        case Array():
            return "array"
        case Map():
            return "map"
        case Union():
            return "union"
        case _:
            return schema.name


def _fixed(name: str, value: Mapping[str, Any], aliases: frozenset[str]) -> Fixed:
    size = value.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 2**31:
        raise SchemaError(f"the fixed type {name!r} has the size {_shown(size)}")
    return Fixed(name, size, aliases, logical_of(value, "fixed", size))


def _enum(name: str, value: Mapping[str, Any], aliases: frozenset[str]) -> Enum:
    symbols = [*_strings(value, "symbols")]
    default = value.get("default")
    if wrong := [each for each in symbols if not is_text(each)]:
        raise SchemaError(f"the enum {name!r} has the symbol {_shown(wrong[0])}")
    if not symbols or len(set(symbols)) < len(symbols):
        raise SchemaError(f"the enum {name!r} has no symbols, or one of them twice")
    if default is not None and default not in symbols:
        raise SchemaError(
            f"the default {_shown(default)} of the enum {name!r} is not one of its symbols"
        )
    return Enum(name, symbols, aliases, default)


def _full_name(name: Any, namespace: Any) -> str:
    if not isinstance(name, str) or not isinstance(namespace, str | None):
        raise SchemaError(f"{_shown(name)} is not a name of an Avro type")
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _check_name(name: Any, pattern: re.Pattern[str] = _NAME) -> None:
    if not isinstance(name, str) or not pattern.fullmatch(name):
        raise SchemaError(f"{_shown(name)} is not an Avro name")


def _required(value: Mapping[str, Any], key: str) -> Any:
    if key not in value:
        raise SchemaError(f"{_shown(value)} has no {key!r}")
    return value[key]


def _list(value: Mapping[str, Any], key: str) -> list[Any]:
    items = value.get(key, [])
    if not isinstance(items, list):
        raise SchemaError(f"{key!r} of {_shown(value)} is not a list")
    return items


def _strings(value: Mapping[str, Any], key: str) -> Iterator[str]:
    for each in _list(value, key):
        if not isinstance(each, str):
            raise SchemaError(f"{key!r} of {_shown(value)} has {_shown(each)}")
        yield each


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 80 else text[:77] + "..."
