"""The arguments of the command `pykafka peek`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kafka_spark_source.cli.parsers.arguments import add_topic, number_between
from kafka_spark_source.cli.parsers.connection import add_connection, add_formats

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_EPILOG = r"""
examples:
  pykafka peek orders -b localhost:9092
  pykafka peek orders -O value.format=avro \
      -O schema.registry.url=http://localhost:8081
  pykafka peek orders --from -10m -n 100 --output json | jq .value
  pykafka peek orders --partition 3 --from 1204500 -n 1
  pykafka peek orders --where-key customer-7 --from earliest --to -1h
  pykafka peek orders -f '%t [%p] at offset %o: key %k: %v\n'
  pykafka peek orders --follow

Without --from the newest records are shown. Keys and values are shown as text, or as hex if they
are not UTF-8. With a format (-O) they are shown as JSON; a payload that cannot be decoded is shown
unchanged, with the reason. JSON has a line for each record, with key_base64 and value_base64 for
bytes that are not text or could not be decoded: "pykafka write" reads such lines.

-f takes kcat's fields: %t topic, %p partition, %o offset, %T timestamp in ms, %k key, %s or %v
value, %K and %S their lengths in bytes, undecoded (-1 for null), %R the length of the value as
four bytes, %h headers, %% a percent sign; \n \r \t \xHH \0NNN in the text.
"""


def add_peek(commands: Commands) -> None:
    """Adds the command `peek`."""
    parser = commands.add_parser(
        "peek",
        help="some records of a topic",
        description="Shows records of a topic.",
        epilog=_EPILOG.lstrip("\n"),
    )
    add_topic(parser, "topic", help="the topic to look into")
    parser.add_argument(
        "-n",
        type=number_between(1, 1_000_000),
        default=10,
        metavar="N",
        help="how many records at most (default: 10)",
    )
    parser.add_argument(
        "--from",
        dest="start",
        metavar="POSITION",
        help="earliest, latest-20, -10m, a time, or an offset (default: the newest records)",
    )
    parser.add_argument(
        "--partition",
        type=number_between(0, 2**31 - 1),
        metavar="P",
        help="only this partition (default: all)",
    )
    _add_conditions(parser)
    until = parser.add_mutually_exclusive_group()
    until.add_argument(
        "--to", dest="end", metavar="POSITION", help="the position to stop before (default: latest)"
    )
    until.add_argument("--follow", action="store_true", help="then show new records, until Ctrl-C")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "-o",
        "--output",
        choices=("text", "json"),
        default="text",
        help="for people or for programs (default: text)",
    )
    form.add_argument(
        "-f", "--format", metavar="FORMAT", help="print each record in this format, as kcat does"
    )
    add_formats(parser)
    add_connection(parser)
    parser.set_defaults(run=("peek", "peek"), usage_error=parser.error)


def _add_conditions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--where-key", metavar="TEXT", help="only records with this key")
    parser.add_argument(
        "--where-value", metavar="TEXT", help="only records whose value contains this text"
    )
    parser.add_argument(
        "--where-header",
        action="append",
        default=[],
        metavar="NAME[=TEXT]",
        help="only records with this header; may be repeated",
    )
