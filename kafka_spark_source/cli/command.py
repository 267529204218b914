"""The entry point, and its exit codes.

0 is success, 1 an error, 2 a wrong command line, 3 that nothing runs (`status`).
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from typing import TYPE_CHECKING

from kafka_spark_source.cli.broker import add_broker
from kafka_spark_source.cli.registry import add_registry
from kafka_spark_source.cli.servers import ERROR, INTERRUPTED
from kafka_spark_source.testing.errors import LocalBrokerError
from kafka_spark_source.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    add_broker(commands)
    add_registry(commands)
    return parser
