"""The arguments of the command `pykafka write`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_spark_source.cli.parsers.arguments import add_path, add_topic, number_between
from kafka_spark_source.cli.parsers.connection import add_connection, add_formats

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_EPILOG: Final = """\
examples:
  echo hello | pykafka write orders -b localhost:9092
  pykafka peek orders --context prod -n 100 -o json | pykafka write orders-test
  printf 'k\\tv\\n' | pykafka write orders --input tab
  pykafka write orders --from-file orders.json -O value.format=avro \\
      -O schema.registry.url=http://localhost:8081

Each line is a record: its value, or with --input tab its key, a tab and its value, or with --input
json an object as "pykafka peek -o json" prints it. Its key, value, headers and timestamp_ms are
written; its topic, partition and offset are not. key_base64 and value_base64 are bytes. Lines of
peek are recognised without --input. If a key or a value has a format (-O), it is JSON in each line.

A record with a key goes to the partition that Kafka's own producer chooses. A file is checked to
its end before the first record is written. Lines of a pipe are written as they arrive: a broken
line ends the command, which says which lines were written.
"""


def add_write(commands: Commands) -> None:
    """Adds the command `write`."""
    parser = commands.add_parser(
        "write",
        help="write lines to a topic",
        description="Writes the lines of the standard input, or of a file, to a topic.",
        epilog=_EPILOG,
    )
    add_topic(parser, "topic", help="the topic to write to, which must exist")
    parser.add_argument(
        "--input",
        choices=("lines", "tab", "json"),
        help="the form of the lines (default: json if the first line is one of peek, else lines)",
    )
    add_path(parser, "--from-file", metavar="FILE", help="read this file (default: standard input)")
    parser.add_argument(
        "--partition",
        type=number_between(0, 2**31 - 1),
        metavar="P",
        help="write all records to this partition (default: by their keys)",
    )
    add_formats(parser)
    add_connection(parser)
    parser.set_defaults(run=("write", "write"))
