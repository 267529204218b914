"""The command `pykafka peek`."""

from __future__ import annotations

import argparse
import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timezone
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from kafka_protocol.client.clock import Deadline, sleep_ms
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.cli.arguments import number_between
from kafka_spark_source.cli.connection import add_connection, connected
from kafka_spark_source.cli.servers import SUCCESS
from kafka_spark_source.planning.offsets_json import join_partitions
from kafka_spark_source.planning.positions import BeforeLatest

if TYPE_CHECKING:
    from kafka_protocol.client.cluster.cluster import Cluster
    from kafka_spark_source.cli.servers import Commands
    from kafka_spark_source.tools.peek import Record

_FOLLOW_MS: Final = 500
_SHOWN_CHARACTERS: Final = 500
_EPILOG = """\
examples:
  pykafka peek orders -b localhost:9092
  pykafka peek orders --from -10m -n 100 --output json | jq .value
  pykafka peek orders --partition 3 --from 1204500 -n 1
  pykafka peek orders --where-key customer-7 --from earliest
  pykafka peek orders --follow

Without --from the newest records are shown. Keys and values are shown as text; as hex, if they are
no UTF-8. JSON has a line for each record, with key_base64 and value_base64 for what is no text.
"""


def add_peek(commands: Commands) -> None:
    """Adds the command `peek`."""
    parser = commands.add_parser(
        "peek",
        help="some records of a topic",
        description="Shows records of a topic.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_EPILOG,
    )
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "-n", type=number_between(1, 1_000_000), default=10, metavar="N", help="default: 10"
    )
    parser.add_argument(
        "--from",
        dest="start",
        metavar="POSITION",
        help="earliest, latest-20, -10m, a time, or an offset",
    )
    parser.add_argument("--partition", type=number_between(0, 2**31 - 1), metavar="P")
    parser.add_argument("--where-key", metavar="TEXT", help="only records with this key")
    parser.add_argument("--follow", action="store_true", help="then wait for new records")
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="default: %(default)s"
    )
    add_connection(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich

    show = _SHOWN[arguments.output]
    with connected(arguments) as (cluster, deadline):
        for record in _found(cluster, arguments, deadline):
            console.print_text(show(record))
    return SUCCESS


def _found(cluster: Cluster, arguments: argparse.Namespace, deadline: Deadline) -> Iterator[Record]:
    from kafka_spark_source.tools.peek import (  # noqa: PLC0415 - PyArrow
        newest,
        ranges_from,
        records_in,
    )
    from kafka_spark_source.tools.positions import parse_position  # noqa: PLC0415 - only here

    is_newest = arguments.start is None and arguments.where_key is None
    start = (
        BeforeLatest(arguments.n) if is_newest else parse_position(arguments.start or "earliest")
    )
    ranges = ranges_from(cluster, _partitions(cluster, arguments, deadline), start, deadline)
    records = records_in(cluster, ranges, deadline)
    if is_newest:
        yield from newest(records, arguments.n)
    else:
        yield from islice(_selected(records, arguments), arguments.n)
    if arguments.follow:
        read = {each.topic_partition: each.until_offset for each in ranges}
        yield from _selected(_new_records(cluster, read, arguments.timeout * 1000), arguments)


def _partitions(
    cluster: Cluster, arguments: argparse.Namespace, deadline: Deadline
) -> list[TopicPartition]:
    from kafka_spark_source.tools.positions import partitions_of  # noqa: PLC0415 - only here

    found = partitions_of(cluster, [arguments.topic], deadline)
    chosen = [each for each in found if arguments.partition in {None, each.partition}]
    if not chosen:
        raise KafkaConfigError(
            f"There is no partition {arguments.partition} of {arguments.topic!r}; there are "
            f"{join_partitions(found)}."
        )
    return chosen


def _selected(records: Iterable[Record], arguments: argparse.Namespace) -> Iterator[Record]:
    wanted = None if arguments.where_key is None else arguments.where_key.encode()
    return (each for each in records if wanted is None or each.key == wanted)


def _new_records(
    cluster: Cluster, read: dict[TopicPartition, int], timeout_ms: float
) -> Iterator[Record]:
    """What is written from now on, without an end."""
    from kafka_spark_source.tools.peek import records_in  # noqa: PLC0415 - PyArrow
    from kafka_spark_source.tools.positions import bounds_of_logs  # noqa: PLC0415 - only here

    while True:
        sleep_ms(_FOLLOW_MS)
        deadline = Deadline.after(timeout_ms)
        logs = bounds_of_logs(cluster, read, deadline)
        ranges = [OffsetRange(tp, start, logs[tp].latest) for tp, start in read.items()]
        yield from records_in(cluster, ranges, deadline)
        read = {each.topic_partition: each.until_offset for each in ranges}


def _as_text(record: Record) -> str:
    time = datetime.fromtimestamp(record.timestamp_ms / 1000, timezone.utc)
    begin = f"{time:%Y-%m-%d %H:%M:%S}.{record.timestamp_ms % 1000:03}Z"
    place = f"{record.topic}-{record.partition}@{record.offset}"
    headers = ", ".join(f"{name}={_text(value)}" for name, value in record.headers)
    shown = f"{begin} {place} {_text(record.key)} {_text(record.value)}"
    return f"{shown} [{headers}]" if headers else shown


def _text(data: bytes | None) -> str:
    if data is None:
        return "null"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = f"0x{data[: _SHOWN_CHARACTERS // 2].hex()}"
    # What a terminal would take as a command is shown as an escape.
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:_SHOWN_CHARACTERS])
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
    return json.dumps(fields, ensure_ascii=False)


def _named(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


_SHOWN: Final[Mapping[str, Callable[[Record], str]]] = {"text": _as_text, "json": _as_json}
