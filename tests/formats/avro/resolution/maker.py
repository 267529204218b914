"""Random pairs of schemas and values: the reader's schema is the writer's, changed here and there.

Everything follows from a seed.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Mapping
from typing import Final

from tests.formats.avro.resolution.pairs import Json, Pair, Value, kind_of

_PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_LOGICAL: Final[Mapping[str, tuple[str, ...]]] = {
    "int": ("date", "time-millis"),
    "long": (
        "time-micros",
        *(
            f"{local}timestamp-{unit}"
            for local in ("", "local-")
            for unit in ("millis", "micros", "nanos")
        ),
    ),
    "bytes": ("decimal", "big-decimal"),
    "string": ("uuid",),
}
_PROMOTED: Final[Mapping[str, tuple[str, ...]]] = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
_PRECISIONS: Final = (1, 2, 9, 18, 19, 28, 29, 37, 38, 39, 64, 76)
_SYMBOLS: Final = "ABCDE"
_LONGS: Final = (
    *(0, 1, -1, 63, 64, -64, -65, 2**31 - 1, 2**31, -(2**31), 2**53 + 1, 2**62),
    *(2**63 - 1, -(2**63), -(2**63) + 1, 9_223_372_036_854_775, 9_223_372_036_854_776),
    *(10**15, 10**18),
)
_DOUBLES: Final = (0.0, -0.0, 0.1, 1e300, -1e300, 5e-324, float("inf"), float("-inf"), float("nan"))
_TEXTS: Final = ("", "a", "ÿ", "\x00", "日本", "🎈", "x" * 80)


class Maker:
    """Makes pairs from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._names = 0

    def pair(self) -> Pair:
        """A pair with a few values."""
        self._names = 0
        writer = self._schema(self._random.choice((1, 2, 3)))
        # Small, so that most payloads have what was changed.
        changes = self._random.choice((0.1, 0.3, 0.6))
        reader = self._changed(writer, changes)
        return Pair(writer, reader, [self._value(writer) for _ in range(4)])

    def values(self, schema: Json, count: int) -> list[Value]:
        """Values of a schema."""
        return [self._value(schema) for _ in range(count)]

    # --- Schemas ---------------------------------------------------------------------------------

    def _schema(self, depth: int) -> Json:
        if depth and self._random.random() < 0.3:
            return self._union(depth - 1)
        return self._part(depth)

    def _union(self, depth: int) -> Json:
        parts = [self._part(depth) for _ in range(self._random.choice((1, 2, 2, 3)))]
        if self._random.random() < 0.7:
            parts.insert(self._random.randrange(len(parts) + 1), "null")
        return self._distinct(parts)

    def _distinct(self, parts: list[Json]) -> Json:
        """A union has each type once."""
        return [*{_branch_name(each): each for each in parts}.values()]

    def _part(self, depth: int) -> Json:
        pick = self._random.random()
        if depth and pick < 0.6:
            return self._nested(depth - 1)
        if pick < 0.75:
            return self._annotated(self._random.choice((*_LOGICAL, "bytes", "long", "long")))
        if pick < 0.82:
            return self._fixed()
        if pick < 0.88:
            count = self._random.randint(1, len(_SYMBOLS))
            return self._enum([*_SYMBOLS[:count]])
        return self._random.choice(_PRIMITIVES)

    def _nested(self, depth: int) -> Json:
        kind = self._random.choice(("record", "record", "array", "map"))
        if kind == "array":
            return {"type": "array", "items": self._schema(depth)}
        if kind == "map":
            return {"type": "map", "values": self._schema(depth)}
        count = self._random.randint(0, 4)
        fields = [{"name": f"f{number}", "type": self._schema(depth)} for number in range(count)]
        return {"type": "record", "name": self._name("R"), "fields": fields}

    def _name(self, letter: str) -> str:
        self._names += 1
        return self._random.choice(("", "", "space.")) + f"{letter}{self._names}"

    def _enum(self, symbols: list[str]) -> Json:
        return {"type": "enum", "name": self._name("E"), "symbols": symbols}

    def _fixed(self) -> Json:
        size = self._random.choice((0, 1, 2, 8, 12, 16, 17, 20))
        fixed = {"type": "fixed", "name": self._name("F"), "size": size}
        return fixed | self._fixed_logical(size)

    def _fixed_logical(self, size: int) -> dict[str, Json]:
        digits = len(str(2 ** (8 * size - 1) - 1)) - 1 if size else 0
        named = {12: "duration", 16: "uuid"}
        if size in named and self._random.random() < 0.3:
            return {"logicalType": named[size]}
        if digits and self._random.random() < 0.6:
            return self._decimal([each for each in (*_PRECISIONS, digits) if each <= digits])
        return {}

    def _decimal(self, precisions: list[int]) -> dict[str, Json]:
        precision = self._random.choice(precisions)
        scale = self._random.choice((0, 1, 2, precision // 2, precision - 1, precision))
        scale = min(scale, precision)
        return {"logicalType": "decimal", "precision": precision, "scale": scale}

    def _annotated(self, kind: str) -> Json:
        name = self._random.choice(_LOGICAL[kind])
        if name == "decimal":
            return {"type": kind} | self._decimal([*_PRECISIONS])
        return {"type": kind, "logicalType": name}

    # --- The reader's schema ---------------------------------------------------------------------

    def _changed(self, schema: Json, changes: float) -> Json:
        """The schema, with some changes in it."""
        schema = self._with_changed_parts(schema, changes)
        if self._random.random() >= changes:
            return schema
        return (
            _CHANGES[kind_of(schema)](self, schema)
            if self._random.random() < 0.8
            else (self._wrapped(schema))
        )

    def _with_changed_parts(self, schema: Json, changes: float) -> Json:
        match kind_of(schema):
            case "union":
                return self._distinct(self._flat([self._changed(each, changes) for each in schema]))
            case "array":
                return schema | {"items": self._changed(schema["items"], changes)}
            case "map":
                return schema | {"values": self._changed(schema["values"], changes)}
            case "record":
                fields = [
                    each | {"type": self._changed(each["type"], changes)}
                    for each in schema["fields"]
                ]
                return schema | {"fields": fields}
        return schema

    def _flat(self, branches: list[Json]) -> list[Json]:
        """A union is not in a union."""
        return [each for part in branches for each in (part if isinstance(part, list) else [part])]

    def _wrapped(self, schema: Json) -> Json:
        others = ["null"] if self._random.random() < 0.5 else [self._part(0)]
        parts = self._flat([schema, *others])
        self._random.shuffle(parts)
        return self._distinct(parts)

    def _other_primitive(self, schema: Json) -> Json:
        kind = kind_of(schema)
        pick = self._random.random()
        if pick < 0.55 and kind in _LOGICAL:
            return self._annotated(kind)
        if pick < 0.65:
            return kind
        if pick < 0.95 and kind in _PROMOTED:
            promoted = self._random.choice(_PROMOTED[kind])
            if promoted in _LOGICAL and self._random.random() < 0.6:
                return self._annotated(promoted)
            return promoted
        return self._part(0)

    def _other_fixed(self, schema: Json) -> Json:
        plain = {key: schema[key] for key in ("type", "name", "size")}
        pick = self._random.random()
        if pick < 0.7:
            return plain | self._fixed_logical(schema["size"])
        return self._renamed(plain) if pick < 0.9 else plain | {"size": schema["size"] + 1}

    def _other_enum(self, schema: Json) -> Json:
        symbols = [each for each in _SYMBOLS if self._random.random() < 0.6] or ["E"]
        self._random.shuffle(symbols)
        default = {"default": symbols[0]} if self._random.random() < 0.4 else {}
        changed = schema | {"symbols": symbols} | default
        return self._renamed(changed) if self._random.random() < 0.2 else changed

    def _renamed(self, schema: Json) -> Json:
        """Another name or namespace, often with the old name as an alias."""
        old = schema["name"]
        short = old.rpartition(".")[2]
        name = self._random.choice((f"{short}b", f"{short}b", f"other.{short}"))
        aliases = {"aliases": [old]} if self._random.random() < 0.6 else {}
        # An alias without a point would be one in the namespace of the new name.
        return schema | {"name": name} | (aliases if "." in old or "." not in name else {})

    def _other_union(self, schema: Json) -> Json:
        pick = self._random.random()
        branches = [*schema]
        if pick < 0.3:
            return self._random.choice(branches)
        if pick < 0.6:
            self._random.shuffle(branches)
        elif pick < 0.8 and len(branches) > 1:
            branches.pop(self._random.randrange(len(branches)))
        else:
            branches.insert(self._random.randrange(len(branches) + 1), self._part(0))
        return self._distinct(branches)

    def _other_list(self, schema: Json) -> Json:
        if schema["type"] == "array":
            return {"type": "map", "values": schema["items"]}
        return {"type": "array", "items": schema["values"]}

    def _other_record(self, schema: Json) -> Json:
        fields = [*schema["fields"]]
        for _ in range(self._random.choice((1, 1, 2))):
            pick = self._random.random()
            place = self._random.randrange(len(fields)) if fields else -1
            if pick < 0.45:
                fields.insert(max(place, 0), self._new_field(len(fields)))
            elif fields and pick < 0.65:
                fields.pop(place)
            elif fields and pick < 0.8:
                old = fields[place]["name"]
                aliases = {"aliases": [old]} if self._random.random() < 0.8 else {}
                fields[place] = fields[place] | {"name": f"{old}b"} | aliases
            else:
                self._random.shuffle(fields)
        unique = {each["name"]: each for each in fields}
        changed = schema | {"fields": [*unique.values()]}
        return self._renamed(changed) if self._random.random() < 0.2 else changed

    def _new_field(self, number: int) -> Json:
        schema = self._schema(1)
        field = {"name": f"new{number}", "type": schema}
        return field | ({"default": self._default(schema)} if self._random.random() < 0.9 else {})

    # --- Values and defaults ---------------------------------------------------------------------

    def _value(self, schema: Json) -> Value:
        kind = kind_of(schema)
        logical = schema.get("logicalType") if isinstance(schema, dict) else None
        if logical in _TIMES_OF_DAY:
            limit = _TIMES_OF_DAY[logical]
            return self._random.choice((0, 1, limit - 1, self._random.randrange(limit)))
        if logical == "decimal":
            return self._unscaled(schema)
        return _VALUES[kind](self, schema)

    def _unscaled(self, schema: Json) -> bytes:
        precision: int = schema["precision"]
        limit: int = 10**precision - 1
        digits: int = 10 ** self._random.randrange(precision)
        whole = self._random.randrange(-9, 10) * digits
        number = self._random.choice(
            (0, 1, -1, limit, -limit, whole, self._random.randint(-limit, limit))
        )
        number = max(-limit, min(limit, number))
        shortest = number.bit_length() // 8 + self._random.choice((1, 1, 2))
        return number.to_bytes(schema.get("size", shortest), "big", signed=True)

    def _long(self, bits: int) -> int:
        drawn = self._random.getrandbits(self._random.randrange(1, bits))
        small = self._random.randint(-100, 100)
        number: int = self._random.choice((self._random.choice(_LONGS), small, drawn))
        # Whole seconds, days and so on: a coarser unit can have them.
        number *= self._random.choice((1, 1, 1_000, 1_000_000, 86_400_000))
        number *= self._random.choice((1, -1))
        limit: int = 2 ** (bits - 1)
        return max(-limit, min(limit - 1, number))

    def _double(self, code: str) -> float:
        number = self._random.choice((*_DOUBLES, self._random.random(), self._random.gauss(0, 1e6)))
        try:
            return float(struct.unpack(code, struct.pack(code, number))[0])
        except OverflowError:
            return 1.5

    def _text(self) -> str:
        drawn = "".join(chr(self._random.randrange(1, 0x800)) for _ in range(4))
        return self._random.choice((*_TEXTS, drawn))

    def _binary(self, size: int | None = None) -> bytes:
        if size is None:
            size = self._random.choice((0, 1, 2, 16, 17, 40))
        if self._random.random() < 0.3:
            return bytes([self._random.choice((0, 0x7F, 0x80, 0xFF))]) * size
        # Mostly text, as it may be read as one.
        most = 0x80 if self._random.random() < 0.5 else 0x100
        return bytes(self._random.randrange(most) for _ in range(size))

    def _list(self, schema: Json) -> list[Value]:
        return [self._value(schema) for _ in range(self._random.choice((0, 1, 2, 2, 3)))]

    def _branch(self, schema: Json) -> tuple[int, Value]:
        number = self._random.randrange(len(schema))
        return number, self._value(schema[number])

    def _default(self, schema: Json) -> Json:
        """JSON of the type of a schema; of another type in few cases."""
        if self._random.random() < 0.03:
            return self._random.choice((None, True, 7, -1.5, "x", [], {}, 2**63, 2**31, 10**400))
        kind = kind_of(schema)
        return _DEFAULTS.get(kind, Maker._plain_default)(self, schema)

    def _plain_default(self, schema: Json) -> Json:
        value = self._value(schema)
        if isinstance(value, bytes):
            return value.decode("latin-1")
        is_special = isinstance(value, float) and value - value != 0
        return self._random.choice((1, 1.5, 1e39, 2**70)) if is_special else value

    def _some_defaults(self, schema: Json) -> list[Json]:
        return [self._default(schema) for _ in range(self._random.choice((0, 1, 2)))]


_TIMES_OF_DAY: Final = {"time-millis": 86_400_000, "time-micros": 86_400_000_000}
_CHANGES: Final[Mapping[str, Callable[[Maker, Json], Json]]] = {
    **dict.fromkeys(_PRIMITIVES, Maker._other_primitive),
    "fixed": Maker._other_fixed,
    "enum": Maker._other_enum,
    "union": Maker._other_union,
    "array": Maker._other_list,
    "map": Maker._other_list,
    "record": Maker._other_record,
}
_VALUES: Final[Mapping[str, Callable[[Maker, Json], Value]]] = {
    "null": lambda make, schema: None,
    "boolean": lambda make, schema: make._random.random() < 0.5,
    "int": lambda make, schema: make._long(32),
    "long": lambda make, schema: make._long(64),
    "float": lambda make, schema: make._double("<f"),
    "double": lambda make, schema: make._double("<d"),
    "bytes": lambda make, schema: make._binary(),
    "string": lambda make, schema: make._text(),
    "fixed": lambda make, schema: make._binary(schema["size"]),
    "enum": lambda make, schema: make._random.randrange(len(schema["symbols"])),
    "array": lambda make, schema: make._list(schema["items"]),
    "map": lambda make, schema: [
        (f"{make._text()}{number}", value)
        for number, value in enumerate(make._list(schema["values"]))
    ],
    "union": lambda make, schema: make._branch(schema),
    "record": lambda make, schema: {
        each["name"]: make._value(each["type"]) for each in schema["fields"]
    },
}


_DEFAULTS: Final[Mapping[str, Callable[[Maker, Json], Json]]] = {
    "union": lambda make, schema: make._default(make._random.choice(schema)),
    "record": lambda make, schema: {
        each["name"]: make._default(each["type"]) for each in schema["fields"]
    },
    "array": lambda make, schema: make._some_defaults(schema["items"]),
    "map": lambda make, schema: {
        make._text(): each for each in make._some_defaults(schema["values"])
    },
    "enum": lambda make, schema: make._random.choice(schema["symbols"]),
}


def _branch_name(schema: Json) -> str:
    """What tells branches of a union apart."""
    return str(schema["name"]) if isinstance(schema, dict) and "name" in schema else kind_of(schema)
