"""The options of one query: given as text, checked as a whole, kept as a frozen value.

Pure: no I/O, no Spark. What each option is stands in `option_table`; the order of the checks and
the error texts are those of Spark's Kafka connector (`KafkaSourceProvider`). The values of
`kafka.*` options are the Kafka client's business (`kafka_protocol.client.config`): here they are
only collected, and never shown, for there are passwords among them.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypedDict

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.admission import Limits
from kafka_spark_source.offsets import EARLIEST, LATEST
from kafka_spark_source.option_table import OPTIONS, STREAM_ONLY, Option, Table, Use
from kafka_spark_source.partitioners import Partitioner, the_one_of
from kafka_spark_source.planning import Parts
from kafka_spark_source.positions import (
    FROM_EARLIEST,
    TO_LATEST,
    Position,
    SpecificOffsets,
    asks_group,
    check_limits,
)
from kafka_spark_source.strategies import Strategy

_CLIENT_PREFIX: Final = "kafka."

# Spark adds these itself, for load("...") and save("..."). Like its own connector, we ignore them.
_SPARKS_OWN: Final = frozenset({"path", "paths", "checkpointlocation"})

# Options of the Kafka client that would contradict what we do, and what to do instead.
_FORBIDDEN_TO_READ: Final = {
    "auto.offset.reset": (
        "Instead set the source option 'startingOffsets' to 'earliest' or to offsets to say "
        "where to start."
    ),
    "key.deserializer": (
        "Keys are read as binary: use DataFrame operations to deserialize the column 'key'."
    ),
    "value.deserializer": (
        "Values are read as binary: use DataFrame operations to deserialize the column 'value'."
    ),
    "enable.auto.commit": "Reading commits no offsets: remove it.",
    "interceptor.classes": "Java classes cannot be loaded: use DataFrame operations instead.",
}
_FORBIDDEN: Final[Mapping[Use, Mapping[str, str]]] = {
    Use.BATCH_READ: _FORBIDDEN_TO_READ,
    Use.STREAM_READ: _FORBIDDEN_TO_READ,
    Use.WRITE: {
        "key.serializer": (
            "Keys are written as they are: make the column 'key' a string or binary before."
        ),
        "value.serializer": (
            "Values are written as they are: make the column 'value' a string or binary before."
        ),
    },
}

_CLIENT_KIND: Final = {
    Use.BATCH_READ: "consumer",
    Use.STREAM_READ: "consumer",
    Use.WRITE: "producer",
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a read was asked for, be it a batch or a stream.

    Attributes:
        strategy: Which topics and partitions.
        starting: Where to start.
        fail_on_no_match: Whether a starting timestamp without a record as young is an error.
        parts: How many input partitions to make.
        include_headers: Whether the schema has the column `headers`.
        fail_on_data_loss: Whether missing records are an error or a warning.
        poll_timeout_ms: How long a task waits for records that do not come.
        planning_attempts: How often to try to plan, in all.
        planning_interval_ms: How long to wait between two tries.
        ignored: Options that are given and have no effect, by the table's names.
        kafka: The client's options without `kafka.`, names in lower case. Secrets: kept from repr.
    """

    strategy: Strategy
    starting: Position
    fail_on_no_match: bool
    parts: Parts
    include_headers: bool
    fail_on_data_loss: bool
    poll_timeout_ms: int
    planning_attempts: int
    planning_interval_ms: int
    ignored: tuple[str, ...]
    kafka: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class BatchReadOptions(ReadOptions):
    """What a batch read was asked for. It never starts at latest, in no partition.

    Attributes:
        ending: Where to end, exclusive; never earliest.
        push_down_predicate: Whether filters decide what is read.
    """

    ending: Position
    push_down_predicate: bool


@dataclass(frozen=True, slots=True)
class StreamReadOptions(ReadOptions):
    """What a streaming read was asked for.

    Attributes:
        limits: How much a micro-batch reads.
        group_id: The consumer group whose offsets are read or committed; None where none is.
        commit_to_group: Whether to commit there what was processed.
    """

    limits: Limits
    group_id: str | None
    commit_to_group: bool


