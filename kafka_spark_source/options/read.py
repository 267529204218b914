"""The options of one query: given as text, checked as a whole, kept as a frozen value.

Pure: no I/O, no Spark. What each option is stands in `option_table`; the order of the checks and
the error texts are those of Spark's Kafka connector (`KafkaSourceProvider`). The values of
`kafka.*` options are the Kafka client's business (`kafka_protocol.client.config.client`): here they
are only collected, and never shown, for there are passwords among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypedDict

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.options.names import IGNORED, by_key, check_names, client_options
from kafka_spark_source.options.table import Option, Table, Use
from kafka_spark_source.planning.batch import Parts
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.planning.positions import (
    FROM_EARLIEST,
    TO_LATEST,
    Position,
    SpecificOffsets,
    asks_group,
    check_limits,
)
from kafka_spark_source.planning.rate_limits import Limits
from kafka_spark_source.planning.strategies import Strategy


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


def parse_batch_options(options: Mapping[str, str]) -> BatchReadOptions:
    """Read the options of `spark.read`, in the order in which Spark's connector checks them.

    Raises:
        KafkaConfigError: An option is missing, unknown, contradictory or has an unusable value.
    """
    given = by_key(options)
    check_names(given, Use.BATCH_READ)
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
    given = by_key(options)
    for row, message in _NOT_IN_STREAMS.items():
        if row.key in given:
            raise KafkaConfigError(f"{message}: remove the option '{row.name}'.")
    check_names(given, Use.STREAM_READ)
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
    kafka = client_options(given, use)
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
        ignored=tuple(name for name in IGNORED[use] if name.lower() in given),
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
