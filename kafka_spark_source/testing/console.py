"""The output of the command line: tables, progress and errors. No decisions here.

The only module that imports rich, from the extra `broker`; so it is imported late.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kafka_spark_source.testing.cluster import KafkaCluster
    from kafka_spark_source.testing.state import RunningCluster

_WIDTH_OF_A_PIPE = 160


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDTH_OF_A_PIPE
    return Console(stderr=stderr, width=width, highlight=False, markup=False)


def print_text(text: str) -> None:
    """Prints lines without formatting."""
    _console(stderr=False).print(text, soft_wrap=True)


def print_error(text: str) -> None:
    """Prints an error."""
    _console(stderr=True).print(f"pykafka: {text}", soft_wrap=True)


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Shows the current step: a spinner on a terminal, else one line for each step."""
    console = _console(stderr=True)
    if quiet:
        yield lambda _what: None
    elif console.is_terminal:
        with console.status("starting") as spinner:
            yield spinner.update
    else:
        yield lambda what: console.print(f"{what} ...", soft_wrap=True)


def show_start(cluster: KafkaCluster, record: RunningCluster) -> None:
    """Prints the properties of a new cluster."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    rows = [
        ("name", record.name),
        ("Kafka", record.version),
        ("nodes", str(len(record.brokers))),
        ("bootstrap servers", record.bootstrap_servers),
        ("security", _security(cluster)),
        ("data", "\n".join(str(cluster.log_dir(each.node_id)) for each in cluster.brokers)),
        ("logs", "\n".join(str(each.log_file) for each in cluster.brokers)),
        ("pid", ", ".join(str(broker.pid) for broker in record.brokers)),
        ("supervisor pid", str(record.supervisor.pid)),
    ]
    for row in rows:
        table.add_row(*row)
    _console(stderr=False).print(table)
    print_text("\n" + spark_options(cluster.client_options))


def show_clusters(records: Sequence[RunningCluster]) -> None:
    """Prints one line for each running cluster."""
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "Kafka", "nodes", "security", "bootstrap servers", "pid", "since"):
        table.add_column(heading, overflow="fold")
    for record in records:
        table.add_row(
            record.name,
            record.version,
            _nodes(record),
            record.security,
            record.bootstrap_servers,
            str(record.supervisor.pid),
            record.since,
        )
    _console(stderr=False).print(table)


def spark_options(client_options: dict[str, str]) -> str:
    """The options as lines to paste into a Spark program."""
    return "\n".join(
        f".option({_quote(f'kafka.{k}')}, {_quote(v)})" for k, v in client_options.items()
    )


def _quote(text: str) -> str:
    return f"'{text}'" if '"' in text else f'"{text}"'


def _security(cluster: KafkaCluster) -> str:
    if cluster.username is None:
        return cluster.security
    mechanisms = ", ".join(cluster.sasl_mechanisms)
    return f"{cluster.security} ({mechanisms}), {cluster.username} / {cluster.password}"


def _nodes(record: RunningCluster) -> str:
    alive, total = record.brokers_alive, len(record.brokers)
    return str(alive) if alive == total else f"{alive} of {total}"
