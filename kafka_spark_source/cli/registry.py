"""The commands `pykafka registry start | status | stop`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_spark_source.cli import servers
from kafka_spark_source.cli.exit_codes import Run
from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.output import Show
from kafka_spark_source.testing.processes.state import Facts, Kind, RunningServer
from kafka_spark_source.testing.registry import SchemaRegistry

if TYPE_CHECKING:
    from collections.abc import Callable

_COLUMNS: Final[Mapping[str, Show]] = {
    "name": str,
    "runs": lambda runs: "yes" if runs else "no",
    "url": str,
    "pid": str,
    "since": str,
}


def _start(options: argparse.Namespace) -> int:
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


def _row(record: RunningServer) -> dict[str, Any]:
    return {
        "name": record.name,
        "runs": bool(record.processes_alive),
        "url": record.address,
        "pid": record.supervisor.pid,
        "since": record.since,
    }


COMMANDS: Final[Mapping[str, Run]] = {
    "start": _start,
    "status": lambda arguments: servers.status(Kind.REGISTRY, arguments, _row, _COLUMNS),
    "stop": lambda arguments: servers.stop(Kind.REGISTRY, arguments),
}
