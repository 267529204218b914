"""The arguments of the commands `pykafka broker start | status | stop`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kafka_spark_source.cli.parsers.arguments import (
    assignment,
    number_between,
)
from kafka_spark_source.cli.parsers.servers import (
    add_common_arguments,
    add_port,
    add_status_and_stop,
)
from kafka_spark_source.testing.processes.state import Kind
from kafka_spark_source.testing.releases import NEWEST, RELEASES

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_SECURITIES = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_START_EPILOG = """\
The broker's jars are downloaded once, with mvn or PySpark's Ivy, into the user's cache. Data and
logs are in a temporary folder that is removed with the broker. The first write to a topic creates
it, with three partitions. SASL listeners have one user with a random password, which is printed;
TLS listeners have a new certificate authority. While it runs, its name is a context with all that:
pykafka topics list --context kafka-1

examples:
  pykafka broker start
  pykafka broker start --nodes 3 --security SASL_SSL
  pykafka broker start --version 2.8.2 --config auto.create.topics.enable=false
"""


def add_broker(commands: Commands) -> None:
    """Adds the command `broker`."""
    broker = commands.add_parser(
        "broker",
        help="a real Kafka on this machine",
        description="Starts, shows and stops a real Kafka on this machine. It needs Java 17.",
    )
    subcommands = broker.add_subparsers(metavar="COMMAND", required=True)
    _add_start(
        subcommands.add_parser(
            "start",
            help="start one and return when it is ready; it keeps running in the background",
            epilog=_START_EPILOG,
        )
    )
    add_status_and_stop(subcommands, Kind.BROKER)


def _add_start(start: argparse.ArgumentParser) -> None:
    start.add_argument(
        "--version",
        choices=RELEASES,
        default=NEWEST,
        metavar="V",
        help=f"Kafka's version, one of {', '.join(RELEASES)} (default: %(default)s)",
    )
    start.add_argument(
        "--nodes",
        type=number_between(1, 99),
        default=1,
        metavar="N",
        help="the number of brokers (default: 1)",
    )
    add_port(start, "the first broker's port")
    start.add_argument(
        "--security",
        choices=_SECURITIES,
        default="PLAINTEXT",
        help="the protocol of its listeners (default: %(default)s)",
    )
    start.add_argument(
        "--config",
        type=assignment,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a server property, for every broker; may be repeated",
    )
    add_common_arguments(start, Kind.BROKER, "kafka-1, kafka-2, ...", "the bootstrap servers")
