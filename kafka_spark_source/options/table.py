"""Every option of the source and the sink in one table; docs/options.md is made from it.

A new option needs a row here and a field in `read` or `write`. Names and defaults are as in
Spark's Kafka connector. Pure: no I/O, no Spark.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from kafka_formats.options.envelope import ENVELOPE_OPTIONS
from kafka_formats.options.option import (
    ALL,
    BATCH,
    READ,
    STREAM,
    WRITE,
    parse_boolean,
    parse_choice,
    parse_text,
)
from kafka_formats.options.table import PAYLOAD_OPTIONS
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.nearest_name import did_you_mean
from kafka_protocol.options.option import Option
from kafka_protocol.options.partitioners import (
    STICKY,
    Partitioner,
    parse_partitioner,
    parse_partitioner_class,
)
from kafka_protocol.options.topic_names import check_topic_name
from kafka_spark_source.planning.positions import parse_position, parse_timestamp, parse_timestamps
from kafka_spark_source.planning.strategies import (
    parse_assign,
    parse_subscribe,
    parse_subscribe_pattern,
)

# Whether a starting timestamp after all records is an error.
_parse_no_match: Final = partial(parse_choice, choices={"error": True, "latest": False})


def _parse_topic(name: str, text: str) -> str:
    """The name of a topic without spaces around it; empty texts are refused where they are used."""
    topic = text.strip()
    if topic:
        check_topic_name(name, topic)
    return topic


def _parse_positive(name: str, text: str, *, bits: int = 64) -> int:
    """A whole number from 1 to the largest signed one of `bits` bits, in Java's syntax."""
    digits = text.strip()
    if not re.fullmatch("[+-]?[0-9]{1,19}", digits) or int(digits) >= 2 ** (bits - 1):
        raise KafkaConfigError(f"Option '{name}' must be a whole number, got '{text}'.")
    if int(digits) <= 0:
        raise KafkaConfigError(f"{name} must be positive, got '{text}'.")
    return int(digits)


def _parse_ttl(name: str, text: str) -> int | None:
    """A positive number of ms; None for -1, which stands for no cache."""
    digits = text.strip()
    if digits == "-1":
        return None
    if not re.fullmatch("[+]?[0-9]{1,19}", digits) or not 0 < int(digits) < 2**63:
        raise KafkaConfigError(
            f"Option '{name}' must be -1 or a positive number of ms, got '{text}'."
        )
    return int(digits)


def _parse_time(name: str, text: str) -> int:
    """A time in Spark's syntax, `15m` or `1500` (ms); returns ms."""
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


def _parse_guarantee(name: str, text: str) -> bool:
    guarantee = text.strip().lower()
    if guarantee not in _GUARANTEES:
        hint = did_you_mean(
            guarantee, {each: each for each in _GUARANTEES}, before=": ", otherwise="."
        )
        raise KafkaConfigError(
            f"Option '{name}' is '{text}' and must be one of {', '.join(_GUARANTEES)}{hint}"
        )
    return _GUARANTEES[guarantee]


# Whether a write is exactly once.
_GUARANTEES: Final = {"at_least_once": False, "exactly_once": True}


def _parse_ignore_keys(name: str, text: str) -> Partitioner | None:
    """The partitioner that ignores keys, or None to use keys."""
    return STICKY if parse_boolean(name, text) else None


