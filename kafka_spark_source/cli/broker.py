"""The commands `pykafka broker start | status | stop`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kafka_spark_source.cli import console, servers
from kafka_spark_source.cli.exit_codes import Run
from kafka_spark_source.testing.cluster import KafkaCluster
from kafka_spark_source.testing.properties import CONVENIENT
from kafka_spark_source.testing.state import Facts, Kind, RunningServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_HEADINGS = ("name", "Kafka", "nodes", "security", "bootstrap servers", "pid", "since")


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
            ("data", "\n".join(str(cluster.log_dir(each.node_id)) for each in cluster.brokers)),
            ("logs", "\n".join(str(each.log_file) for each in cluster.brokers)),
            ("pid", ", ".join(str(process.pid) for process in record.processes)),
            ("supervisor pid", str(record.supervisor.pid)),
        ]
    )
    console.print_text("\n" + console.spark_options(cluster.client_options))


def _show_status(records: Sequence[RunningServer]) -> None:
    rows = [
        (
            record.name,
            record.version,
            _nodes(record),
            record.security,
            record.address,
            str(record.supervisor.pid),
            record.since,
        )
        for record in records
    ]
    console.print_table(_HEADINGS, rows)


def _security(cluster: KafkaCluster) -> str:
    if cluster.username is None:
        return cluster.security
    mechanisms = ", ".join(cluster.sasl_mechanisms)
    return f"{cluster.security} ({mechanisms}), {cluster.username} / {cluster.password}"


def _nodes(record: RunningServer) -> str:
    alive, total = record.processes_alive, len(record.processes)
    return str(alive) if alive == total else f"{alive} of {total}"


COMMANDS: Final[Mapping[str, Run]] = {
    "start": _start,
    "status": lambda _arguments: servers.status(Kind.BROKER, _show_status),
    "stop": lambda arguments: servers.stop(Kind.BROKER, arguments),
}
