"""The arguments of the command `pykafka doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_spark_source.cli.parsers.arguments import add_output, add_topic
from kafka_spark_source.cli.parsers.connection import add_connection

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_EPILOG: Final = """\
examples:
  pykafka doctor -b localhost:9092
  pykafka doctor --context prod --read orders --group reports
  pykafka doctor --context prod --write copies \\
      --transactional-id-prefix orders-copy

It changes nothing but this: with --write brokers give out a producer id, and with
--transactional-id-prefix they keep an entry for the id PREFIX-doctor for a week. From the driver
and the executors of a Spark session: kafka_spark_source.doctor.check(spark, options).

Ends with 1 if a step is bad.
"""


def add_doctor(commands: Commands) -> None:
    """Adds the command `doctor`."""
    parser = commands.add_parser(
        "doctor",
        help="find out why a job cannot reach, read or write",
        description="Takes the steps of a job one by one: host names, TCP, TLS, SASL, ApiVersions, "
        "the advertised brokers, clocks, leaders, rights and one Fetch.",
        epilog=_EPILOG,
    )
    for name, verb in (("--read", "reads"), ("--write", "writes")):
        add_topic(parser, name, action="append", default=[], help=f"a topic that the job {verb}")
    parser.add_argument(
        "--read-pattern", metavar="REGEX", help="topics that the job reads (subscribePattern)"
    )
    parser.add_argument(
        "--group", metavar="NAME", help="the consumer group whose offsets it reads or commits"
    )
    parser.add_argument(
        "--transactional-id-prefix", metavar="PREFIX", help="of an exactly-once write"
    )
    parser.add_argument(
        "--commit-log", metavar="TOPIC", help="the topic of its decisions (commitLogTopic)"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--report",
        action="store_true",
        help="print a block to paste, with releases and options; secrets are left out",
    )
    add_output(form)
    add_connection(parser)
    parser.set_defaults(run=("doctor", "doctor"))
