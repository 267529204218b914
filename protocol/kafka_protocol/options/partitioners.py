"""The table of partitioners: how each of them turns a row's key into a partition.

Pure: no I/O, no Spark, no Arrow; `columnar.partitioning` applies them. The same keys go to the
same partitions as with Kafka's Java producer (`BuiltInPartitioner`, KIP-480, KIP-794) and
librdkafka (its topic option `partitioner`, `rdkafka_msg.c`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from kafka_protocol.errors import KafkaConfigError


class KeyHash(Enum):
    """The hash of a key; its remainder by the number of partitions is the partition."""

    MURMUR2 = auto()
    CRC32 = auto()
    FNV1A = auto()


class Keyless(Enum):
    """The partition of a row without a key, or with a key that is ignored."""

    STICKY = auto()  # the same for a batch of rows: fuller batches, fewer requests
    RANDOM = auto()  # a random one for each row
    IN_TURN = auto()  # the one after that of the row before
    AS_EMPTY = auto()  # that of the empty key


@dataclass(frozen=True, slots=True)
class Partitioner:
    """How to choose the partition of a row, with and without a key."""

    key_hash: KeyHash | None  # None to ignore keys
    keyless: Keyless
    empty_counts: bool = True  # whether an empty key counts as a key; null never does


DEFAULT: Final = Partitioner(KeyHash.MURMUR2, Keyless.STICKY)
STICKY: Final = Partitioner(None, Keyless.STICKY)
ROUND_ROBIN: Final = Partitioner(None, Keyless.IN_TURN)

PARTITIONERS: Final[Mapping[str, Partitioner]] = {
    "default": DEFAULT,
    "sticky": STICKY,
    "round_robin": ROUND_ROBIN,
    # The rest are librdkafka's.
    "random": Partitioner(None, Keyless.RANDOM),
    "murmur2": Partitioner(KeyHash.MURMUR2, Keyless.AS_EMPTY),
    "murmur2_random": Partitioner(KeyHash.MURMUR2, Keyless.RANDOM),
    "consistent": Partitioner(KeyHash.CRC32, Keyless.AS_EMPTY),
    "consistent_random": Partitioner(KeyHash.CRC32, Keyless.RANDOM, empty_counts=False),
    "fnv1a": Partitioner(KeyHash.FNV1A, Keyless.AS_EMPTY),
    "fnv1a_random": Partitioner(KeyHash.FNV1A, Keyless.RANDOM),
}

_JAVA_PACKAGE: Final = "org.apache.kafka.clients.producer."
_JAVA_CLASSES: Final[Mapping[str, Partitioner]] = {
    _JAVA_PACKAGE + "internals.DefaultPartitioner": DEFAULT,
    _JAVA_PACKAGE + "UniformStickyPartitioner": STICKY,
    _JAVA_PACKAGE + "RoundRobinPartitioner": ROUND_ROBIN,
}


def parse_partitioner(name: str, text: str) -> Partitioner:
    """The partitioner of that name; case does not matter.

    Raises:
        KafkaConfigError: There is no such partitioner.
    """
    partitioner = PARTITIONERS.get(text.strip().lower())
    if partitioner is None:
        raise KafkaConfigError(
            f"Option '{name}' must be one of {', '.join(PARTITIONERS)}, got '{text}'."
        )
    return partitioner


def parse_partitioner_class(name: str, text: str) -> Partitioner:
    """The partitioner that does the same as a Java class.

    Raises:
        KafkaConfigError: The class is not one of Kafka's.
    """
    partitioner = _JAVA_CLASSES.get(text.strip())
    if partitioner is None:
        raise KafkaConfigError(
            f"Option '{name}' names '{text}', but Java classes cannot be loaded here: set "
            f"kafka.partitioner to one of {', '.join(PARTITIONERS)} instead, or compute a column "
            f"'partition'. The supported Java classes are: {', '.join(_JAVA_CLASSES)}."
        )
    return partitioner


def single_partitioner(by_option: Mapping[str, Partitioner | None]) -> Partitioner:
    """The partitioner of the one option that is set, else the default.

    Raises:
        KafkaConfigError: More than one option is set.
    """
    chosen = {name: each for name, each in by_option.items() if each is not None}
    if len(chosen) > 1:
        raise KafkaConfigError(
            f"Only one option can choose the partitioner. Keep one of {' and '.join(chosen)}."
        )
    return next(iter(chosen.values()), DEFAULT)
