"""The commands `pykafka registry start | status | stop`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kafka_spark_source.cli import servers
from kafka_spark_source.cli.arguments import add_common_arguments, add_port
from kafka_spark_source.testing.state import Facts, Kind, RunningServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafka_spark_source.testing.registry import SchemaRegistry

_START_EPILOG = """\
The registry is Apicurio Registry, with the REST API of Confluent's Schema Registry. It is
downloaded once (142 MB), with mvn or PySpark's Ivy, into the user's cache. Schemas are in memory:
they are gone when the registry ends.

examples:
  pykafka registry start
  pykafka registry start --port 8081 --tls
"""
_HEADINGS = ("name", "runs", "URL", "pid", "since")


def add_registry(commands: servers.Commands) -> None:
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
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_START_EPILOG,
    )
    add_port(start, "its port")
    start.add_argument("--tls", action="store_true", help="https, with a new certificate authority")
    add_common_arguments(start, _start, "registry-1, registry-2, ...", "the URL")
    servers.add_status_and_stop(subcommands, Kind.REGISTRY, _show_status)


def _start(options: argparse.Namespace) -> int:
    from kafka_spark_source.testing.registry import SchemaRegistry  # noqa: PLC0415 - only here

    def make(on_progress: Callable[[str], None]) -> SchemaRegistry:
        return SchemaRegistry(
            tls=options.tls, port=options.port, heap=options.heap, on_progress=on_progress
        )

    return servers.start(options, make, _facts_of, _show_start)


def _facts_of(registry: SchemaRegistry) -> Facts:
    return Facts(
        kind=Kind.REGISTRY,
        version=registry.version,
        security="SSL" if registry.ca_file else "PLAINTEXT",
        address=registry.url,
        folder=registry.folder,
        supervisor_pid=registry.supervisor_pid,
        pids=(registry.pid,),
    )


def _show_start(registry: SchemaRegistry, record: RunningServer) -> None:
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich

    console.print_properties(
        [
            ("name", record.name),
            ("Apicurio Registry", record.version),
            ("URL", record.address),
            ("log", str(registry.log_file)),
            ("pid", str(registry.pid)),
            ("supervisor pid", str(record.supervisor.pid)),
        ]
    )
    console.print_text("\n" + console.spark_options(registry.client_options, prefix=""))


def _show_status(records: Sequence[RunningServer]) -> None:
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich

    rows = [
        (
            record.name,
            "yes" if record.processes_alive else "no",
            record.address,
            str(record.supervisor.pid),
            record.since,
        )
        for record in records
    ]
    console.print_table(_HEADINGS, rows)
