"""The commands `pykafka broker start | status | stop`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kafka_spark_source.cli import servers
from kafka_spark_source.cli.arguments import (
    add_common_arguments,
    add_port,
    assignment,
    number_between,
)
from kafka_spark_source.testing.releases import NEWEST, RELEASES
from kafka_spark_source.testing.state import Facts, Kind, RunningServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafka_spark_source.testing.cluster import KafkaCluster

_SECURITIES = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
# Kafka's own default creates a topic on the first write; the cluster for tests does not.
CONVENIENT = {"auto.create.topics.enable": "true", "num.partitions": "3"}
_START_EPILOG = """\
The broker's jars are downloaded once, with mvn or PySpark's Ivy, into the user's cache. Data and
logs are in a temporary folder that is removed with the broker. The first write to a topic creates
it, with three partitions. SASL listeners have one user with a random password, which is printed;
TLS listeners have a new certificate authority.

examples:
  pykafka broker start
  pykafka broker start --nodes 3 --security SASL_SSL
  pykafka broker start --version 2.8.2 --config auto.create.topics.enable=false
"""
_HEADINGS = ("name", "Kafka", "nodes", "security", "bootstrap servers", "pid", "since")


def add_broker(commands: servers.Commands) -> None:
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
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=_START_EPILOG,
        )
    )
    servers.add_status_and_stop(subcommands, Kind.BROKER, _show_status)


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
        "--security", choices=_SECURITIES, default="PLAINTEXT", help="default: %(default)s"
    )
    start.add_argument(
        "--config",
        type=assignment,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a server property, for every broker; may be repeated",
    )
    add_common_arguments(start, _start, "kafka-1, kafka-2, ...", "the bootstrap servers")


def _start(options: argparse.Namespace) -> int:
    from kafka_spark_source.testing.cluster import KafkaCluster  # noqa: PLC0415 - only here

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
    )


def _show_start(cluster: KafkaCluster, record: RunningServer) -> None:
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich

    console.print_properties(
        [
            ("name", record.name),
            ("Kafka", record.version),
            ("nodes", str(len(record.processes))),
            ("bootstrap servers", record.address),
            ("security", _security(cluster)),
            ("data", "\n".join(str(cluster.log_dir(each.node_id)) for each in cluster.brokers)),
            ("logs", "\n".join(str(each.log_file) for each in cluster.brokers)),
            ("pid", ", ".join(str(process.pid) for process in record.processes)),
            ("supervisor pid", str(record.supervisor.pid)),
        ]
    )
    console.print_text("\n" + console.spark_options(cluster.client_options))


def _show_status(records: Sequence[RunningServer]) -> None:
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich

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
