"""The command `pykafka peek`."""

from __future__ import annotations

import argparse
import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from kafka_protocol.client.clock import Deadline, sleep_ms
from kafka_protocol.client.consumer.log_bounds import list_log_bounds
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.cli import console
from kafka_spark_source.cli.connection import connected
from kafka_spark_source.cli.escaping import escaped
from kafka_spark_source.cli.exit_codes import SUCCESS, Run
from kafka_spark_source.cli.output import json_line, moment_ms
from kafka_spark_source.planning.offsets_json import join_partitions
from kafka_spark_source.tools.dead_letters import DeadLetter, dead_letter_of, other_headers
from kafka_spark_source.tools.peek import Record, newest, ranges_from, records_in
from kafka_spark_source.tools.positions import parse_position, partitions_of

if TYPE_CHECKING:
    from kafka_protocol.client.cluster.cluster import Cluster

_FOLLOW_MS: Final = 500
_SHOWN_CHARACTERS: Final = 500


def _run(arguments: argparse.Namespace) -> int:
    show = _SHOWN[arguments.output]
    with connected(arguments) as (cluster, deadline):
        for record in _records(cluster, arguments, deadline):
            console.print_text(show(record))
    return SUCCESS


def _records(
    cluster: Cluster, arguments: argparse.Namespace, deadline: Deadline
) -> Iterator[Record]:
    is_newest = arguments.start is None and arguments.where_key is None
    start = parse_position(arguments.start or "earliest")
    ranges = ranges_from(cluster, _partitions(cluster, arguments, deadline), start, deadline)
    if is_newest:
        yield from newest(cluster, ranges, arguments.n, deadline)
    else:
        records = records_in(cluster, ranges, deadline)
        yield from islice(_selected(records, arguments), arguments.n)
    if arguments.follow:
        read = {each.topic_partition: each.until_offset for each in ranges}
        yield from _selected(_new_records(cluster, read, arguments.timeout * 1000), arguments)


def _partitions(
    cluster: Cluster, arguments: argparse.Namespace, deadline: Deadline
) -> list[TopicPartition]:
    partitions = partitions_of(cluster, [arguments.topic], deadline)
    chosen = [each for each in partitions if arguments.partition in {None, each.partition}]
    if not chosen:
        raise KafkaConfigError(
            f"There is no partition {arguments.partition} of {arguments.topic!r}; there are "
            f"{join_partitions(partitions)}."
        )
    return chosen


def _selected(records: Iterable[Record], arguments: argparse.Namespace) -> Iterator[Record]:
    wanted = None if arguments.where_key is None else arguments.where_key.encode()
    return (each for each in records if wanted is None or each.key == wanted)


def _new_records(
    cluster: Cluster, read: dict[TopicPartition, int], timeout_ms: float
) -> Iterator[Record]:
    """Records that are written from now on, without an end."""
    while True:
        sleep_ms(_FOLLOW_MS)
        deadline = Deadline.after(timeout_ms)
        logs = list_log_bounds(cluster, read, deadline)
        ranges = [OffsetRange(tp, start, logs[tp].latest) for tp, start in read.items()]
        yield from records_in(cluster, ranges, deadline)
        read = {each.topic_partition: each.until_offset for each in ranges}


def _as_text(record: Record) -> str:
    place = f"{record.topic}-{record.partition}@{record.offset}"
    others = other_headers(record.headers)
    headers = ", ".join(f"{escaped(name)}={_text(value)}" for name, value in others)
    time = moment_ms(record.timestamp_ms)
    shown = f"{time} {place} {_text(record.key)} {_text(record.value)}"
    shown = f"{shown} [{headers}]" if headers else shown
    letter = dead_letter_of(record.headers)
    return shown if letter is None else f"{shown}\n  {escaped(_why(letter))}"


def _why(letter: DeadLetter) -> str:
    """The line below a dead letter."""
    place = f"{letter.topic}-{letter.partition}@{letter.offset}"
    return f"dead letter of {place}, {letter.stage}: {letter.reason}"


def _text(data: bytes | None) -> str:
    if data is None:
        return "null"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = f"0x{data[: _SHOWN_CHARACTERS // 2].hex()}"
    shown = escaped(text[:_SHOWN_CHARACTERS])
    cut = len(data) > _SHOWN_CHARACTERS
    return f"{shown}... ({len(data):,} bytes)" if cut else shown


def _as_json(record: Record) -> str:
    fields: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        **_named("key", record.key),
        **_named("value", record.value),
        "headers": [{"name": name, **_named("value", value)} for name, value in record.headers],
    }
    return json_line(fields)


def _named(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


_SHOWN: Final[Mapping[str, Callable[[Record], str]]] = {"text": _as_text, "json": _as_json}


COMMANDS: Final[Mapping[str, Run]] = {
    "peek": _run,
}
