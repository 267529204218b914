"""The arguments of the commands `pykafka registry start | status | stop`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_spark_source.cli.parsers.servers import (
    add_common_arguments,
    add_port,
    add_status_and_stop,
)
from kafka_spark_source.testing.processes.state import Kind

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_START_EPILOG = """\
The registry is Apicurio Registry, with the REST API of Confluent's Schema Registry. It is
downloaded once (142 MB), with mvn or PySpark's Ivy, into the user's cache. Schemas are in memory:
they are gone when the registry ends.

examples:
  pykafka registry start
  pykafka registry start --port 8081 --tls
"""


def add_registry(commands: Commands) -> None:
    """Adds the command `registry`."""
    registry = commands.add_parser(
        "registry",
        help="a real schema registry on this machine",
        description="Starts, shows and stops a schema registry on this machine. It needs Java 17.",
    )
    subcommands = registry.add_subparsers(metavar="COMMAND", required=True)
    start = subcommands.add_parser(
        "start",
        help="start one and return when it is ready; it keeps running in the background",
        epilog=_START_EPILOG,
    )
    add_port(start, "its port")
    start.add_argument("--tls", action="store_true", help="https, with a new certificate authority")
    add_common_arguments(start, Kind.REGISTRY, "registry-1, registry-2, ...", "the URL")
    add_status_and_stop(subcommands, Kind.REGISTRY)
