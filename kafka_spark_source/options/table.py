"""Every option of the source and the sink in one table; the manual is made from it.

Adding an option means adding a row here, and a field to one of the values of `options`.
Names and defaults are those of Spark's Kafka connector. Pure: no I/O, no Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Final, Generic, TypeVar

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.partitioners import (
    STICKY,
    Partitioner,
    parse_partitioner,
    parse_partitioner_class,
)
from kafka_spark_source.planning.positions import (
    Position,
    parse_position,
    parse_timestamp,
    parse_timestamps,
)
from kafka_spark_source.planning.strategies import (
    Strategy,
    parse_assign,
    parse_subscribe,
    parse_subscribe_pattern,
)

T = TypeVar("T")


class Use(Enum):
    """What an option can be given to."""

    BATCH_READ = "a batch read"
    STREAM_READ = "a streaming read"
    WRITE = "a write"


_BATCH: Final = frozenset({Use.BATCH_READ})
_STREAM: Final = frozenset({Use.STREAM_READ})
_READ: Final = _BATCH | _STREAM
_WRITE: Final = frozenset({Use.WRITE})
_ALL: Final = _READ | _WRITE


@dataclass(frozen=True, slots=True)
class Option(Generic[T]):
    """A row of the table.

    Attributes:
        name: As Spark's guide spells it. Users may write it in any case.
        parse: (name, text) -> value; raises KafkaConfigError.
        default: What holds where it is not given, as text; None where there is no default, or
            where it depends on the use.
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

    def value_if_in(self, given: Mapping[str, str]) -> T | None:
        """The value given, else None."""
        return self.parse(self.name, given[self.key]) if self.key in given else None


def _parse_boolean(name: str, text: str) -> bool:
    value = {"true": True, "false": False}.get(text.strip().lower())
    if value is None:
        raise KafkaConfigError(f"Option '{name}' must be true or false, got '{text}'.")
    return value


def _parse_text(name: str, text: str) -> str:  # noqa: ARG001 -- a parser like the others
    return text.strip()


def _parse_positive(name: str, text: str, bits: int = 64) -> int:
    """A whole number from 1 to Java's largest of so many bits, as Java's own parser takes it."""
    digits = text.strip()
    if not re.fullmatch("[+-]?[0-9]{1,19}", digits) or int(digits) >= 2 ** (bits - 1):
        raise KafkaConfigError(f"Option '{name}' must be a whole number, got '{text}'.")
    if int(digits) <= 0:
        raise KafkaConfigError(f"{name} must be positive, got '{text}'.")
    return int(digits)


