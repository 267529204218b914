"""Checks the options of a read, and returns them as frozen, typed values.

No I/O, no Spark. `table` parses each option; the order of the checks and the error texts are as
in Spark's Kafka connector (`KafkaSourceProvider`). The values of `kafka.*` options are only
collected here and never shown, because passwords are among them; `kafka_protocol` parses them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from kafka_formats.options.envelope import (
    ENVELOPE,
    Envelope,
    EnvelopeOptions,
    parse_envelope,
)
from kafka_formats.options.formats import FormatOptions, parse_formats
from kafka_formats.options.option import Use
from kafka_formats.options.settings import Mode
from kafka_formats.options.table import MODE
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.option import Option
from kafka_spark_source.options.names import (
    IGNORED,
    argument_in,
    by_key,
    check_names,
    client_options,
)
from kafka_spark_source.options.table import Table
from kafka_spark_source.planning.batch import Parts
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.planning.positions import (
    FROM_EARLIEST,
    TO_LATEST,
    Position,
    SpecificOffsets,
    check_limits,
    needs_group_offsets,
)
from kafka_spark_source.planning.rate_limits import RateLimits
from kafka_spark_source.planning.strategies import Strategy, selects_topic


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of a batch read or a streaming read; `table` describes them.

    Attributes:
        fail_on_no_match: Whether a starting timestamp after all records is an error.
        partitions_ttl_ms: How long a stream uses the partitions that it found; or None.
        formats: The formats of decoded columns; None if no column is decoded.
        mode: How to treat payloads that cannot be decoded; None if no option says it.
        dead_letter_topic: Where records that cannot be decoded are kept; None to do as `mode` says.
        envelope: What records say about the rows of a table.
        ignored: Given options without effect, by the table's names.
        argument: The argument of load(), without effect, if it could name topics; else None.
        kafka: The client's options without `kafka.`, names in lower case. Secrets: kept from repr.
    """

    strategy: Strategy
    starting: Position
    fail_on_no_match: bool
    parts: Parts
    include_headers: bool
    include_topic_id: bool
    fail_on_data_loss: bool
    poll_timeout_ms: int
    planning_attempts: int
    planning_interval_ms: int
    partitions_ttl_ms: int | None
    formats: FormatOptions | None
    mode: Mode | None
    dead_letter_topic: str | None
    envelope: EnvelopeOptions
    ignored: tuple[str, ...]
    argument: str | None
    kafka: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class BatchReadOptions(ReadOptions):
    """The options of a batch read: no partition starts at latest or ends at earliest."""

    ending: Position
    push_down_predicate: bool


@dataclass(frozen=True, slots=True)
class StreamReadOptions(ReadOptions):
    """The options of a streaming read. `group_id` is None if no offsets of a group are needed."""

    limits: RateLimits
    group_id: str | None
    commit_to_group: bool


def parse_batch_options(options: Mapping[str, str]) -> BatchReadOptions:
    """Check the options of `spark.read`, in the order in which Spark's connector does.

    Raises:
        KafkaConfigError: An option is missing, unknown, contradictory or has an unusable value.
    """
    given = by_key(options)
    check_names(given, Use.BATCH_READ)
    starting = _bounded(_START, _first_given(_START_OPTIONS, given, FROM_EARLIEST))
    ending = _bounded(_END, _first_given(_END_OPTIONS, given, TO_LATEST))
    return BatchReadOptions(
        **_fields_of(_read_options(given, Use.BATCH_READ, starting, ending)),
        ending=ending,
        push_down_predicate=Table.PUSH_DOWN_PREDICATE.value_in(given),
    )


def parse_stream_options(options: Mapping[str, str]) -> StreamReadOptions:
    """Check the options of `spark.readStream`, in the order in which Spark's connector does.

    Raises:
        KafkaConfigError: As from `parse_batch_options`.
    """
    given = by_key(options)
    for row, message in _NOT_IN_STREAMS.items():
        if row.key in given:
            raise KafkaConfigError(f"{message}: remove the option '{row.name}'.")
    check_names(given, Use.STREAM_READ)
    starting = _first_given(_START_OPTIONS, given, TO_LATEST)
    read = _read_options(given, Use.STREAM_READ, starting)
    limits = RateLimits(
        max_offsets=Table.MAX_OFFSETS_PER_TRIGGER.value_if_in(given),
        max_bytes=Table.MAX_BYTES_PER_TRIGGER.value_if_in(given),
        min_offsets=Table.MIN_OFFSETS_PER_TRIGGER.value_if_in(given),
        min_offsets_per_topic=Table.MIN_OFFSETS_PER_TOPIC.value_if_in(given),
        max_delay_ms=Table.MAX_TRIGGER_DELAY.value_in(given),
    )
    limits.check()
    commit_to_group = Table.COMMIT_OFFSETS_TO_GROUP.value_in(given)
    needs_group = commit_to_group or needs_group_offsets(starting)
    # The client's configuration has no such option.
    kafka = dict(read.kafka)
    group_id = kafka.pop("group.id", None) if needs_group else None
    if needs_group and not group_id:
        option = Table.COMMIT_OFFSETS_TO_GROUP if commit_to_group else Table.STARTING_OFFSETS
        raise KafkaConfigError(
            f"Option '{option.name}' needs a consumer group: set kafka.group.id to its name."
        )
    return StreamReadOptions(
        **_fields_of(replace(read, kafka=kafka, envelope=read.envelope.in_a_stream())),
        limits=limits,
        group_id=group_id,
        commit_to_group=commit_to_group,
    )


