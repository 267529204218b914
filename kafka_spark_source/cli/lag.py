"""The command `pykafka lag`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_spark_source.cli.connection import add_connection, connected
from kafka_spark_source.cli.output import Show, add_output, count, duration, print_rows
from kafka_spark_source.cli.servers import SUCCESS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafka_spark_source.cli.servers import Commands
    from kafka_spark_source.tools.lag import PartitionLag, QueryLag

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
    parser.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT")
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
    from kafka_spark_source.tools.checkpoints import read_checkpoint  # noqa: PLC0415 - PyArrow
    from kafka_spark_source.tools.lag import lag_of  # noqa: PLC0415 - PyArrow

    checkpoints = [read_checkpoint(location) for location in arguments.checkpoints]
    with connected(arguments) as (cluster, deadline):
        found = [lag_of(each, cluster, deadline) for each in checkpoints]
    rows = [row for query in found for row in _rows(query)]
    if arguments.output == "json":
        print_rows(arguments, rows, _COLUMNS)
    else:
        _print_tables(arguments, found)
    return BEHIND if arguments.fail_above is not None and _is_behind(found, arguments) else SUCCESS


def _rows(query: QueryLag) -> Iterator[dict[str, Any]]:
    facts = query._asdict()
    facts.pop("partitions")
    for each in query.partitions:
        yield facts | each._asdict() | {"records": each.records, "lost": each.lost}


def _print_tables(arguments: argparse.Namespace, found: list[QueryLag]) -> None:
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich

    for query in found:
        state = "unfinished" if query.is_unfinished else "ended"
        console.print_text(
            f"{query.checkpoint}: micro-batch {query.micro_batch:,} ({state}), "
            f"{sum(each.records for each in query.partitions):,} records behind"
        )
        print_rows(arguments, _rows(query), _COLUMNS)


def _is_behind(found: list[QueryLag], arguments: argparse.Namespace) -> bool:
    return any(
        _is_worse(each, arguments.fail_above) for query in found for each in query.partitions
    )


def _is_worse(lag: PartitionLag, seconds: float) -> bool:
    return bool(lag.lost) or (lag.behind_ms or 0) > 1000 * seconds
