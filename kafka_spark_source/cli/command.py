"""The entry point, and its exit codes.

0 is success, 1 an error, 2 a wrong command line, 3 that nothing runs (`status`), 4 that a query is
further behind than `lag --fail-above` allows.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from typing import TYPE_CHECKING, Final

from kafka_protocol.errors import KafkaError
from kafka_spark_source.cli.broker import add_broker
from kafka_spark_source.cli.checkpoint import add_checkpoint
from kafka_spark_source.cli.completion import add_completion
from kafka_spark_source.cli.dashboard import add_dashboard
from kafka_spark_source.cli.doctor import add_doctor
from kafka_spark_source.cli.lag import add_lag
from kafka_spark_source.cli.offsets import add_offsets
from kafka_spark_source.cli.peek import add_peek
from kafka_spark_source.cli.registry import add_registry
from kafka_spark_source.cli.servers import ERROR, INTERRUPTED
from kafka_spark_source.cli.topics import add_topics
from kafka_spark_source.cli.txn import add_txn
from kafka_spark_source.testing.errors import LocalBrokerError
from kafka_spark_source.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence


_AGO: Final = re.compile(r"-\d+(ms|s|m|h|d)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    parser = _parser()
    options = parser.parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
    if importlib.util.find_spec("rich") is None:
        sys.stderr.write("pykafka: rich is missing: pip install 'pyspark-pykafka[cli]'\n")
        return ERROR
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich

    try:
        code: int = options.run(options)
    except (LocalBrokerError, KafkaError) as error:
        console.print_error(str(error))
        return ERROR
    except OSError as error:
        console.print_error(f"{error.strerror or error} ({error.filename or 'no file'})")
        return ERROR
    except KeyboardInterrupt:
        console.print_error("interrupted")
        return INTERRUPTED
    return code


def _joined(arguments: Sequence[str]) -> list[str]:
    """The arguments with `--at -2h` as `--at=-2h`: argparse takes `-2h` for an option."""
    found: list[str] = []
    for each in arguments:
        if found and found[-1].startswith("--") and _AGO.fullmatch(each):
            found[-1] += f"={each}"
        else:
            found.append(each)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pykafka", description="Kafka for PySpark without a jar: its tools."
    )
    parser.add_argument("--version", action="version", version=f"pykafka {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    add_doctor(commands)
    add_lag(commands)
    add_checkpoint(commands)
    add_offsets(commands)
    add_peek(commands)
    add_topics(commands)
    add_txn(commands)
    add_dashboard(commands)
    add_broker(commands)
    add_registry(commands)
    add_completion(commands, parser)
    return parser
