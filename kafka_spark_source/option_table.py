"""Every option of the source and the sink in one table; the manual is made from it.

Adding an option means adding a row here, and a field to `options.ReadOptions` or `WriteOptions`.
Names and defaults are those of Spark's Kafka connector. Pure: no I/O, no Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, TypeVar

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.offsets import parse_position
from kafka_spark_source.strategies import (
    Strategy,
    parse_assign,
    parse_subscribe,
    parse_subscribe_pattern,
)

T = TypeVar("T")


class Use(Enum):
    """What an option can be given to."""

    BATCH_READ = "a batch read"
    BATCH_WRITE = "a batch write"


_READ: Final = frozenset({Use.BATCH_READ})
_WRITE: Final = frozenset({Use.BATCH_WRITE})
_BOTH: Final = _READ | _WRITE


@dataclass(frozen=True, slots=True)
class Option(Generic[T]):
    """A row of the table.

    Attributes:
        name: As Spark's guide spells it. Users may write it in any case.
        parse: (name, text) -> value; raises KafkaConfigError.
        default: What holds where it is not given, as text; None where there is no default.
        uses: What it can be given to.
        doc: One line for the manual.
    """

    name: str
    parse: Callable[[str, str], T]
    default: str | None
    uses: frozenset[Use]
    doc: str

    @property
    def key(self) -> str:
        """The name as options are looked up by."""
        return self.name.lower()

    def value_in(self, given: Mapping[str, str]) -> T:
        """The value given, else the default; KeyError where there is neither."""
        text = given[self.key] if self.default is None else given.get(self.key, self.default)
        return self.parse(self.name, text)


def _parse_boolean(name: str, text: str) -> bool:
    value = {"true": True, "false": False}.get(text.strip().lower())
    if value is None:
        raise KafkaConfigError(f"Option '{name}' must be true or false, got '{text}'.")
    return value


def _parse_text(name: str, text: str) -> str:  # noqa: ARG001 -- a parser like the others
    return text.strip()


class Table:
    """The rows, in the manual's order."""

    BOOTSTRAP_SERVERS: Final = Option(
        "kafka.bootstrap.servers",
        _parse_text,
        None,
        _BOTH,
        "Required. The brokers to ask first: `host:port,host:port`.",
    )
    CLIENT: Final = Option(
        "kafka.*",
        _parse_text,
        None,
        _BOTH,
        "Any option of the Kafka client, by its own name behind `kafka.`.",
    )
    SUBSCRIBE: Final[Option[Strategy]] = Option(
        "subscribe",
        parse_subscribe,
        None,
        _READ,
        "Topics to read: `topicA,topicB`. One of the three ways to say which topics.",
    )
    SUBSCRIBE_PATTERN: Final[Option[Strategy]] = Option(
        "subscribePattern",
        parse_subscribe_pattern,
        None,
        _READ,
        "A regular expression, searched for in the topics' names: `orders-.*`.",
    )
    ASSIGN: Final[Option[Strategy]] = Option(
        "assign",
        parse_assign,
        None,
        _READ,
        'Partitions to read: `{"topicA":[0,1],"topicB":[2]}`.',
    )
    STARTING_OFFSETS: Final = Option(
        "startingOffsets",
        parse_position,
        "earliest",
        _READ,
        'Where to start: `earliest`, or `{"topicA":{"0":23,"1":-2}}` (-2: earliest) for each '
        "partition.",
    )
    ENDING_OFFSETS: Final = Option(
        "endingOffsets",
        parse_position,
        "latest",
        _READ,
        'Where to end, exclusive: `latest`, or `{"topicA":{"0":50,"1":-1}}` (-1: latest) for each '
        "partition.",
    )
    INCLUDE_HEADERS: Final = Option(
        "includeHeaders",
        _parse_boolean,
        "false",
        _BOTH,
        "Whether to read the records' headers too. Writing takes them from the column `headers`, "
        "whatever this says.",
    )
    FAIL_ON_DATA_LOSS: Final = Option(
        "failOnDataLoss",
        _parse_boolean,
        "true",
        _READ,
        "Whether to fail, or warn and go on, where records asked for are gone.",
    )
    TOPIC: Final = Option(
        "topic",
        _parse_text,
        None,
        _WRITE,
        "The topic to write all rows to, whatever their column `topic` says.",
    )


OPTIONS: Final[tuple[Option[object], ...]] = tuple(
    row for row in vars(Table).values() if isinstance(row, Option)
)

# In Spark's connector, or announced by us, and not there yet.
NOT_YET: Final = (
    "commitOffsetsToGroup",
    "endingOffsetsByTimestamp",
    "endingTimestamp",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "maxBytesPerTrigger",
    "maxOffsetsPerTrigger",
    "maxRecordsPerPartition",
    "maxTriggerDelay",
    "minOffsetsPerTrigger",
    "minPartitions",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "startingTimestamp",
)
