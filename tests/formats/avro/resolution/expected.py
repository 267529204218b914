"""What a payload is read as: Java's resolution and the writer's values, in the reader's types.

Java's own reader takes what was written for the reader's logical type. Here the value counts: that
of the writer's logical type, as Java's conversions give it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any, Final

from tests.formats.avro.resolution.pairs import Json

_DAY: Final = 86_400_000_000_000
# Logical type -> nanoseconds of what is written, and of what a reader gets.
TIMES: Final[Mapping[str, tuple[int, int]]] = {
    "date": (_DAY, _DAY),
    "time-millis": (1_000_000, 1_000_000),
    "time-micros": (1_000, 1_000),
    **{
        f"{local}timestamp-{unit}": (written, shown)
        for local in ("", "local-")
        for unit, written, shown in (
            ("millis", 1_000_000, 1_000),
            ("micros", 1_000, 1_000),
            ("nanos", 1, 1),
        )
    },
}
_AT: Final = {name for name in TIMES if "timestamp" in name}
# Written -> read as.
_READABLE: Final[Mapping[str, set[str]]] = {
    "date": {"date", *_AT},
    **dict.fromkeys(_AT, _AT),
    "time-millis": {"time-millis", "time-micros"},
    "time-micros": {"time-millis", "time-micros"},
}
_BINARY: Final = {"decimal", "big-decimal"}
_EXACT: Final = Context(prec=1_000)


# Stands for the default of a union: Java's may be one of another type.
DEFAULT: Final = "the default of a union"


class Broken(Exception):
    """The payload cannot be read: `digits` would be lost, or the `meaning` or `text` is another."""


def expected(schema: Json, node: Json) -> Any:
    """The value of a node as Arrow has it, with numbers for dates and timestamps.

    Raises:
        Broken: It has none.
    """
    if "default" in node and has_union(schema):
        return DEFAULT
    if isinstance(schema, list):
        return _of_union(schema, node)
    if "fields" in node:
        types = {each["name"]: each["type"] for each in schema["fields"]}
        return {name: expected(types[name], node["fields"][name]) for name in types}
    if "items" in node:
        return [expected(schema["items"], each) for each in node["items"]]
    if "entries" in node:
        return [(key, expected(schema["values"], each)) for key, each in node["entries"]]
    return _of_leaf(schema, node)


def has_union(schema: Json) -> bool:
    """Whether a schema is a union, or has one."""
    if isinstance(schema, dict):
        parts = [schema.get("items"), schema.get("values"), schema["type"]]
        return any(map(has_union, [*parts, *(each["type"] for each in schema.get("fields", []))]))
    return isinstance(schema, list)


def is_wide(union: Json) -> list[Json]:
    """The types of a union that is a struct; empty for others."""
    others = [each for each in union if each != "null"]
    return others if len(others) > 1 and not _is_number(union) else []


def _is_number(union: Json) -> bool:
    """Whether Spark shows a union as the wider of two numbers, whatever they annotate."""
    kinds = {each["type"] if isinstance(each, dict) else each for each in union}
    return kinds - {"null"} in ({"int", "long"}, {"float", "double"})


def _of_union(schema: Json, node: Json) -> Any:
    branch = schema[node["branch"]]
    if _is_number(schema) and branch != "null":
        return _of_leaf(_raw(branch, node["of"]), node["of"] | {"w": ""})
    value = expected(branch, node["of"])
    if branch == "null" or not (members := is_wide(schema)):
        return value
    return {
        f"member{number}": value if each is branch else None for number, each in enumerate(members)
    }


def _raw(branch: Json, node: Json) -> Json:
    """The type of a number that is not converted."""
    if not isinstance(branch, dict):
        return branch
    if node.get("w", "") not in {"", branch["logicalType"]}:
        raise Broken("meaning")
    return branch["type"]


def _of_leaf(schema: Json, node: Json) -> Any:
    raw = _RAW[node["t"]](node["v"])
    logical = schema if isinstance(schema, dict) else {}
    read: str = logical.get("logicalType", "")
    written: str = node.get("w", "")
    if "p" in node and {read, written} & _BINARY:
        # A text for a number in bytes, or the reverse.
        raise Broken("meaning")
    if read == "decimal":
        return _decimal(logical, raw, written, node)
    if read in TIMES and node["t"] in {"int", "long"}:
        return _time(read, raw, written, node)
    if read and written and read != written:
        raise Broken("meaning")
    return raw


def _decimal(logical: Json, raw: bytes, written: str, node: Json) -> Any:
    if written not in {"", "decimal"}:
        raise Broken("meaning")
    if not raw:
        raise Broken("digits")
    scale = logical["scale"]
    if not written:
        value = Decimal(int.from_bytes(raw, "big", signed=True)).scaleb(-scale, _EXACT)
    else:
        value = Decimal(node["c"])
    exact = value.scaleb(scale, _EXACT)
    unscaled = int(exact)
    if unscaled != exact:
        raise Broken("digits")
    value = Decimal(unscaled).scaleb(-scale, _EXACT)
    if logical["precision"] > 38:
        return f"{value:f}"
    if abs(unscaled) >= 10 ** logical["precision"]:
        raise Broken("digits")
    return value


def _time(read: str, raw: int, written: str, node: Json) -> int:
    unit, shown = TIMES[read]
    nanos = raw * unit
    if written:
        if read not in _READABLE.get(written, ()):
            raise Broken("meaning")
        nanos = int(node["c"]) * (_DAY if written == "date" else 1)
    value, rest = divmod(nanos, shown)
    if rest or not -(2**63) <= value < 2**63:
        raise Broken("digits")
    return value


def _text(value: str) -> str:
    try:
        return bytes.fromhex(value).decode()
    except UnicodeDecodeError:
        raise Broken("text") from None


_RAW: Final[Mapping[str, Callable[[str], Any]]] = {
    "null": lambda _: None,
    "boolean": lambda value: value == "true",
    "int": int,
    "long": int,
    "float": lambda value: struct.unpack("<f", struct.pack("<I", int(value, 16)))[0],
    "double": lambda value: struct.unpack("<d", struct.pack("<Q", int(value, 16)))[0],
    "bytes": bytes.fromhex,
    "fixed": bytes.fromhex,
    "string": _text,
    "enum": str,
}


def like(wanted: Any, value: Any) -> Any:
    """What is wanted, with the value's own parts for defaults of unions."""
    if wanted == DEFAULT:
        return value
    if isinstance(wanted, dict) and isinstance(value, dict):
        return {name: like(each, value.get(name)) for name, each in wanted.items()}
    if isinstance(wanted, list) and isinstance(value, list) and len(wanted) == len(value):
        return [like(each, other) for each, other in zip(wanted, value, strict=True)]
    if isinstance(wanted, tuple) and isinstance(value, tuple):
        return wanted[0], like(wanted[1], value[1])
    return wanted


def shown(value: Any) -> str:
    """A value as text: not-a-number is equal to itself, and -0.0 not to 0.0."""
    return repr(_in_order(value))


def _in_order(value: Any) -> Any:
    """The value with the entries of maps by their keys: Java's have no order."""
    if isinstance(value, dict):
        return {name: _in_order(each) for name, each in value.items()}
    if isinstance(value, list):
        items = [_in_order(each) for each in value]
        return sorted(items, key=lambda each: str(each[0])) if _is_map(items) else items
    return (value[0], _in_order(value[1])) if isinstance(value, tuple) else value


def _is_map(items: list[Any]) -> bool:
    return all(isinstance(each, tuple) for each in items)
