"""Topics as Arrow without Spark: for pandas, Polars, DuckDB, and scripts.

    from kafka_protocol.arrow_io.topic import read_topic

    reader = read_topic("orders", {"bootstrap.servers": "localhost:9092"})
    orders = reader.read_all()  # a pyarrow.Table; or loop over its batches

The end offsets are fixed before the first record is read, so a read ends even while producers
write.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict, overload

import pyarrow as pa

from kafka_protocol.arrow_io.topic_reader import Progress, Reading, TopicReader
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster import admin
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.groups import committed_offsets
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.option import check_texts
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.client.consumer.read_topics import ReadTopics, ends_before
from kafka_protocol.client.consumer.times import position_of
from kafka_protocol.columnar.arrays.schema import RECORD_SCHEMA, record_schema
from kafka_protocol.errors import DataLossError, KafkaConfigError
from kafka_protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_protocol.topic_partition import OffsetRange, TopicPartition

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "Position",
    "Progress",
    "TopicReader",
    "create_topic",
    "offsets_for_times",
    "read_topic",
    "topics",
]

# The start or the end in each partition: a name, the first record at or after a time, or an
# offset for each partition.
Position: TypeAlias = "Literal['earliest', 'latest'] | datetime | Mapping[int, int]"

_TIMESTAMPS: Final = {"earliest": EARLIEST_TIMESTAMP, "latest": LATEST_TIMESTAMP}


class _RangeArguments(TypedDict, total=False):
    """The arguments of `read_topic` that do not decide what it returns."""

    start: Position
    end: Position
    partitions: Collection[int] | None
    columns: Sequence[str]
    progress: Progress | None


@overload
def read_topic(
    topic: str | Sequence[str],
    options: Mapping[str, str],
    *,
    group_id: None = ...,
    follow: Literal[False] = ...,
    **arguments: Unpack[_RangeArguments],
) -> pa.RecordBatchReader: ...


@overload
def read_topic(
    topic: str | Sequence[str],
    options: Mapping[str, str],
    *,
    group_id: str | None = ...,
    follow: bool = ...,
    **arguments: Unpack[_RangeArguments],
) -> pa.RecordBatchReader | TopicReader: ...


def read_topic(  # noqa: PLR0913 - each is an option of the user, with a default
    topic: str | Sequence[str],
    options: Mapping[str, str],
    *,
    start: Position = "earliest",
    end: Position = "latest",
    partitions: Collection[int] | None = None,
    columns: Sequence[str] = tuple(RECORD_SCHEMA.names),
    progress: Progress | None = None,
    group_id: str | None = None,
    follow: bool = False,
) -> pa.RecordBatchReader | TopicReader:
    """Read a range of one or several topics, partition by partition, each in offset order.

    The first call of the reader fetches the first records. It keeps a few Fetch responses of
    `max.partition.fetch.bytes` in memory, for a range of any length.

    Args:
        topic: The topic's name, or the names of several.
        options: Kafka's names, for example `bootstrap.servers`; see `ClientConfig`.
        start: The first record to read.
        end: The record to stop before.
        partitions: The partitions to read; by default all.
        columns: Names of `RECORD_SCHEMA`, in the wanted order. Other columns are not decoded.
        progress: Called after a Fetch with the number of offsets read so far, and of all.
        group_id: A consumer group. Partitions with offsets of the group start there, the others at
            `start`. `commit()` of the result moves the group on.
        follow: Whether to continue with later records, until `stop()` of the result.

    Returns:
        A reader of Arrow batches of about 4 MB, for one pass: a `TopicReader` with a group or with
        `follow`. `timestamp` is in UTC, and `headers` is null for a record without headers.

    Raises:
        KafkaConfigError: An option, a column or a position is wrong.
        BrokerError: The topic or a partition does not exist, or reading is not permitted.
        KafkaError: No broker is reachable; from the reader: records are damaged or deleted, or
            their topic was created again.
    """
    unknown = [name for name in columns if name not in RECORD_SCHEMA.names]
    if not columns:
        # Arrow would count no rows.
        raise KafkaConfigError("there is no column to read: name one, such as 'offset'")
    if unknown:
        raise KafkaConfigError(
            f"there is no column {unknown[0]!r}; there are {', '.join(RECORD_SCHEMA.names)}"
        )
    names = _names(topic, group_id)
    _check_range(names, start, end, partitions, follow=follow)
    cluster = Cluster(ClientConfig.from_options(options))
    try:
        deadline = Deadline.after(cluster.config.api_timeout_ms)
        chosen = ReadTopics(cluster, names, partitions, deadline)
        ranges = _plan(cluster, chosen.partitions, start, end, group_id, deadline)
    except BaseException:
        cluster.close()
        raise
    reading = Reading(cluster, chosen, ranges, columns, progress, follows=follow)
    schema = record_schema(columns)
    if group_id is None and not follow:
        return pa.RecordBatchReader.from_batches(schema, reading.batches())
    return TopicReader(schema, reading.batches(), reading, group_id)


def _names(topic: Any, group_id: object) -> list[str]:
    """The names of the topics, each once."""
    is_one = isinstance(topic, str) or not isinstance(topic, Iterable)
    names = [topic] if is_one else [*dict.fromkeys(topic)]
    for each in (*names, "" if group_id is None else group_id):
        if not isinstance(each, str):
            raise KafkaConfigError(f"names of topics and groups are text, got {each!r}")
    return names


def _check_range(
    names: Sequence[str],
    start: Position,
    end: Position,
    partitions: Collection[int] | None,
    *,
    follow: bool,
) -> None:
    """Refuse what several topics, or a read without an end, cannot have."""
    if not names:
        raise KafkaConfigError("there is no topic to read: name one")
    if follow and end != "latest":
        raise KafkaConfigError("a read with follow has no end: leave out end or follow")
    numbered = [each for each in (start, end) if isinstance(each, Mapping)]
    if len(names) > 1 and (partitions is not None or numbered):
        raise KafkaConfigError(
            "numbers of partitions are for one topic: read each topic by itself, or leave out "
            "partitions and offsets"
        )


def topics(options: Mapping[str, str], *, internal: bool = False) -> dict[str, int]:
    """The topics that the principal may describe, by name, with their numbers of partitions.

    Args:
        options: Kafka's names, for example `bootstrap.servers`; see `ClientConfig`.
        internal: Whether to include the topics of Kafka itself.

    Raises:
        KafkaConfigError: An option is wrong.
        KafkaError: No broker is reachable.
    """
    with closing(Cluster(ClientConfig.from_options(options))) as cluster:
        by_name = cluster.topics(None, Deadline.after(cluster.config.api_timeout_ms))
    chosen = [each for each in by_name.values() if internal or not each.is_internal]
    return {each.name: len(each.partitions) for each in sorted(chosen)}


def create_topic(
    topic: str,
    options: Mapping[str, str],
    *,
    partitions: int = 1,
    replication_factor: int = 1,
    configs: Mapping[str, str] | None = None,
) -> None:
    """Create a topic, and return when brokers know it.

    Args:
        topic: The topic's name.
        options: Kafka's names, for example `bootstrap.servers`; see `ClientConfig`.
        partitions: Their number; -1 for the brokers' default (Kafka 2.4 and newer).
        replication_factor: The number of replicas; -1 as for `partitions`.
        configs: Kafka's configurations of topics, for example `retention.ms`.

    Raises:
        KafkaConfigError: An option is wrong.
        BrokerError: The cluster refused, for example with TOPIC_ALREADY_EXISTS.
        KafkaError: No broker is reachable.
    """
    check_texts(configs or {}, "Configuration")
    new = admin.NewTopic(topic, partitions, replication_factor, configs or {})
    with closing(Cluster(ClientConfig.from_options(options))) as cluster:
        admin.create_topic(cluster, new, Deadline.after(cluster.config.api_timeout_ms))


def offsets_for_times(
    topic: str,
    options: Mapping[str, str],
    time: datetime,
    *,
    partitions: Collection[int] | None = None,
) -> dict[int, int]:
    """The offset of the first record at or after a time, by partition; without one, the log's end.

    Args:
        topic: The topic's name.
        options: Kafka's names, for example `bootstrap.servers`; see `ClientConfig`.
        time: With a time zone.
        partitions: The partitions to search; by default all.

    Raises:
        KafkaConfigError: An option is wrong, or the time has no zone.
        BrokerError: The topic or a partition does not exist, or may not be described.
        KafkaError: No broker is reachable.
    """
    with closing(Cluster(ClientConfig.from_options(options))) as cluster:
        deadline = Deadline.after(cluster.config.api_timeout_ms)
        chosen = ReadTopics(cluster, [topic], partitions, deadline).partitions
        offsets = _offsets_since(cluster, chosen, time, deadline)
    return {each.partition: offset for each, offset in offsets.items()}


def _plan(  # noqa: PLR0913, PLR0917 - the range of a user
    cluster: Cluster,
    chosen: Sequence[TopicPartition],
    start: Position,
    end: Position,
    group_id: str | None,
    deadline: Deadline,
) -> list[OffsetRange]:
    """The range of each partition, also those without records, which have a position."""
    first = _offsets(cluster, chosen, start, deadline)
    until = _offsets(cluster, chosen, end, deadline)
    if group_id is not None:
        committed = committed_offsets(cluster, group_id, chosen, deadline)
        _check_committed(cluster, group_id, committed, deadline)
        first |= committed
    if isinstance(start, Mapping):
        _check_start(cluster, first, until, deadline)
    return [OffsetRange(tp, first[tp], max(first[tp], until[tp])) for tp in chosen]


def _check_committed(
    cluster: Cluster, group_id: str, committed: Mapping[TopicPartition, int], deadline: Deadline
) -> None:
    """Refuse offsets that a log does not have yet: its topic was probably created again."""
    for tp, end in ends_before(cluster, committed, deadline).items():
        raise DataLossError(
            "PARTITION_OFFSET_CHANGED",
            f"The group {group_id!r} has committed offset {committed[tp]} of {tp}, which ends at "
            f"{end}.",
            "The topic was created again, or lost records. Read with another group, or delete "
            "the offsets of this one.",
        )


def _check_start(
    cluster: Cluster,
    first: Mapping[TopicPartition, int],
    until: Mapping[TopicPartition, int],
    deadline: Deadline,
) -> None:
    """Refuse offsets of the user that a log does not have yet, instead of reading nothing."""
    beyond = {tp: offset for tp, offset in first.items() if offset > until[tp]}
    for tp, end in ends_before(cluster, beyond, deadline).items():
        raise DataLossError(
            "PARTITION_OFFSET_CHANGED",
            f"The read starts at offset {first[tp]} of {tp}, which ends at {end}.",
            "The topic was created again, or lost records. Start at another offset.",
        )


def _offsets(
    cluster: Cluster, chosen: Sequence[TopicPartition], position: Position, deadline: Deadline
) -> dict[TopicPartition, int]:
    if isinstance(position, Mapping):
        missing = [tp.partition for tp in chosen if tp.partition not in position]
        if missing:
            raise KafkaConfigError(f"no offset is given for partition {missing[0]}")
        for number, offset in position.items():
            if not _is_offset(offset):
                raise KafkaConfigError(
                    f"the offset of partition {number} is {offset!r}: give a whole number from 0 "
                    "on, or 'earliest' or 'latest' instead of the dictionary"
                )
        return {tp: position[tp.partition] for tp in chosen}
    if isinstance(position, datetime):
        return _offsets_since(cluster, chosen, position, deadline)
    if position not in _TIMESTAMPS:
        raise KafkaConfigError(
            f"a position must be 'earliest', 'latest', a datetime or offsets, got {position!r}"
        )
    return list_offsets(cluster, dict.fromkeys(chosen, _TIMESTAMPS[position]), deadline)


def _is_offset(given: object) -> bool:
    """Also whole numbers of numpy."""
    return isinstance(given, Integral) and int(given) >= 0


def _offsets_since(
    cluster: Cluster, chosen: Sequence[TopicPartition], time: datetime, deadline: Deadline
) -> dict[TopicPartition, int]:
    """The first offset at or after the time; the end of a partition without one."""
    if time.tzinfo is None:
        raise KafkaConfigError(f"a datetime needs a time zone, got {time}")
    latest = list_offsets(cluster, dict.fromkeys(chosen, LATEST_TIMESTAMP), deadline)
    offsets = list_offsets(cluster, dict.fromkeys(chosen, position_of(time)), deadline)
    return {tp: latest[tp] if offset < 0 else offset for tp, offset in offsets.items()}
