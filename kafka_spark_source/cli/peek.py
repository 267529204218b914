"""The command `pykafka peek`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from kafka_protocol.client.clock import Deadline, sleep_ms
from kafka_protocol.client.consumer.read_topics import ReadTopics
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.cli.connection import connected, formats_of
from kafka_spark_source.cli.exit_codes import SUCCESS, Run
from kafka_spark_source.cli.record_template import parse_template
from kafka_spark_source.cli.records import as_json, as_text, payload_of
from kafka_spark_source.cli.terminal import console
from kafka_spark_source.planning.offsets_json import join_partitions
from kafka_spark_source.tools.positions.positions import parse_position, partitions_of
from kafka_spark_source.tools.records.decoding import decode_for
from kafka_spark_source.tools.records.peek import (
    ShownRecord,
    TextsOf,
    newest,
    ranges_from,
    records_in,
)

if TYPE_CHECKING:
    from kafka_protocol.client.cluster.cluster import Cluster

# Whether a record is one that the user asks for.
Condition = Callable[[ShownRecord], bool]

_FOLLOW_MS: Final = 500
_NAMED_PARTITIONS: Final = 5


def _run(arguments: argparse.Namespace) -> int:
    show = _show(arguments)
    with connected(arguments) as (cluster, deadline):
        decode = decode_for(arguments.topic, formats_of(arguments))
        start = parse_position(arguments.start or "earliest")
        end = parse_position(arguments.end or "latest")
        topics = _topics(cluster, arguments, deadline)
        ranges = ranges_from(cluster, topics.partitions, start, deadline, end)
        is_empty = True
        for record in _records(cluster, arguments, topics, ranges, decode, deadline):
            show(record)
            is_empty = False
        if is_empty:
            console.print_error(_why_none(ranges, None if arguments.end else start))
    return SUCCESS


def _show(arguments: argparse.Namespace) -> Callable[[ShownRecord], None]:
    """How records are printed."""
    if arguments.format is None:
        as_line = _SHOWN[arguments.output]
        return lambda record: console.print_text(as_line(record))
    try:
        render = parse_template(arguments.format, console.for_terminal)
    except KafkaConfigError as error:
        arguments.usage_error(str(error))
    return lambda record: console.print_bytes(render(record))


def _records(  # noqa: PLR0913, PLR0917 - a read and its arguments
    cluster: Cluster,
    arguments: argparse.Namespace,
    topics: ReadTopics,
    ranges: Sequence[OffsetRange],
    decode: TextsOf,
    deadline: Deadline,
) -> Iterator[ShownRecord]:
    conditions = _conditions(arguments)
    if arguments.start is None and not conditions:
        yield from newest(cluster, ranges, arguments.n, deadline, decode)
    else:
        records = records_in(cluster, ranges, deadline, decode, topics)
        yield from islice(_selected(records, conditions), arguments.n)
    if arguments.follow:
        read = {each.topic_partition: each.until_offset for each in ranges}
        new = _new_records(cluster, topics, read, decode, arguments.timeout * 1000)
        yield from _selected(new, conditions)


def _topics(cluster: Cluster, arguments: argparse.Namespace, deadline: Deadline) -> ReadTopics:
    partitions = partitions_of(cluster, [arguments.topic], deadline)
    if arguments.partition is None:
        return ReadTopics(cluster, [arguments.topic], None, deadline)
    if all(each.partition != arguments.partition for each in partitions):
        raise KafkaConfigError(
            f"There is no partition {arguments.partition} of {arguments.topic!r}; there are "
            f"{join_partitions(partitions)}."
        )
    return ReadTopics(cluster, [arguments.topic], [arguments.partition], deadline)


def _conditions(arguments: argparse.Namespace) -> Sequence[Condition]:
    conditions: list[Condition] = []
    if arguments.where_key is not None:
        key = arguments.where_key.encode()
        conditions.append(lambda record: payload_of(record, "key") == key)
    if arguments.where_value is not None:
        part = arguments.where_value.encode()
        conditions.append(lambda record: part in (payload_of(record, "value") or b""))
    for wanted in arguments.where_header:
        name, equals, text = wanted.partition("=")
        conditions.append(_has_header(name, text.encode() if equals else None))
    return conditions


def _has_header(name: str, value: bytes | None) -> Condition:
    """Whether a record has a header with a name, and with a value unless that is None."""

    def condition(record: ShownRecord) -> bool:
        return any(name == each and (value is None or value == its) for each, its in record.headers)

    return condition


def _selected(
    records: Iterable[ShownRecord], conditions: Sequence[Condition]
) -> Iterator[ShownRecord]:
    return (each for each in records if all(condition(each) for condition in conditions))


def _new_records(
    cluster: Cluster,
    topics: ReadTopics,
    read: dict[TopicPartition, int],
    decode: TextsOf,
    timeout_ms: float,
) -> Iterator[ShownRecord]:
    """Records that are written from now on, without an end."""
    while True:
        sleep_ms(_FOLLOW_MS)
        ranges = topics.new_ranges(read, timeout_ms=timeout_ms)
        deadline = Deadline.after(timeout_ms)
        yield from records_in(cluster, ranges, deadline, decode, topics)
        read |= {each.topic_partition: each.until_offset for each in ranges}


def _why_none(ranges: Sequence[OffsetRange], start: object) -> str:
    """Where no record was found. `start`: the position that was asked for, up to the log's end."""
    places = [
        f"{tp} ends at offset {until}"
        if isinstance(start, int) and start > until
        else f"{tp} from offset {first} up to {until}"
        for tp, first, until in ranges[:_NAMED_PARTITIONS]
    ]
    more = len(ranges) - len(places)
    return f"no such records: {', '.join(places)}" + (f", and {more} partitions" if more else "")


_SHOWN: Final[Mapping[str, Callable[[ShownRecord], str]]] = {"text": as_text, "json": as_json}


COMMANDS: Final[Mapping[str, Run]] = {
    "peek": _run,
}