@dataclass(frozen=True, slots=True)
class Identity:
    """Who writes exactly once.

    Attributes:
        prefix: Of all its transactional ids; no two writers at a time may have the same.
        commit_log: The topic of its decisions.
    """

    prefix: str
    commit_log: str


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a write was asked for, of a batch or of a stream.

    Attributes:
        topic: For all rows, trimmed; None where a column says it. `schema.check_sink_schema`
            checks it, together with that column.
        partitioner: Where rows go that name no partition.
        exactly_once: Who writes; None for at least once.
        kafka: The client's options without `kafka.`, names in lower case. Secrets: kept from repr.
    """

    topic: str | None
    partitioner: Partitioner
    exactly_once: Identity | None
    kafka: Mapping[str, str] = field(repr=False)


def parse_batch_options(options: Mapping[str, str]) -> BatchReadOptions:
    """Read the options of `spark.read`, in the order in which Spark's connector checks them.

    Raises:
        KafkaConfigError: An option is missing, unknown, contradictory or has an unusable value.
    """
    given = _by_key(options)
    _check_names(given, Use.BATCH_READ)
    starting = _bounded(_START, _first_given(_START_OPTIONS, given, FROM_EARLIEST))
    ending = _bounded(_END, _first_given(_END_OPTIONS, given, TO_LATEST))
    return BatchReadOptions(
        **_read_options(given, Use.BATCH_READ, starting, ending),
        ending=ending,
        push_down_predicate=Table.PUSH_DOWN_PREDICATE.value_in(given),
    )


def parse_stream_options(options: Mapping[str, str]) -> StreamReadOptions:
    """Read the options of `spark.readStream`, in the order in which Spark's connector checks them.

    Raises:
        KafkaConfigError: As from `parse_batch_options`.
    """
    given = _by_key(options)
    for row, message in _NOT_IN_STREAMS.items():
        if row.key in given:
            raise KafkaConfigError(f"{message}: remove the option '{row.name}'.")
    _check_names(given, Use.STREAM_READ)
    starting = _first_given(_START_OPTIONS, given, TO_LATEST)
    read = _read_options(given, Use.STREAM_READ, starting)
    limits = Limits(
        max_offsets=Table.MAX_OFFSETS_PER_TRIGGER.value_if_in(given),
        max_bytes=Table.MAX_BYTES_PER_TRIGGER.value_if_in(given),
        min_offsets=Table.MIN_OFFSETS_PER_TRIGGER.value_if_in(given),
        max_delay_ms=Table.MAX_TRIGGER_DELAY.value_in(given),
    )
    limits.check()
    commit_to_group = Table.COMMIT_OFFSETS_TO_GROUP.value_in(given)
    needs_group = commit_to_group or asks_group(starting)
    # The client has no use for it.
    group_id = read["kafka"].pop("group.id", None) if needs_group else None
    if needs_group and not group_id:
        option = Table.COMMIT_OFFSETS_TO_GROUP if commit_to_group else Table.STARTING_OFFSETS
        raise KafkaConfigError(
            f"Option '{option.name}' needs a consumer group: set kafka.group.id to its name."
        )
    return StreamReadOptions(
        **read, limits=limits, group_id=group_id, commit_to_group=commit_to_group
    )


_NOT_IN_STREAMS: Final = {
    Table.ENDING_OFFSETS: "ending offset not valid in streaming queries",
    Table.ENDING_OFFSETS_BY_TIMESTAMP: "ending timestamp not valid in streaming queries",
}


class _ReadFields(TypedDict):
    """The fields of ReadOptions."""

    strategy: Strategy
    starting: Position
    fail_on_no_match: bool
    parts: Parts
    include_headers: bool
    fail_on_data_loss: bool
    poll_timeout_ms: int
    planning_attempts: int
    planning_interval_ms: int
    ignored: tuple[str, ...]
    kafka: dict[str, str]


def _read_options(
    given: Mapping[str, str], use: Use, starting: Position, ending: Position = TO_LATEST
) -> _ReadFields:
    strategy = _strategy_in(given)
    parts = Parts(
        Table.MIN_PARTITIONS.value_if_in(given), Table.MAX_RECORDS_PER_PARTITION.value_if_in(given)
    )
    kafka = _client_options(given, use)
    check_limits(starting, ending)
    return _ReadFields(
        strategy=strategy,
        starting=starting,
        fail_on_no_match=Table.STARTING_STRATEGY.value_in(given),
        parts=parts,
        include_headers=Table.INCLUDE_HEADERS.value_in(given),
        fail_on_data_loss=Table.FAIL_ON_DATA_LOSS.value_in(given),
        poll_timeout_ms=Table.POLL_TIMEOUT_MS.value_in(given),
        planning_attempts=Table.FETCH_OFFSET_ATTEMPTS.value_in(given),
        planning_interval_ms=Table.FETCH_OFFSET_INTERVAL_MS.value_in(given),
        ignored=tuple(name for name in _IGNORED[use] if name.lower() in given),
        kafka=kafka,
    )


# The first one that is given counts; the others are not even looked at.
_START_OPTIONS: Final = (
    Table.STARTING_TIMESTAMP,
    Table.STARTING_OFFSETS_BY_TIMESTAMP,
    Table.STARTING_OFFSETS,
)
_END_OPTIONS: Final = (
    Table.ENDING_TIMESTAMP,
    Table.ENDING_OFFSETS_BY_TIMESTAMP,
    Table.ENDING_OFFSETS,
)


def _first_given(
    rows: Sequence[Option[Position]], given: Mapping[str, str], default: Position
) -> Position:
    """The value of the first option that is given, else the default."""
    chosen = next((row for row in rows if row.key in given), None)
    return default if chosen is None else chosen.value_in(given)


def parse_write_options(options: Mapping[str, str]) -> WriteOptions:
    """Read the options of `df.write`.

    Raises:
        KafkaConfigError: An option is missing, unknown, contradictory or has an unusable value.
    """
    given = _by_key(options)
    _check_names(given, Use.WRITE)
    kafka = _client_options(given, Use.WRITE)
    for row in _PARTITIONERS:
        kafka.pop(row.key.removeprefix(_CLIENT_PREFIX), None)
    identity = _identity(given)
    if identity is not None:
        kafka = {_TRANSACTION_TIMEOUT: _LONGEST_TRANSACTION_MS} | kafka
    return WriteOptions(
        topic=Table.TOPIC.value_if_in(given),
        partitioner=the_one_of({row.name: row.value_if_in(given) for row in _PARTITIONERS}),
        exactly_once=identity,
        kafka=kafka,
    )


# A micro-batch is one transaction to each task, from its first row until the driver commits, so
# Java's minute is short. This is as long as brokers allow by default.
_TRANSACTION_TIMEOUT: Final = "transaction.timeout.ms"
_LONGEST_TRANSACTION_MS: Final = "900000"


def _identity(given: Mapping[str, str]) -> Identity | None:
    """Who writes exactly once; None where that is not asked for."""
    prefix = (Table.TRANSACTIONAL_ID_PREFIX.value_if_in(given) or "").strip()
    if Table.DELIVERY_GUARANTEE.value_in(given):
        if not prefix:
            raise KafkaConfigError(
                "Option 'deliveryGuarantee' is 'exactly_once', which needs the option "
                "'transactionalIdPrefix': a name that this query keeps through its restarts, and "
                "that no other query or job has."
            )
        return Identity(prefix, Table.COMMIT_LOG_TOPIC.value_in(given).strip())
    alone = [row.name for row in _ONLY_EXACTLY_ONCE if row.key in given]
    if alone:
        raise KafkaConfigError(
            f"Option '{alone[0]}' is for exactly-once writes: set the option 'deliveryGuarantee' "
            "to 'exactly_once', or remove it."
        )
    return None


_ONLY_EXACTLY_ONCE: Final = (Table.TRANSACTIONAL_ID_PREFIX, Table.COMMIT_LOG_TOPIC)


_PARTITIONERS: Final = (Table.PARTITIONER, Table.PARTITIONER_CLASS, Table.PARTITIONER_IGNORE_KEYS)


def _by_key(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in options.items()}


def _check_names(given: Mapping[str, str], use: Use) -> None:
    known = {option.key: option for option in OPTIONS}
    ignored = {name.lower() for name in _IGNORED[use]}
    for key in sorted(given.keys() - _SPARKS_OWN - ignored):
        if key.startswith(_CLIENT_PREFIX):
            continue
        if key not in known:
            raise _unknown(key, use)
        if use not in known[key].uses:
            others = " or ".join(other.value for other in Use if other in known[key].uses)
            raise KafkaConfigError(
                f"Option '{known[key].name}' is for {others}, not for {use.value}: remove it."
            )


# Accepted with a warning, since Spark's connector lets them pass.
_IGNORED: Final[Mapping[Use, tuple[str, ...]]] = {
    Use.BATCH_READ: STREAM_ONLY,
    Use.STREAM_READ: (Table.ENDING_TIMESTAMP.name,),
    Use.WRITE: (),
}


def _unknown(key: str, use: Use) -> KafkaConfigError:
    usable = [option.name for option in OPTIONS if use in option.uses]
    spelled = {name.lower(): name for name in (*usable, *_IGNORED[use])}
    nearest = difflib.get_close_matches(key, spelled, n=1, cutoff=0.75)
    advice = (
        f"did you mean '{spelled[nearest[0]]}'?"
        if nearest
        else (
            f"{use.value} takes {', '.join(usable)}; an option of the Kafka client needs 'kafka.' "
            "before its name."
        )
    )
    return KafkaConfigError(f"Option '{key}' is not known to pykafka: {advice}")


@dataclass(frozen=True, slots=True)
class _Limit:
    """One end of a batch read, what it cannot be, and how Spark's connector puts that."""

    impossible: Position
    offset: int
    whole: str
    one: str
    advice: str


