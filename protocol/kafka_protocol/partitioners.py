"""The partitioners by name, and what each of them does with a key.

Pure: no I/O, no Spark, no Arrow; `partitioner` carries them out. Sources: Kafka's Java producer
(`BuiltInPartitioner`, KIP-480, KIP-794) and librdkafka (its topic option `partitioner`,
`rdkafka_msg.c`), so that a producer that moves here keeps its keys where they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from kafka_protocol.errors import KafkaConfigError


class KeyHash(Enum):
    """How a key becomes a number; its remainder is the partition."""

    MURMUR2 = auto()
    CRC32 = auto()
    FNV1A = auto()


class Keyless(Enum):
    """Where a row goes whose key does not count.

    Attributes:
        STICKY: With the rows around it, a batch's worth together: fuller batches, fewer requests.
        RANDOM: To any partition, each row for itself.
        IN_TURN: To the partition behind the one before.
        AS_EMPTY: To where the empty key goes.
    """

    STICKY = auto()
    RANDOM = auto()
    IN_TURN = auto()
    AS_EMPTY = auto()


@dataclass(frozen=True, slots=True)
class Partitioner:
    """Which partition a row goes to.

    Attributes:
        key_hash: The hash of its key; None where no key counts.
        keyless: Where it goes without a key that counts.
        empty_counts: Whether an empty key is a key; a null never is.
    """

    key_hash: KeyHash | None
    keyless: Keyless
    empty_counts: bool = True


DEFAULT: Final = Partitioner(KeyHash.MURMUR2, Keyless.STICKY)
STICKY: Final = Partitioner(None, Keyless.STICKY)
ROUND_ROBIN: Final = Partitioner(None, Keyless.IN_TURN)

PARTITIONERS: Final[Mapping[str, Partitioner]] = {
    "default": DEFAULT,
    "sticky": STICKY,
    "round_robin": ROUND_ROBIN,
    # From here on as librdkafka has them.
    "random": Partitioner(None, Keyless.RANDOM),
    "murmur2": Partitioner(KeyHash.MURMUR2, Keyless.AS_EMPTY),
    "murmur2_random": Partitioner(KeyHash.MURMUR2, Keyless.RANDOM),
    "consistent": Partitioner(KeyHash.CRC32, Keyless.AS_EMPTY),
    "consistent_random": Partitioner(KeyHash.CRC32, Keyless.RANDOM, empty_counts=False),
    "fnv1a": Partitioner(KeyHash.FNV1A, Keyless.AS_EMPTY),
    "fnv1a_random": Partitioner(KeyHash.FNV1A, Keyless.RANDOM),
}

_JAVAS: Final = "org.apache.kafka.clients.producer."
_CLASSES: Final[Mapping[str, Partitioner]] = {
    _JAVAS + "internals.DefaultPartitioner": DEFAULT,
    _JAVAS + "UniformStickyPartitioner": STICKY,
    _JAVAS + "RoundRobinPartitioner": ROUND_ROBIN,
}


def parse_partitioner(name: str, text: str) -> Partitioner:
    """Read a partitioner's name, in any case.

    Raises:
        KafkaConfigError: There is none of that name.
    """
    partitioner = PARTITIONERS.get(text.strip().lower())
    if partitioner is None:
        raise KafkaConfigError(
            f"Option '{name}' must be one of {', '.join(PARTITIONERS)}, got '{text}'."
        )
    return partitioner


def parse_partitioner_class(name: str, text: str) -> Partitioner:
    """Read the name of a class of Java's that has a twin here.

    Raises:
        KafkaConfigError: It is another class.
    """
    partitioner = _CLASSES.get(text.strip())
    if partitioner is None:
        raise KafkaConfigError(
            f"Option '{name}' names '{text}', and classes of Java's cannot be loaded here: set "
            f"kafka.partitioner to one of {', '.join(PARTITIONERS)} instead, or compute a column "
            f"'partition'. Of Java's classes these are known: {', '.join(_CLASSES)}."
        )
    return partitioner


def the_one_of(asked: Mapping[str, Partitioner | None]) -> Partitioner:
    """The partitioner that one of several options asks for, else the default.

    Raises:
        KafkaConfigError: More than one of them does.
    """
    chosen = {name: partitioner for name, partitioner in asked.items() if partitioner is not None}
    if len(chosen) > 1:
        raise KafkaConfigError(
            f"Only one option can say which partition a row goes to. Of {' and '.join(chosen)}, "
            "keep one."
        )
    return next(iter(chosen.values()), DEFAULT)
