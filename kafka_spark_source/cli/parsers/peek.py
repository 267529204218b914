"""The arguments of the command `pykafka peek`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kafka_spark_source.cli.parsers.arguments import number_between
from kafka_spark_source.cli.parsers.connection import add_connection

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_EPILOG = """\
examples:
  pykafka peek orders -b localhost:9092
  pykafka peek orders --from -10m -n 100 --output json | jq .value
  pykafka peek orders --partition 3 --from 1204500 -n 1
  pykafka peek orders --where-key customer-7 --from earliest
  pykafka peek orders --follow

Without --from the newest records are shown. Keys and values are shown as text; as hex, if they are
not UTF-8. JSON has a line for each record, with key_base64 and value_base64 for bytes that are not
text.
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
    parser.set_defaults(run=("peek", "peek"))
