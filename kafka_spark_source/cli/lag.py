"""The command `pykafka lag`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_protocol.client.clock import sleep_ms
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.cli.arguments import add_path, number_between
from kafka_spark_source.cli.connection import add_connection, connected
from kafka_spark_source.cli.output import Show, add_output, count, duration, print_rows
from kafka_spark_source.cli.servers import SUCCESS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafka_spark_source.cli.servers import Commands
    from kafka_spark_source.lag.checkpoint import QueryLag
    from kafka_spark_source.lag.group import GroupLag
    from kafka_spark_source.lag.measured import MeasuredLag

BEHIND = 4

_COLUMNS: Final[Mapping[str, Show]] = {
    "source": str,
    "topic": str,
    "partition": str,
    "committed": count,
    "planned": count,
    "latest": count,
    "records": count,
    "behind_ms": duration,
    "lost": count,
}
_EPILOG = """\
A checkpoint is a folder, or what PyArrow opens: s3://, gs://, abfs://, hdfs://. It may be that of a
query with format("kafka"). Nothing is written, and the query needs not run.

examples:
  pykafka lag /checkpoints/orders -b localhost:9092
  pykafka lag s3://data/checkpoints/orders --output json
  pykafka lag /checkpoints/* --fail-above 300 || page-somebody
  pykafka lag /checkpoints/orders --watch 5
  pykafka lag --group reports
  pykafka lag /checkpoints/* --prometheus > /var/lib/node_exporter/lag.prom

"behind" is the age of the first record that no finished micro-batch has read; "lost" are offsets
that retention has taken before they were read. Exit codes: 0, 1 an error, 4 above --fail-above.
"""


def add_lag(commands: Commands) -> None:
    """Adds the command `lag`."""
    parser = commands.add_parser(
        "lag",
        help="how far streaming queries are behind, from their checkpoints",
        description="Compares the checkpoints of streaming queries with the logs of their topics.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_EPILOG,
    )
    add_path(parser, "checkpoints", nargs="*", metavar="CHECKPOINT")
    parser.add_argument(
        "--group", action="append", default=[], help="a consumer group; may be repeated"
    )
    parser.add_argument(
        "--watch", type=number_between(1, 86_400), metavar="SECONDS", help="look again and again"
    )
    parser.add_argument(
        "--prometheus", action="store_true", help="print gauges in Prometheus' text format"
    )
    parser.add_argument(
        "--fail-above",
        type=float,
        metavar="SECONDS",
        help=f"exit with {BEHIND} if a partition is further behind, or has lost records",
    )
    add_output(parser)
    add_connection(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich

    if not arguments.checkpoints and not arguments.group:
        raise KafkaConfigError("Name a checkpoint, or a consumer group with --group.")
    found = _look(arguments)
    _print(arguments, found)
    while arguments.watch is not None:
        sleep_ms(arguments.watch * 1000)
        found = _look(arguments)
        console.clear()
        _print(arguments, found)
    return BEHIND if arguments.fail_above is not None and _is_behind(found, arguments) else SUCCESS


def _look(arguments: argparse.Namespace) -> list[QueryLag | GroupLag]:
    from kafka_spark_source.lag.checkpoint import checkpoint_lag  # noqa: PLC0415 - PyArrow
    from kafka_spark_source.lag.group import group_lag  # noqa: PLC0415 - PyArrow
    from kafka_spark_source.tools.checkpoints import read_checkpoint  # noqa: PLC0415 - PyArrow

    checkpoints = [read_checkpoint(location) for location in arguments.checkpoints]
    with connected(arguments) as (cluster, deadline):
        return [
            *(checkpoint_lag(each, cluster, deadline) for each in checkpoints),
            *(group_lag(each, cluster, deadline) for each in arguments.group),
        ]


def _print(arguments: argparse.Namespace, found: list[QueryLag | GroupLag]) -> None:
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich
    from kafka_spark_source.lag.gauges import measured  # noqa: PLC0415 - only here
    from kafka_spark_source.lag.prometheus import render  # noqa: PLC0415 - only here

    if arguments.prometheus:
        console.print_text(render(measured(found)).rstrip("\n"))
    elif arguments.output == "json":
        print_rows(arguments, [row for each in found for row in _rows(each)], _COLUMNS)
    else:
        _print_tables(arguments, found)


def _rows(lag: QueryLag | GroupLag) -> Iterator[dict[str, Any]]:
    facts = lag._asdict()
    facts.pop("partitions")
    for each in lag.partitions:
        found = {"records": each.records, "lost": each.lost, "is_beyond": each.is_beyond}
        yield facts | each._asdict() | found


def _print_tables(arguments: argparse.Namespace, found: list[QueryLag | GroupLag]) -> None:
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich

    for each in found:
        records = sum(lag.records for lag in each.partitions)
        console.print_text(f"{_heading(each)}, {records:,} records behind")
        print_rows(arguments, _rows(each), _COLUMNS)
        beyond = [f"{lag.topic}-{lag.partition}" for lag in each.partitions if lag.is_beyond]
        if beyond:
            console.print_text(
                f"Committed beyond the end of the log: {', '.join(beyond)}. The topic was deleted "
                "and created again, or lost records."
            )


def _heading(lag: QueryLag | GroupLag) -> str:
    from kafka_spark_source.lag.group import GroupLag  # noqa: PLC0415 - PyArrow

    if isinstance(lag, GroupLag):
        return f"group {lag.group}"
    state = "unfinished" if lag.is_unfinished else "ended"
    return f"{lag.checkpoint}: micro-batch {lag.micro_batch:,} ({state})"


def _is_behind(found: list[QueryLag | GroupLag], arguments: argparse.Namespace) -> bool:
    return any(_is_worse(each, arguments.fail_above) for lag in found for each in lag.partitions)


def _is_worse(lag: MeasuredLag, seconds: float) -> bool:
    from kafka_spark_source.lag.gauges import lag_seconds  # noqa: PLC0415 - only here

    return bool(lag.lost) or lag.is_beyond or (lag_seconds(lag) or 0) > seconds