class Table:
    """The options in the order of docs/options.md."""

    BOOTSTRAP_SERVERS: Final = Option("kafka.bootstrap.servers", parse_text, ALL).about(
        "Required. Addresses of some brokers: `host:port,host:port`."
    )
    CLIENT: Final = Option("kafka.*", parse_text, ALL).about(
        "Any option of the Kafka client, with the prefix `kafka.`."
    )
    SUBSCRIBE: Final = Option("subscribe", parse_subscribe, READ).about(
        "Topics to read: `topicA,topicB`. Set this, `subscribePattern` or `assign`."
    )
    SUBSCRIBE_PATTERN: Final = Option("subscribePattern", parse_subscribe_pattern, READ).about(
        "Read the topics whose names contain a match of this regular expression: `orders-.*`."
    )
    ASSIGN: Final = Option("assign", parse_assign, READ).about(
        'Partitions to read: `{"topicA":[0,1],"topicB":[2]}`.'
    )
    STARTING_TIMESTAMP: Final = Option("startingTimestamp", parse_timestamp, READ).about(
        "Start of all partitions: the first record with this timestamp (ms since 1970) or a later "
        "one. Overrides the next two options."
    )
    STARTING_OFFSETS_BY_TIMESTAMP: Final = Option(
        "startingOffsetsByTimestamp", parse_timestamps, READ
    ).about(
        'Start of each partition: `{"topicA":{"0":1760000000000,"1":1760000000000}}`. Overrides '
        "`startingOffsets`."
    )
    STARTING_OFFSETS: Final = Option("startingOffsets", parse_position, READ).about(
        'Start: `earliest`, or `{"topicA":{"0":23,"1":-2},"topicB":"earliest"}` (-2: earliest), or '
        "a relative position: `-10m` (the last ten minutes; also ms, s, h, d), `latest-100` (a "
        'hundred offsets before the end), in JSON as strings: `{"topicA":{"0":"latest-100"}}`. '
        "Default of a batch: `earliest`. A stream may also start at `latest` (-1), its default, or "
        "at `group`: the committed offsets of the group `kafka.group.id`, else `earliest`. Only a "
        "new query uses it; a restarted one continues from its checkpoint."
    )
    STARTING_STRATEGY: Final = Option(
        "startingOffsetsByTimestampStrategy", _parse_no_match, READ, "error"
    ).about(
        "For partitions whose records are all older than the starting timestamp: `error` fails, "
        "`latest` reads them from their end."
    )
    ENDING_TIMESTAMP: Final = Option("endingTimestamp", parse_timestamp, BATCH).about(
        "End of all partitions, exclusive: the first record with this timestamp (ms since 1970) or "
        "a later one, else the end of the log. Overrides the next two options."
    )
    ENDING_OFFSETS_BY_TIMESTAMP: Final = Option(
        "endingOffsetsByTimestamp", parse_timestamps, BATCH
    ).about("End of each partition, like `endingTimestamp`. Overrides `endingOffsets`.")
    ENDING_OFFSETS: Final = Option("endingOffsets", parse_position, BATCH, "latest").about(
        'End, exclusive: `latest`, or `{"topicA":{"0":50,"1":-1},"topicB":"latest"}` (-1: latest), '
        "or a relative position as in `startingOffsets`."
    )
    MIN_PARTITIONS: Final = Option("minPartitions", partial(_parse_positive, bits=32), READ).about(
        "The least number of input partitions, roughly: large offset ranges are split. Without it "
        "each large range is one input partition, and small ranges share one "
        "(`coalescePartitions`). With `envelope=upsert` no range is split."
    )
    MAX_RECORDS_PER_PARTITION: Final = Option(
        "maxRecordsPerPartition", _parse_positive, READ
    ).about(
        "The largest number of offsets in an input partition: larger ranges are split, and smaller "
        "ranges share one only up to this number."
    )
    COALESCE_PARTITIONS: Final = Option("coalescePartitions", parse_boolean, READ, "true").about(
        "Whether one Spark partition reads several small ranges, together some 100,000 records or "
        "16 MB. `minPartitions` still applies. See [performance](performance.md)."
    )
    # point: pushdown-off
    PUSH_DOWN_PREDICATE: Final = Option("pushDownPredicate", parse_boolean, BATCH, "false").about(
        "Whether filters on `topic`, `partition`, `offset` and `timestamp` limit the records that "
        "are read from the brokers. Use each `load()` for one query only: see "
        "[performance](performance.md)."
    )
    DEAD_LETTER_TOPIC: Final = Option("deadLetterTopic", _parse_topic, READ).about(
        "The topic for records whose key or value cannot be decoded. A read writes them there "
        "unchanged, with the reason in headers, and leaves them out of its rows. It replaces "
        "`mode`. See [dead letters](dead-letters.md)."
    )
    INCLUDE_HEADERS: Final = Option("includeHeaders", parse_boolean, ALL, "false").about(
        "Whether to read the records' headers. A write always takes them from the column `headers`."
    )
    INCLUDE_TOPIC_ID: Final = Option("includeTopicId", parse_boolean, READ).about(
        "Whether to add the column `topicId`, which distinguishes a topic from a later one with "
        "the same name. Default: `true` with an `envelope`, else `false`."
    )
    FAIL_ON_DATA_LOSS: Final = Option("failOnDataLoss", parse_boolean, READ, "true").about(
        "Whether to fail if records of the read are lost. With `false` it logs a warning and "
        "continues."
    )
    POLL_TIMEOUT_MS: Final = Option(
        "kafkaConsumer.pollTimeoutMs", _parse_positive, READ, "120000"
    ).about("The longest wait of a task for the next records, in ms.")
    FETCH_OFFSET_ATTEMPTS: Final = Option(
        "fetchOffset.numRetries", _parse_positive, READ, "1"
    ).about(
        "The number of attempts to plan, each with new connections. An attempt lasts "
        "`kafka.socket.connection.setup.timeout.ms` if no broker can be reached."
    )
    FETCH_OFFSET_INTERVAL_MS: Final = Option(
        "fetchOffset.retryIntervalMs", _parse_positive, READ, "1000"
    ).about("The pause before the next attempt, in ms.")
    PARTITIONS_TTL_MS: Final = Option(
        "partition.metadata.cache.ttl.ms", _parse_ttl, READ, "-1"
    ).about(
        "How long a stream uses its known partitions before it looks for new ones, in ms; after an "
        "error of a broker it looks sooner. -1: as long as `kafka.metadata.max.age.ms`. No effect "
        "in a batch, which looks once."
    )
    GROUP_ID_PREFIX: Final = Option("groupIdPrefix", parse_text, READ).about(
        "Accepted without effect: a read uses no consumer group."
    )
    MAX_OFFSETS_PER_TRIGGER: Final = Option("maxOffsetsPerTrigger", _parse_positive, STREAM).about(
        "The largest number of offsets in a micro-batch, divided in proportion to the new offsets "
        "of each partition."
    )
    MAX_BYTES_PER_TRIGGER: Final = Option("maxBytesPerTrigger", _parse_positive, STREAM).about(
        "The largest number of bytes in a micro-batch, roughly: compressed as in the log, and "
        "estimated from the next records."
    )
    MIN_OFFSETS_PER_TRIGGER: Final = Option("minOffsetsPerTrigger", _parse_positive, STREAM).about(
        "The number of new offsets that a micro-batch waits for, at most for `maxTriggerDelay`."
    )
    MIN_OFFSETS_PER_TOPIC: Final = Option("minOffsetsPerTopic", _parse_positive, STREAM).about(
        "The number of new offsets that each topic waits for, at most for `maxTriggerDelay`; the "
        "micro-batches in between read the others."
    )
    MAX_TRIGGER_DELAY: Final = Option("maxTriggerDelay", _parse_time, STREAM, "15m").about(
        "The longest wait for `minOffsetsPerTrigger` and `minOffsetsPerTopic`: `15m`, `30s`, or a "
        "number of ms."
    )
    COMMIT_OFFSETS_TO_GROUP: Final = Option(
        "commitOffsetsToGroup", parse_boolean, STREAM, "false"
    ).about(
        "Whether to commit processed offsets to the group `kafka.group.id`, for lag tools. The "
        "query itself uses its checkpoint."
    )
    TOPIC: Final = Option("topic", _parse_topic, WRITE).about(
        "The topic of all rows; overrides their column `topic`."
    )
    DELIVERY_GUARANTEE: Final = Option(
        "deliveryGuarantee", _parse_guarantee, WRITE, "at_least_once"
    ).about(
        "`exactly_once`: readers with `isolation.level=read_committed` see each micro-batch once "
        "and completely, and a batch write completely or not at all "
        "([exactly once](exactly-once.md)). `at_least_once`: a task that Spark runs again "
        "writes its rows again."
    )
    TRANSACTIONAL_ID_PREFIX: Final = Option("transactionalIdPrefix", parse_text, WRITE).about(
        "Required for `exactly_once`: the prefix of the write's transactional ids. A query must "
        "keep it at each start, and no other query or job on the cluster may use it."
    )
    COMMIT_LOG_TOPIC: Final = Option(
        "commitLogTopic", _parse_topic, WRITE, "pykafka-commit-log"
    ).about(
        "For `exactly_once`: the compacted topic of the commit log, with the last decision of each "
        "prefix. It is created if it does not exist."
    )
    COMMIT_LOG_REPLICATION_FACTOR: Final = Option(
        "commitLogReplicationFactor", partial(_parse_positive, bits=16), WRITE
    ).about(
        "The number of replicas when `commitLogTopic` is created. Default: 3, or the number of "
        "brokers if that is less."
    )
    COMMIT_LOG_RETENTION: Final = Option("commitLogRetention", _parse_time, WRITE, "30d").about(
        "How long the commit log keeps a prefix after its last write, if all its decisions are "
        "done: `30d`, `12h`, or a number of ms. All queries on a `commitLogTopic` should have the "
        "same."
    )
    PARTITIONER: Final = Option("kafka.partitioner", parse_partitioner, WRITE, "default").about(
        "The partition of rows without one in a column `partition`. `default`: by key, as Java's "
        "producer; rows without a key fill one partition up to `kafka.batch.size`, then the next. "
        "`sticky`: all rows as rows without a key. `round_robin`: row by row. As in librdkafka: "
        "`random`, `murmur2`, `murmur2_random`, `consistent`, `consistent_random`, `fnv1a`, "
        "`fnv1a_random`."
    )
    PARTITIONER_CLASS: Final = Option(
        "kafka.partitioner.class", parse_partitioner_class, WRITE
    ).about(
        "The same by the full name of a Java class: `DefaultPartitioner`, "
        "`UniformStickyPartitioner` or `RoundRobinPartitioner`. No other class is supported."
    )
    PARTITIONER_IGNORE_KEYS: Final = Option(
        "kafka.partitioner.ignore.keys", _parse_ignore_keys, WRITE, "false"
    ).about("Whether to ignore keys: `true` is Java's name for `kafka.partitioner=sticky`.")


OPTIONS: Final[tuple[Option[object], ...]] = (
    *(row for row in vars(Table).values() if isinstance(row, Option)),
    *PAYLOAD_OPTIONS,
    *ENVELOPE_OPTIONS,
)

# Accepted in a batch read without effect, as in Spark's connector.
STREAM_ONLY: Final = tuple(row.name for row in OPTIONS if row.uses == STREAM)
