"""The command `pykafka offsets`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kafka_spark_source.cli.connection import add_connection, connected
from kafka_spark_source.cli.output import Show, add_output, count, print_rows
from kafka_spark_source.cli.servers import SUCCESS
from kafka_spark_source.planning.offsets_json import offsets_to_log

if TYPE_CHECKING:
    from kafka_spark_source.cli.servers import Commands

_COLUMNS: Final[Mapping[str, Show]] = {
    "topic": str,
    "partition": str,
    "earliest": count,
    "latest": count,
    "offsets": count,
}
_EPILOG = """\
examples:
  pykafka offsets orders -b localhost:9092
  pykafka offsets orders --at -2h
  pykafka offsets orders --at 2026-11-01T00:00Z --output json

A position is earliest, latest, latest-20, -10m (also ms, s, h, d), a time (UTC without a zone), or
an offset. A time after all records is the end of the log.
"""


def add_offsets(commands: Commands) -> None:
    """Adds the command `offsets`."""
    parser = commands.add_parser(
        "offsets",
        help="earliest and latest offsets of topics, and those of a time",
        description="Shows the offsets of each partition, and prints startingOffsets to paste.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_EPILOG,
    )
    parser.add_argument("topics", nargs="+", metavar="TOPIC")
    parser.add_argument("--at", metavar="POSITION", help="a position to find in each partition")
    add_output(parser)
    add_connection(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from kafka_spark_source.tools.positions import (  # noqa: PLC0415 - only here
        locate,
        parse_position,
        partitions_of,
    )

    bound = parse_position(arguments.at or "latest")
    with connected(arguments) as (cluster, deadline):
        partitions = partitions_of(cluster, arguments.topics, deadline)
        found = locate(cluster, partitions, bound, deadline)
    rows = [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "earliest": log.earliest,
            "latest": log.latest,
            "offsets": log.latest - log.earliest,
            "at": offset,
        }
        for tp, (log, offset) in found.items()
    ]
    at: dict[str, Show] = {"at": count} if arguments.at else {}
    print_rows(arguments, rows, {**_COLUMNS, **at})
    if arguments.output == "table":
        from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich

        offsets = {tp: each.offset for tp, each in found.items()}
        text = json.dumps(offsets_to_log(offsets), separators=(",", ":"))
        console.print_text(f"\n.option(\"startingOffsets\", '{text}')")
    return SUCCESS
