"""The command `pykafka`: a local Kafka to try the data source.

`pykafka broker start` returns when the broker is ready and leaves it running; `status` shows the
running brokers, and `stop` ends them. This module has only arguments and exit codes: 0 is success,
1 an error, 2 a wrong command line, 3 no running broker (`status`).
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import signal
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING

from kafka_spark_source.testing.errors import LocalBrokerError
from kafka_spark_source.testing.releases import NEWEST, RELEASES
from kafka_spark_source.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

SUCCESS = 0
ERROR = 1
NOTHING_RUNS = 3
INTERRUPTED = 128 + signal.SIGINT

_SECURITIES = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_WATCH_SECONDS = 0.5
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if importlib.util.find_spec("rich") is None:
        sys.stderr.write("pykafka: rich is missing: pip install 'pyspark-pykafka[broker]'\n")
        return ERROR
    from kafka_spark_source.testing import console  # noqa: PLC0415 - imports rich

    try:
        code: int = options.run(options)
    except LocalBrokerError as error:
        console.print_error(str(error))
        return ERROR
    except OSError as error:
        console.print_error(f"{error.strerror or error} ({error.filename or 'no file'})")
        return ERROR
    except KeyboardInterrupt:
        console.print_error("interrupted")
        return INTERRUPTED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pykafka", description="Kafka for PySpark without a jar: tools for development."
    )
    parser.add_argument("--version", action="version", version=f"pykafka {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
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
    status = subcommands.add_parser("status", help="show the running ones (exit code 3 if none)")
    status.set_defaults(run=_status)
    stop = subcommands.add_parser("stop", help="stop one and wait until it has ended")
    which = stop.add_mutually_exclusive_group()
    which.add_argument("name", nargs="?", metavar="NAME", help="required if more than one runs")
    which.add_argument("--all", action="store_true", help="stop all")
    stop.set_defaults(run=_stop)
    return parser


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
        type=partial(_number_between, 1, 99),
        default=1,
        metavar="N",
        help="the number of brokers (default: 1)",
    )
    start.add_argument(
        "--port",
        type=partial(_number_between, 1, 65535),
        metavar="P",
        help="the first broker's port (default: a free one)",
    )
    start.add_argument(
        "--security", choices=_SECURITIES, default="PLAINTEXT", help="default: %(default)s"
    )
    start.add_argument(
        "--config",
        type=_assignment,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a server property, for every broker; may be repeated",
    )
    start.add_argument(
        "--heap", type=_heap, default="256m", metavar="SIZE", help="of each broker (default: 256m)"
    )
    start.add_argument("--name", help="its name (default: kafka-1, kafka-2, ...)")
    start.add_argument("--foreground", action="store_true", help="wait for Ctrl-C, then stop it")
    start.add_argument("--quiet", action="store_true", help="print only the bootstrap servers")
    start.set_defaults(run=_start, usage_error=start.error)


def _start(options: argparse.Namespace) -> int:
    from kafka_spark_source.testing import console, state  # noqa: PLC0415 - imports rich
    from kafka_spark_source.testing.cluster import KafkaCluster  # noqa: PLC0415

    if options.name is not None:
        state.require_free_name(options.name)
    with console.progress(quiet=options.quiet) as on_progress:
        try:
            cluster = KafkaCluster(
                options.version,
                options.nodes,
                options.security,
                config=CONVENIENT | dict(options.config),
                port=options.port,
                heap=options.heap,
                on_progress=on_progress,
            )
        except LocalBrokerError as error:
            options.usage_error(str(error))
        cluster.start()
    with cluster:
        stop_event = _stop_on_signal() if options.foreground else None
        record = state.remember(cluster, options.name)
        try:
            if options.quiet:
                console.print_text(cluster.bootstrap_servers)
            else:
                console.show_start(cluster, record)
            if stop_event is None:
                cluster.detach()
                return SUCCESS
            while not stop_event.wait(_WATCH_SECONDS):
                cluster.check()
        finally:
            if stop_event is not None:
                state.forget(record)
    return SUCCESS


def _stop_on_signal() -> threading.Event:
    """An event that Ctrl-C and SIGTERM set; they have no other effect then."""
    event = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: event.set())
    return event


def _status(_options: argparse.Namespace) -> int:
    from kafka_spark_source.testing import console, state  # noqa: PLC0415 - imports rich

    records = state.running_clusters()
    if not records:
        console.print_text("no broker is running")
        return NOTHING_RUNS
    console.show_clusters(records)
    return SUCCESS


def _stop(options: argparse.Namespace) -> int:
    from kafka_spark_source.testing import console, state  # noqa: PLC0415 - imports rich

    records = state.running_clusters()
    if options.name is not None:
        records = [record for record in records if record.name == options.name]
        if not records:
            raise LocalBrokerError(f"no broker called {options.name} is running")
    elif len(records) > 1 and not options.all:
        names = ", ".join(record.name for record in records)
        raise LocalBrokerError(f"more than one broker is running: name one ({names}), or --all")
    for record in records:
        state.stop(record)
        console.print_text(f"stopped {record.name}")
    if not records:
        console.print_text("no broker is running")
    return SUCCESS


def _number_between(lowest: int, highest: int, text: str) -> int:
    if not text.isdecimal() or not lowest <= int(text) <= highest:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {lowest} to {highest}")
    return int(text)


def _heap(text: str) -> str:
    if not re.fullmatch(r"[1-9]\d*[kmgKMG]", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a Java memory size, such as 512m or 1g")
    return text


def _assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key.strip() or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key.strip(), value.strip()
