"""The arguments of commands that connect; `connection` of `cli` reads them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafka_spark_source.cli.parsers.arguments import add_context_name, add_path, assignment

if TYPE_CHECKING:
    import argparse

DEFAULT_CONTEXT: Final = "default"
CONTEXT_VARIABLE: Final = "PYKAFKA_CONTEXT"
SERVERS_VARIABLE: Final = "PYKAFKA_BOOTSTRAP_SERVERS"
# As texts show it.
SHOWN_FOLDER: Final = "~/.config/pykafka"


def add_connection(parser: argparse.ArgumentParser) -> None:
    """The arguments of every command that connects."""
    group = parser.add_argument_group("connection")
    group.add_argument(
        "-b",
        "--bootstrap-servers",
        metavar="HOST:PORT,...",
        help="the addresses of some brokers (bootstrap.servers; default: from --properties, the "
        f"context, or ${SERVERS_VARIABLE})",
    )
    group.add_argument(
        "-X",
        dest="kafka_options",
        type=assignment,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the client, such as security.protocol=SSL; may be repeated",
    )
    add_path(
        group,
        "--properties",
        type=Path,
        metavar="FILE",
        help="a file of options, as Kafka's client.properties",
    )
    add_context_name(
        group,
        "--context",
        help=f"the options in {SHOWN_FOLDER}/NAME.properties, or the options of the running broker "
        f"NAME (default: ${CONTEXT_VARIABLE}, or {DEFAULT_CONTEXT} if there is such a file)",
    )
    group.add_argument(
        "--timeout",
        type=_seconds,
        default=30.0,
        metavar="SECONDS",
        help="how long to wait for brokers (default: 30)",
    )


def add_formats(parser: argparse.ArgumentParser) -> None:
    """The argument for the options of formats."""
    parser.add_argument(
        "-O",
        dest="format_options",
        type=assignment,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of formats as the job has it, such as value.format=avro, value.schema=FILE "
        "or schema.registry.url=URL; may be repeated, and may be in a context",
    )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 1e6:
        raise ValueError(text)
    return seconds
