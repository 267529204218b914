"""What a hostile broker sends: honest responses in which some fields have other values."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from random import Random
from typing import Any, Final

from kafka_protocol.wire.schema import Field, Struct, describe
from tests.hostile.names import HOSTILE_NAMES

# Looking these up needs no network. Python's idna refuses some with a UnicodeError.
_HOSTS: Final = (
    "",
    "localhost",
    "\0",
    "[::1",
    "a" * 64,
    "a..b",
    "\u202e",
    "127.0.0.1:1",
    "..",
    "%",
)
_NUMBERS: Final = (-(2**31), -2, -1, 0, 1, 2, 41, 2**15 - 1, 2**31 - 1)
_PICKLE: Final = b"cos\nsystem\n(S'touch canary'\ntR."
_BYTES: Final = (b"", b"\0", b"\xff" * 9, b"\x1b]0;x\x07", b"$(touch canary)", _PICKLE)
_PORTS: Final = (-1, 0, 1, 65_535, 65_536, 2**31 - 1)

_STRINGS: Final = tuple(each for each in HOSTILE_NAMES if each.isascii() or each.isprintable())
_VALUES: Final[dict[str, Callable[[Random], Any]]] = {
    "string": lambda random: random.choice(_STRINGS),
    "bytes": lambda random: random.choice(_BYTES),
    "records": lambda random: random.choice(_BYTES),
    "bool": lambda random: random.random() < 0.5,
    "int8": lambda random: random.randrange(-128, 128),
    "int16": lambda random: random.randrange(-2, 110),
    "uint16": lambda random: random.randrange(2**16),
    "int32": lambda random: random.choice(_NUMBERS),
    "uint32": lambda random: random.randrange(2**32),
    "int64": lambda random: random.choice((*_NUMBERS, -(2**63), 2**63 - 1, 2**40)),
}  # fmt: skip
_BY_NAME: Final[dict[str, Callable[[Random], Any]]] = {
    "host": lambda random: random.choice(_HOSTS),
    "port": lambda random: random.choice(_PORTS),
    "throttle_time_ms": lambda _random: 0,  # the client waits for as long as it says, up to a limit
}


def spoiled(message: Any, version: int, random: Random, rate: float) -> Any:
    """A copy in which each field has another value with this probability.

    Lists lose items, or have some twice.
    """
    other = copy(message)
    for field in type(message).__fields__:
        if version in field.versions:
            value = _spoiled_value(field, getattr(message, field.name), version, random, rate)
            setattr(other, field.name, value)
    return other


def _spoiled_value(field: Field, value: Any, version: int, random: Random, rate: float) -> Any:
    if isinstance(value, list):
        items = [each for each in value for _ in range(_copies(random, rate))]
        return [
            spoiled(each, version, random, rate) if isinstance(each, Struct) else each
            for each in items
        ]
    if isinstance(value, Struct):
        return spoiled(value, version, random, rate)
    if random.random() >= rate:
        return value
    if version in field.nullable and random.random() < 0.2:
        return None
    make = _BY_NAME.get(field.name) or _VALUES.get(str(describe(field.wire_type).primitive))
    return value if make is None else make(random)


def _copies(random: Random, rate: float) -> int:
    return random.choice((0, 2)) if random.random() < rate / 3 else 1
