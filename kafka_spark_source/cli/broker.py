"""The commands `pykafka broker start | status | stop`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_spark_source.cli import servers
from kafka_spark_source.cli.exit_codes import Run
from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.output import Show
from kafka_spark_source.testing.broker.cluster import KafkaCluster
from kafka_spark_source.testing.broker.properties import CONVENIENT
from kafka_spark_source.testing.processes.state import Facts, Kind, RunningServer

if TYPE_CHECKING:
    from collections.abc import Callable

_COLUMNS: Final[Mapping[str, Show]] = {
    "name": str,
    "kafka": str,
    "nodes": str,
    "alive": str,
    "security": str,
    "bootstrap_servers": str,
    "pid": str,
    "since": str,
}


def _start(options: argparse.Namespace) -> int:
    def make(on_progress: Callable[[str], None]) -> KafkaCluster:
        return KafkaCluster(
            options.version,
            options.nodes,
            options.security,
            config=CONVENIENT | dict(options.config),
            port=options.port,
            heap=options.heap,
            on_progress=on_progress,
        )

    return servers.start(options, make, _facts_of, _show_start)


def _facts_of(cluster: KafkaCluster) -> Facts:
    return Facts(
        kind=Kind.BROKER,
        version=cluster.version,
        security=cluster.security,
        address=cluster.bootstrap_servers,
        folder=cluster.folder.parent,
        supervisor_pid=cluster.supervisor_pid,
        pids=tuple(broker.pid for broker in cluster.brokers if broker.pid),
        options=cluster.client_options,
    )


def _show_start(cluster: KafkaCluster, record: RunningServer) -> None:
    console.print_properties(
        [
            ("name", record.name),
            ("Kafka", record.version),
            ("nodes", str(len(record.processes))),
            ("bootstrap servers", record.address),
            ("security", _security(cluster)),
            ("for commands", f"--context {record.name}"),
            *(("data", str(cluster.log_dir(each.node_id))) for each in cluster.brokers),
            *(("log", str(each.log_file)) for each in cluster.brokers),
            ("pid", ", ".join(str(process.pid) for process in record.processes)),
            ("supervisor pid", str(record.supervisor.pid)),
        ]
    )
    console.print_text("\n" + console.spark_options(cluster.client_options))


def _row(record: RunningServer) -> dict[str, Any]:
    return {
        "name": record.name,
        "kafka": record.version,
        "nodes": len(record.processes),
        "alive": record.processes_alive,
        "security": record.security,
        "bootstrap_servers": record.address,
        "pid": record.supervisor.pid,
        "since": record.since,
    }


def _security(cluster: KafkaCluster) -> str:
    if cluster.username is None:
        return cluster.security
    mechanisms = ", ".join(cluster.sasl_mechanisms)
    return f"{cluster.security} ({mechanisms}), {cluster.username} / {cluster.password}"


COMMANDS: Final[Mapping[str, Run]] = {
    "start": _start,
    "status": lambda arguments: servers.status(Kind.BROKER, arguments, _row, _COLUMNS),
    "stop": lambda arguments: servers.stop(Kind.BROKER, arguments),
}
