"""The arguments of the command `pykafka dead-letters`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_spark_source.cli.exit_codes import BEHIND
from kafka_spark_source.cli.parsers.arguments import add_output, add_topic, number_between
from kafka_spark_source.cli.parsers.connection import add_connection

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_EPILOG = f"""\
examples:
  pykafka dead-letters orders-dead-letters -b localhost:9092
  pykafka dead-letters orders-dead-letters --from -1h --fail-above 0

The topic is named by the option deadLetterTopic of a query, or is one of Kafka Connect. "repeated"
records are there already: a task ran again and wrote them twice.

Exit codes: 0, 1 an error, {BEHIND} above --fail-above.
"""


def add_dead_letters(commands: Commands) -> None:
    """Adds the command `dead-letters`."""
    parser = commands.add_parser(
        "dead-letters",
        help="how many records could not be decoded, and why",
        description="Counts the dead letters in a topic by the reasons in their headers.",
        epilog=_EPILOG,
    )
    add_topic(parser, "topic", help="the topic of dead letters")
    parser.add_argument(
        "--from",
        dest="start",
        default="earliest",
        metavar="POSITION",
        help="earliest, latest-20, -10m, a time, or an offset (default: %(default)s)",
    )
    parser.add_argument(
        "--fail-above",
        type=number_between(0, 2**63 - 1),
        metavar="N",
        help=f"exit with {BEHIND} if there are more dead letters; repeated ones do not count",
    )
    add_output(parser)
    add_connection(parser)
    parser.set_defaults(run=("dead_letters", "dead-letters"))
