"""The arguments of the command `pykafka offsets`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_spark_source.cli.parsers.arguments import add_topic
from kafka_spark_source.cli.parsers.connection import add_connection

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_EPILOG = """\
examples:
  pykafka offsets orders -b localhost:9092
  pykafka offsets orders --at -2h
  pykafka offsets orders --at 2026-11-01T00:00Z --output json
  START=$(pykafka offsets orders --at -2h -o spark)

A position is earliest, latest, latest-20, -10m (also ms, s, h, d), a time (UTC without a zone), or
an offset. A time after all records is the end of the log. If an offset is not in the log, the
nearest end of the log is shown, and the standard error says so.
"""


def add_offsets(commands: Commands) -> None:
    """Adds the command `offsets`."""
    parser = commands.add_parser(
        "offsets",
        help="earliest and latest offsets of topics, and the offsets of a time",
        description="Shows the offsets of each partition, and prints startingOffsets to paste.",
        epilog=_EPILOG,
    )
    add_topic(parser, "topics", nargs="+", help="the topics to look into")
    parser.add_argument("--at", metavar="POSITION", help="a position to find in each partition")
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "json", "spark"),
        default="table",
        help="for people, for programs, or only startingOffsets in a line (default: table)",
    )
    add_connection(parser)
    parser.set_defaults(run=("offsets", "offsets"))