_START: Final = _Limit(
    TO_LATEST,
    LATEST,
    "starting offset can't be latest for batch queries on Kafka",
    "startingOffsets for {} can't be latest for batch queries on Kafka",
    "set startingOffsets to earliest (-2 for one partition) or to offsets.",
)
_END: Final = _Limit(
    FROM_EARLIEST,
    EARLIEST,
    "ending offset can't be earliest for batch queries on Kafka",
    "ending offset for {} can't be earliest for batch queries on Kafka",
    "set endingOffsets to latest (-1 for one partition) or to offsets.",
)


def _bounded(limit: _Limit, position: Position) -> Position:
    if asks_group(position):
        raise KafkaConfigError("The position 'group' is for streams, where it is a start.")
    if position == limit.impossible:
        raise KafkaConfigError(f"{limit.whole}: {limit.advice}")
    if isinstance(position, SpecificOffsets):
        for named in sorted(position.bounds, key=str):
            if position.bounds[named] == limit.offset:
                raise KafkaConfigError(f"{limit.one.format(named)}: {limit.advice}")
    return position


def _strategy_in(given: Mapping[str, str]) -> Strategy:
    rows = (Table.SUBSCRIBE, Table.SUBSCRIBE_PATTERN, Table.ASSIGN)
    names = ", ".join(row.name for row in rows)
    chosen = [row for row in rows if row.key in given]
    if not chosen:
        raise KafkaConfigError(
            f"One of the following options must be specified for Kafka source: {names}. Set one "
            "of them to say which topics to read."
        )
    if len(chosen) > 1:
        raise KafkaConfigError(
            f"Only one of the following options can be specified for Kafka source: {names}. Of "
            f"{' and '.join(row.name for row in chosen)}, keep one."
        )
    return chosen[0].value_in(given)


def _client_options(given: Mapping[str, str], use: Use) -> dict[str, str]:
    for name, advice in _FORBIDDEN[use].items():
        if _CLIENT_PREFIX + name in given:
            raise KafkaConfigError(f"Kafka option '{name}' is not supported. {advice}")
    if Table.BOOTSTRAP_SERVERS.key not in given:
        raise KafkaConfigError(
            f"Option '{Table.BOOTSTRAP_SERVERS.name}' must be specified for configuring Kafka "
            f"{_CLIENT_KIND[use]}: set it to the brokers to ask first, host:port."
        )
    return {
        key.removeprefix(_CLIENT_PREFIX): value
        for key, value in given.items()
        if key.startswith(_CLIENT_PREFIX)
    }