_NOT_IN_STREAMS: Final = {
    Table.ENDING_OFFSETS: "ending offset not valid in streaming queries",
    Table.ENDING_OFFSETS_BY_TIMESTAMP: "ending timestamp not valid in streaming queries",
}


def _read_options(
    given: Mapping[str, str], use: Use, starting: Position, ending: Position = TO_LATEST
) -> ReadOptions:
    """The options that batches and streams share."""
    strategy = _strategy_in(given)
    parts = Parts(
        Table.MIN_PARTITIONS.value_if_in(given),
        Table.MAX_RECORDS_PER_PARTITION.value_if_in(given),
        Table.COALESCE_PARTITIONS.value_in(given),
    )
    mode, formats = _mode_in(given, strategy), parse_formats(given)
    kafka = client_options(given, use)
    check_limits(starting, ending)
    envelope = parse_envelope(given)
    if envelope.is_upsert:
        parts = _whole(parts)
    topic_id = Table.INCLUDE_TOPIC_ID.value_if_in(given)
    return ReadOptions(
        strategy=strategy,
        starting=starting,
        fail_on_no_match=Table.STARTING_STRATEGY.value_in(given),
        parts=parts,
        include_headers=Table.INCLUDE_HEADERS.value_in(given),
        include_topic_id=envelope.kind is not Envelope.NONE if topic_id is None else topic_id,
        fail_on_data_loss=Table.FAIL_ON_DATA_LOSS.value_in(given),
        poll_timeout_ms=Table.POLL_TIMEOUT_MS.value_in(given),
        planning_attempts=Table.FETCH_OFFSET_ATTEMPTS.value_in(given),
        planning_interval_ms=Table.FETCH_OFFSET_INTERVAL_MS.value_in(given),
        partitions_ttl_ms=Table.PARTITIONS_TTL_MS.value_in(given),
        formats=formats if formats is None or mode is None else replace(formats, mode=mode),
        mode=mode,
        dead_letter_topic=Table.DEAD_LETTER_TOPIC.value_if_in(given),
        envelope=envelope,
        ignored=tuple(name for name in IGNORED[use] if name.lower() in given),
        argument=argument_in(given),
        kafka=kafka,
    )


def _mode_in(given: Mapping[str, str], strategy: Strategy) -> Mode | None:
    """The mode that is given, or that of dead letters; None for neither."""
    mode = MODE.value_if_in(given)
    topic = Table.DEAD_LETTER_TOPIC.value_if_in(given)
    if topic is None:
        return mode
    option = f"Option '{Table.DEAD_LETTER_TOPIC.name}'"
    if not topic:
        raise KafkaConfigError(f"{option} is empty: name a topic, or remove it.")
    if mode is not None and mode is not Mode.DROPMALFORMED:
        raise KafkaConfigError(
            f"{option} leaves out records that cannot be decoded, and mode is {mode.value}: remove "
            "one of the two."
        )
    if selects_topic(strategy, topic):
        raise KafkaConfigError(
            f"{option} names {topic!r}, which the query reads: it would read its own dead letters "
            "for ever. Name another topic."
        )
    return Mode.DROPMALFORMED


def _whole(parts: Parts) -> Parts:
    """The parts of a read in which the newest record of each key is looked for in one task."""
    if parts.max_records is not None:
        raise KafkaConfigError(
            f"Option '{Table.MAX_RECORDS_PER_PARTITION.name}' splits partitions, each of which one "
            f"task reads with {ENVELOPE.name}={Envelope.UPSERT.value}: remove it."
        )
    return replace(parts, are_whole=True)


def _fields_of(read: ReadOptions) -> dict[str, Any]:
    return {each.name: getattr(read, each.name) for each in fields(ReadOptions)}


# The first given option counts; the others are not even parsed.
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
    """The value of the first given option, else the default."""
    chosen = next((row for row in rows if row.key in given), None)
    return default if chosen is None else chosen.value_in(given)


@dataclass(frozen=True, slots=True)
class _Limit:
    """The forbidden position at one end of a batch read, and the errors of Spark's connector."""

    forbidden: Position
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
    if needs_group_offsets(position):
        raise KafkaConfigError("The position 'group' is only for the start of a stream.")
    if position == limit.forbidden:
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
        argument = argument_in(given)
        advice = (
            "Set one of them to the topics to read."
            if argument is None
            else f"The argument of load() has no effect: set subscribe to {argument!r}."
        )
        raise KafkaConfigError(
            f"One of the following options must be specified for Kafka source: {names}. {advice}"
        )
    if len(chosen) > 1:
        raise KafkaConfigError(
            f"Only one of the following options can be specified for Kafka source: {names}. Keep "
            f"one of {' and '.join(row.name for row in chosen)}."
        )
    return chosen[0].value_in(given)
