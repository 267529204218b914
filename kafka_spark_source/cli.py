"""The command `pykafka`: a local Kafka for whoever tries the data source.

`pykafka broker start` returns when the broker is ready and leaves it running; `status` shows what
runs, and `stop` ends it. Only arguments and exit codes are decided here: 0 is success, 1 an error,
2 a wrong command line, 3 no broker where `status` was asked for one.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import signal
import sys
import threading
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
# As Kafka's own default is, so that writing to a topic makes it; tests want the opposite.
CONVENIENT = {"auto.create.topics.enable": "true", "num.partitions": "3"}
_START_EPILOG = """\
The broker's jars are fetched once, with mvn or with PySpark's Ivy, into the user's cache. Data and
logs are in a temporary folder that goes with the broker. Topics are made when they are written to,
with three partitions. SASL listeners know one user, whose
password is made up and printed; TLS listeners come with a certificate authority of their own.

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
        console.complain(str(error))
        return ERROR
    except OSError as error:
        console.complain(f"{error.strerror or error} ({error.filename or 'no file'})")
        return ERROR
    except KeyboardInterrupt:
        console.complain("interrupted")
        return INTERRUPTED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pykafka", description="Kafka for PySpark without a jar: tools for development."
    )
    parser.add_argument("--version", action="version", version=f"pykafka {__version__}")
    rooms = parser.add_subparsers(metavar="COMMAND", required=True)
    broker = rooms.add_parser(
        "broker",
        help="a real Kafka on this machine",
        description="Starts, shows and stops a real Kafka on this machine. It wants Java 17.",
    )
    verbs = broker.add_subparsers(metavar="COMMAND", required=True)
    _add_start(
        verbs.add_parser(
            "start",
            help="start one and return when it is ready; it goes on in the background",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=_START_EPILOG,
        )
    )
    status = verbs.add_parser("status", help="show what runs (exit code 3 where nothing does)")
    status.set_defaults(run=_status)
    stop = verbs.add_parser("stop", help="stop one and wait until it is gone")
    which = stop.add_mutually_exclusive_group()
    which.add_argument("name", nargs="?", metavar="NAME", help="needed where more than one runs")
    which.add_argument("--all", action="store_true", help="stop every one")
    stop.set_defaults(run=_stop)
    return parser


def _add_start(start: argparse.ArgumentParser) -> None:
    start.add_argument(
        "--version",
        choices=RELEASES,
        default=NEWEST,
        metavar="V",
        help=f"Kafka's, one of {', '.join(RELEASES)} (default: %(default)s)",
    )
    start.add_argument(
        "--nodes", type=_node_count, default=1, metavar="N", help="how many brokers (default: 1)"
    )
    start.add_argument(
        "--port", type=_port, metavar="P", help="the first broker's (default: any free one)"
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
        "--heap", type=_heap, default="256m", metavar="SIZE", help="each broker's (default: 256m)"
    )
    start.add_argument("--name", help="what to call it (default: kafka-1, kafka-2, ...)")
    start.add_argument("--foreground", action="store_true", help="stay until Ctrl-C, then stop it")
    start.add_argument(
        "--quiet", action="store_true", help="print the bootstrap servers and nothing else"
    )
    start.set_defaults(run=_start, usage_error=start.error)


def _start(options: argparse.Namespace) -> int:
    from kafka_spark_source.testing import console, state  # noqa: PLC0415 - imports rich
    from kafka_spark_source.testing.cluster import KafkaCluster  # noqa: PLC0415

    if options.name is not None:
        state.require_free_name(options.name)
    with console.progress(options.quiet) as on_progress:
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
        enough = _until_signal() if options.foreground else None
        record = state.remember(cluster, options.name)
        try:
            if options.quiet:
                console.say(cluster.bootstrap_servers)
            else:
                console.show_start(cluster, record)
            if enough is None:
                cluster.detach()
                return SUCCESS
            while not enough.wait(_WATCH_SECONDS):
                cluster.check()
        finally:
            if enough is not None:
                state.forget(record)
    return SUCCESS


def _until_signal() -> threading.Event:
    """Set by Ctrl-C and SIGTERM, which do nothing else from now on."""
    enough = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: enough.set())
    return enough


def _status(_options: argparse.Namespace) -> int:
    from kafka_spark_source.testing import console, state  # noqa: PLC0415 - imports rich

    records = state.running_clusters()
    if not records:
        console.say("no broker is running")
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
        console.say(f"stopped {record.name}")
    if not records:
        console.say("no broker is running")
    return SUCCESS


def _node_count(text: str) -> int:
    return _number_between(text, 1, 99)


def _port(text: str) -> int:
    return _number_between(text, 1, 65535)


def _number_between(text: str, lowest: int, highest: int) -> int:
    if not text.isdecimal() or not lowest <= int(text) <= highest:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from {lowest} to {highest}")
    return int(text)


def _heap(text: str) -> str:
    if not re.fullmatch(r"[1-9]\d*[kmgKMG]", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no size of Java's, such as 512m or 1g")
    return text


def _assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key.strip() or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key.strip(), value.strip()
