"""The arguments that the commands of brokers and of registries share."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from kafka_spark_source.cli.parsers.arguments import add_output, number_between

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands
    from kafka_spark_source.testing.processes.state import Kind


def add_common_arguments(
    start: argparse.ArgumentParser, kind: Kind, names: str, shown: str
) -> None:
    """The arguments that every `start` has.

    Args:
        start: The parser of the command.
        kind: The kind of server that it starts.
        names: The default names, as the help has them: "kafka-1, kafka-2, ...".
        shown: The only output of `--quiet`.
    """
    start.add_argument(
        "--heap",
        type=_heap,
        default="256m",
        metavar="SIZE",
        help="the heap of each JVM (default: 256m)",
    )
    start.add_argument("--name", help=f"its name (default: {names})")
    start.add_argument("--foreground", action="store_true", help="wait for Ctrl-C, then stop it")
    start.add_argument("--quiet", action="store_true", help=f"print only {shown}")
    start.set_defaults(run=(kind.value, "start"), usage_error=start.error)


def add_port(start: argparse.ArgumentParser, whose: str) -> None:
    """The argument `--port`."""
    start.add_argument(
        "--port", type=number_between(1, 65535), metavar="P", help=f"{whose} (default: a free one)"
    )


def add_status_and_stop(subcommands: Commands, kind: Kind) -> None:
    """The commands `status` and `stop`."""
    status = subcommands.add_parser(
        "status", help="show the servers that run; exit code 3 if there is no such server"
    )
    add_output(status)
    status.set_defaults(run=(kind.value, "status"))
    stop = subcommands.add_parser("stop", help="stop one and wait until it has ended")
    which = stop.add_mutually_exclusive_group()
    which.add_argument(
        "name", nargs="?", metavar="NAME", help="the one to stop; required if more than one runs"
    )
    which.add_argument("--all", action="store_true", help="stop all")
    stop.set_defaults(run=(kind.value, "stop"))


def _heap(text: str) -> str:
    if not re.fullmatch(r"[1-9]\d*[kmgKMG]", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a Java memory size, such as 512m or 1g")
    return text