def _parse_time(name: str, text: str) -> int:
    """A time in ms, as Spark writes times: `15m`, `1500` (ms)."""
    match = re.fullmatch(r"([0-9]{1,15})\s*([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _UNITS_US:
        raise KafkaConfigError(
            f"Option '{name}' must be a time such as 15m, 30s or 500ms, got '{text}'."
        )
    return int(match[1]) * _UNITS_US[match[2]] // 1_000


# The units of `JavaUtils.timeStringAs`.
_UNITS_US: Final = {
    "us": 1,
    "": 1_000,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}


def _parse_strategy(name: str, text: str) -> bool:
    """Whether it is an error that no record is as young as a timestamp."""
    strategy = {"error": True, "latest": False}.get(text.strip().lower())
    if strategy is None:
        raise KafkaConfigError(f"Option '{name}' must be error or latest, got '{text}'.")
    return strategy


def _parse_guarantee(name: str, text: str) -> bool:
    guarantee = text.strip().lower()
    if guarantee not in _GUARANTEES:
        raise KafkaConfigError(
            f"Option '{name}' is '{text}' and must be one of {', '.join(_GUARANTEES)}."
        )
    return _GUARANTEES[guarantee]


# Whether a reader of committed records sees each row once and only once.
_GUARANTEES: Final = {"at_least_once": False, "exactly_once": True}


def _parse_ignore_keys(name: str, text: str) -> Partitioner | None:
    """The partitioner that takes no notice of keys, where they are to be ignored."""
    return STICKY if _parse_boolean(name, text) else None


class Table:
    """The rows, in the manual's order."""

    BOOTSTRAP_SERVERS: Final = Option(
        "kafka.bootstrap.servers",
        _parse_text,
        None,
        _ALL,
        "Required. The brokers to ask first: `host:port,host:port`.",
    )
    CLIENT: Final = Option(
        "kafka.*",
        _parse_text,
        None,
        _ALL,
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
    STARTING_TIMESTAMP: Final[Option[Position]] = Option(
        "startingTimestamp",
        parse_timestamp,
        None,
        _READ,
        "Where to start in all partitions: the first record that is as young as this, in ms since "
        "1970. Goes before the next two options.",
    )
    STARTING_OFFSETS_BY_TIMESTAMP: Final[Option[Position]] = Option(
        "startingOffsetsByTimestamp",
        parse_timestamps,
        None,
        _READ,
        'The same for each partition: `{"topicA":{"0":1760000000000,"1":1760000000000}}`.',
    )
    STARTING_OFFSETS: Final[Option[Position]] = Option(
        "startingOffsets",
        parse_position,
        None,
        _READ,
        'Where to start: `earliest`, or `{"topicA":{"0":23,"1":-2},"topicB":"earliest"}` (-2: '
        "earliest), or relative: `-10m` (the last ten minutes; ms, s, h, d too), `latest-100` (a "
        'hundred offsets before the end), in the JSON as strings: `{"topicA":{"0":"latest-100"}}`. '
        "A batch starts at `earliest` where nothing is said. A stream starts at `latest` then, and "
        "can also start at `latest` (-1) and at `group`: where the group of `kafka.group.id` "
        "stands, else at `earliest`. It counts for a new query; a checkpoint goes before it.",
    )
    STARTING_STRATEGY: Final = Option(
        "startingOffsetsByTimestampStrategy",
        _parse_strategy,
        "error",
        _READ,
        "What a starting timestamp means that no record of a partition is as young as: `error`, or "
        "`latest`, the end.",
    )
    ENDING_TIMESTAMP: Final[Option[Position]] = Option(
        "endingTimestamp",
        parse_timestamp,
        None,
        _BATCH,
        "Where to end, exclusive, in all partitions: the first record that is as young as this, in "
        "ms since 1970, else the end. Goes before the next two options.",
    )
    ENDING_OFFSETS_BY_TIMESTAMP: Final[Option[Position]] = Option(
        "endingOffsetsByTimestamp",
        parse_timestamps,
        None,
        _BATCH,
        "The same for each partition.",
    )
    ENDING_OFFSETS: Final[Option[Position]] = Option(
        "endingOffsets",
        parse_position,
        "latest",
        _BATCH,
        'Where to end, exclusive: `latest`, or `{"topicA":{"0":50,"1":-1},"topicB":"latest"}` (-1: '
        "latest), or relative, as for startingOffsets.",
    )
    MIN_PARTITIONS: Final = Option(
        "minPartitions",
        partial(_parse_positive, bits=32),
        None,
        _READ,
        "How many input partitions to make at least, roughly: larger ranges of offsets are split. "
        "One for each topic-partition where it is not given.",
    )
    MAX_RECORDS_PER_PARTITION: Final = Option(
        "maxRecordsPerPartition",
        _parse_positive,
        None,
        _READ,
        "How many offsets an input partition may span: larger ranges are split.",
    )
    PUSH_DOWN_PREDICATE: Final = Option(
        "pushDownPredicate",
        _parse_boolean,
        "false",
        _BATCH,
        "Whether filters on `topic`, `partition`, `offset` and `timestamp` decide what is read at "
        "all. Use it for one query for each `load()` only: see [performance](performance.md).",
    )
    INCLUDE_HEADERS: Final = Option(
        "includeHeaders",
        _parse_boolean,
        "false",
        _ALL,
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
    POLL_TIMEOUT_MS: Final = Option(
        "kafkaConsumer.pollTimeoutMs",
        _parse_positive,
        "120000",
        _READ,
        "How long a task waits for records that do not come, in ms.",
    )
    FETCH_OFFSET_ATTEMPTS: Final = Option(
        "fetchOffset.numRetries",
        _parse_positive,
        "1",
        _READ,
        "How often to try to plan in all, each time with new connections. One try goes on for "
        "`kafka.socket.connection.setup.timeout.ms` where no broker answers.",
    )
    FETCH_OFFSET_INTERVAL_MS: Final = Option(
        "fetchOffset.retryIntervalMs",
        _parse_positive,
        "1000",
        _READ,
        "How long to wait before the next try, in ms.",
    )
    GROUP_ID_PREFIX: Final = Option(
        "groupIdPrefix",
        _parse_text,
        None,
        _READ,
        "Accepted, and without effect: reading uses no consumer group.",
    )
    MAX_OFFSETS_PER_TRIGGER: Final = Option(
        "maxOffsetsPerTrigger",
        _parse_positive,
        None,
        _STREAM,
        "How many offsets a micro-batch may span, in all; shared out in proportion to what each "
        "partition has to offer.",
    )
    MAX_BYTES_PER_TRIGGER: Final = Option(
        "maxBytesPerTrigger",
        _parse_positive,
        None,
        _STREAM,
        "About how many bytes a micro-batch may span, as they are in the log, so compressed; "
        "estimated from the records that come next.",
    )
    MIN_OFFSETS_PER_TRIGGER: Final = Option(
        "minOffsetsPerTrigger",
        _parse_positive,
        None,
        _STREAM,
        "How many new offsets a micro-batch waits for, `maxTriggerDelay` at the longest.",
    )
    MAX_TRIGGER_DELAY: Final = Option(
        "maxTriggerDelay",
        _parse_time,
        "15m",
        _STREAM,
        "How long to wait for `minOffsetsPerTrigger`: `15m`, `30s`, or a number of ms.",
    )
    COMMIT_OFFSETS_TO_GROUP: Final = Option(
        "commitOffsetsToGroup",
        _parse_boolean,
        "false",
        _STREAM,
        "Whether to commit what was processed to the group of `kafka.group.id`, for lag tools to "
        "see. The query itself goes by its checkpoint.",
    )
    TOPIC: Final = Option(
        "topic",
        _parse_text,
        None,
        _WRITE,
        "The topic to write all rows to, whatever their column `topic` says.",
    )
    DELIVERY_GUARANTEE: Final = Option(
        "deliveryGuarantee",
        _parse_guarantee,
        "at_least_once",
        _WRITE,
        "`exactly_once`: readers with `isolation.level=read_committed` see each micro-batch once "
        "and as a whole, and a batch write as a whole or not at all (docs/exactly-once.md). "
        "`at_least_once`: a task that Spark runs again writes its rows again.",
    )
    TRANSACTIONAL_ID_PREFIX: Final = Option(
        "transactionalIdPrefix",
        _parse_text,
        None,
        _WRITE,
        "Needed for `exactly_once`: how the transactional ids of this write begin. Of a query the "
        "same at each start, and of no other query or job on the cluster.",
    )
    COMMIT_LOG_TOPIC: Final = Option(
        "commitLogTopic",
        _parse_text,
        "pykafka-commit-log",
        _WRITE,
        "For `exactly_once`: the compacted topic in which the decisions about transactions are "
        "kept, one for each prefix. It is created where it is missing.",
    )
    PARTITIONER: Final[Option[Partitioner | None]] = Option(
        "kafka.partitioner",
        parse_partitioner,
        "default",
        _WRITE,
        "Which partition a row goes to that names none in a column `partition`. `default`: by its "
        "key, where Java's producer puts it; rows without a key stay together, a "
        "`kafka.batch.size` to a partition. `sticky`: so all rows. `round_robin`: row by row. And "
        "as librdkafka's of that name: `random`, `murmur2`, `murmur2_random`, `consistent`, "
        "`consistent_random`, `fnv1a`, `fnv1a_random`.",
    )
    PARTITIONER_CLASS: Final[Option[Partitioner | None]] = Option(
        "kafka.partitioner.class",
        parse_partitioner_class,
        None,
        _WRITE,
        "The same by a class of Java's: `DefaultPartitioner`, `UniformStickyPartitioner` or "
        "`RoundRobinPartitioner`, with its package. No other class can be had.",
    )
    PARTITIONER_IGNORE_KEYS: Final[Option[Partitioner | None]] = Option(
        "kafka.partitioner.ignore.keys",
        _parse_ignore_keys,
        "false",
        _WRITE,
        "Whether keys have no say: `true` is `kafka.partitioner=sticky` in Java's words.",
    )


OPTIONS: Final[tuple[Option[object], ...]] = tuple(
    row for row in vars(Table).values() if isinstance(row, Option)
)

# Accepted in a batch, and of no effect there, as in Spark's connector.
STREAM_ONLY: Final = tuple(row.name for row in OPTIONS if row.uses == _STREAM)
