"""The records of a write, from its seed: tables of keys, values, headers and timestamps. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.endurance.torture.topics import Write

Headers = tuple[tuple[str, bytes | None], ...]

NOW = 0
"""A timestamp that librdkafka replaces by the present."""

_FEW_KEYS = 20
_FIRST_MS = 1_700_000_000_000
_DAY_MS = 86_400_000
_WORDS = (b"pear", b"plum", b"fig", b"\x00\xff", "gr\u00fcn".encode(), b"[1, 2]", b" ", b"\n")


class NewRecord(NamedTuple):
    """A record before it is written; the timestamp in ms, or `NOW`."""

    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int


def records_of(write: Write, partitions: int) -> Iterator[NewRecord]:
    """The records of a write to so many partitions; a smaller count gives the first of them."""
    chance = random.Random(write.seed)
    shape = write.shape
    for number in range(write.count):
        yield NewRecord(
            int(chance.random() * partitions),
            KEYS[shape.keys](chance, number),
            VALUES[shape.values](chance, number),
            HEADERS[shape.headers](chance, number),
            TIMESTAMPS[shape.timestamps](chance, number),
        )


def _some_key(chance: random.Random, number: int) -> bytes | None:
    return chance.choice((None, b"", b"k", b"key %d" % number, chance.choice(_WORDS)))


def _text(chance: random.Random, least: int, most: int) -> bytes:
    """Bytes that compress well."""
    length = chance.randint(least, most)
    words = b" ".join(chance.choices(_WORDS, k=12))
    return (words * (length // len(words) + 1))[:length]


def _tiny(chance: random.Random, number: int) -> bytes | None:
    return chance.choice((None, b"", b"%d" % (number % 10)))


def _small(chance: random.Random, number: int) -> bytes | None:
    if chance.random() < 0.08:
        return None
    return b"%d " % number + _text(chance, 0, 120)


def _kilobytes(chance: random.Random, number: int) -> bytes:
    length = chance.randint(1_000, 20_000)
    return chance.choice((_text(chance, length, length), chance.randbytes(length)))


def _large(chance: random.Random, number: int) -> bytes:
    # The first one is as large as any, so that there is one.
    length = 3_000_000 if number == 0 else int(10 ** chance.uniform(5, 6.47))
    return chance.choice((_text(chance, length, length), chance.randbytes(length)))


def _mixed(chance: random.Random, number: int) -> bytes | None:
    make = chance.choices((_tiny, _small, _kilobytes), (30, 60, 2))[0]
    return make(chance, number)


def _some_headers(chance: random.Random, number: int) -> Headers:
    return tuple((chance.choice("abc"), b"%d" % each) for each in range(chance.randint(0, 3)))


_ODD_HEADERS: tuple[Headers, ...] = (
    (),
    (("twice", b"first"), ("other", b"x"), ("twice", b"second"), ("twice", None)),
    (("null", None),),
    (("empty", b""),),
    (("", b"of an empty name"),),
    (("schl\u00fcssel \u4e2d", b"\x00\xff" * 100),),
)


def _odd_headers(chance: random.Random, number: int) -> Headers:
    return chance.choice(_ODD_HEADERS)


def _many_headers(chance: random.Random, number: int) -> Headers:
    return tuple((f"header {each}", b"%d" % number) for each in range(chance.randint(0, 100)))


KEYS: dict[str, Callable[[random.Random, int], bytes | None]] = {
    "none": lambda chance, number: None,
    "some": _some_key,
    "few": lambda chance, number: b"key %d" % chance.randrange(_FEW_KEYS),
    "unique": lambda chance, number: b"key %d" % number,
    "long": lambda chance, number: chance.randbytes(chance.randint(1, 2_000)),
}

VALUES: dict[str, Callable[[random.Random, int], bytes | None]] = {
    "none": lambda chance, number: None,
    "tiny": _tiny,
    "small": _small,
    "mixed": _mixed,
    "kilobytes": _kilobytes,
    "large": _large,
}

HEADERS: dict[str, Callable[[random.Random, int], Headers]] = {
    "none": lambda chance, number: (),
    "some": _some_headers,
    "odd": _odd_headers,
    "many": _many_headers,
}

TIMESTAMPS: dict[str, Callable[[random.Random, int], int]] = {
    "now": lambda chance, number: NOW,
    "in order": lambda chance, number: _FIRST_MS + number,
    "same": lambda chance, number: _FIRST_MS,
    "out of order": lambda chance, number: _FIRST_MS + chance.randrange(_DAY_MS),
    "ancient": lambda chance, number: chance.randint(1, 1_000),
}
