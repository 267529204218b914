"""The command `pykafka doctor`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kafka_spark_source.cli.connection import add_connection, options_of
from kafka_spark_source.cli.output import add_output, print_json
from kafka_spark_source.cli.servers import ERROR, SUCCESS

if TYPE_CHECKING:
    from kafka_spark_source.cli.servers import Commands

_EPILOG: Final = """\
examples:
  pykafka doctor -b localhost:9092
  pykafka doctor --context prod --read orders --group reports
  pykafka doctor --context prod --write copies --transactional-id-prefix orders-copy

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
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_EPILOG,
    )
    for name, verb in (("--read", "reads"), ("--write", "writes")):
        parser.add_argument(
            name, metavar="TOPIC", action="append", default=[], help=f"a topic that the job {verb}"
        )
    parser.add_argument(
        "--read-pattern", metavar="REGEX", help="topics that the job reads (subscribePattern)"
    )
    parser.add_argument("--group", help="the consumer group whose offsets it reads or commits")
    parser.add_argument(
        "--transactional-id-prefix", metavar="PREFIX", help="of an exactly-once write"
    )
    parser.add_argument(
        "--commit-log", metavar="TOPIC", help="the topic of its decisions (commitLogTopic)"
    )
    add_output(parser)
    add_connection(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from kafka_protocol.client.config.client import ClientConfig  # noqa: PLC0415 - slow
    from kafka_spark_source.cli.console import print_text, progress  # noqa: PLC0415 - rich
    from kafka_spark_source.planning.strategies import parse_subscribe_pattern  # noqa: PLC0415
    from kafka_spark_source.tools.diagnosis import Job, diagnose  # noqa: PLC0415 - PyArrow
    from kafka_spark_source.tools.environment import environment  # noqa: PLC0415
    from kafka_spark_source.tools.masking import masked  # noqa: PLC0415
    from kafka_spark_source.tools.report import Place, pasteable  # noqa: PLC0415

    options = options_of(arguments)
    pattern = arguments.read_pattern
    job = Job(
        tuple(arguments.read),
        tuple(arguments.write),
        arguments.group,
        arguments.transactional_id_prefix,
        arguments.commit_log,
        pattern and parse_subscribe_pattern("--read-pattern", pattern),
    )
    is_table = arguments.output == "table"
    findings = []
    with progress(quiet=not is_table) as on_progress:
        for finding in diagnose(ClientConfig.from_options(options), job):
            on_progress(f"{finding.step}: {finding.subject}")
            findings.append(finding)
    place = Place("here", environment(), findings)
    if is_table:
        print_text(pasteable([place], masked(options)))
    else:
        rows = [finding._asdict() for finding in findings]
        print_json({"environment": place.environment, "findings": rows})
    return SUCCESS if place.is_good else ERROR
