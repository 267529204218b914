"""The command line -> the function that runs it, and its exit code.

The only place that imports late: `--help` and completion need no module that runs a command, and so
neither rich nor PyArrow.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from typing import TYPE_CHECKING, Final

from kafka_protocol.errors import KafkaError
from kafka_spark_source.cli.exit_codes import ERROR, OUTPUT_CLOSED, SUCCESS
from kafka_spark_source.cli.parsers.program import program
from kafka_spark_source.testing.errors import LocalBrokerError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from kafka_spark_source.cli.exit_codes import Run

_AGO: Final = re.compile(r"-\d+(ms|s|m|h|d)")


def run(arguments: Sequence[str]) -> int:
    """Runs the command line and returns its exit code."""
    given = _joined(arguments)
    parser = program()
    if not given:
        parser.print_help()
        return SUCCESS
    return _run(parser.parse_args(given))


def _run(options: argparse.Namespace) -> int:
    if importlib.util.find_spec("rich") is None:
        sys.stderr.write("pykafka: rich is missing: pip install 'pyspark-pykafka[cli]'\n")
        return ERROR
    from kafka_spark_source.cli.terminal import console  # noqa: PLC0415 - imports rich

    try:
        return _function_of(*options.run)(options)
    except (LocalBrokerError, KafkaError) as error:
        console.print_error(str(error))
        return ERROR
    except BrokenPipeError:
        console.discard_output()
        return OUTPUT_CLOSED
    except OSError as error:
        console.print_error(f"{error.strerror or error} ({error.filename or 'no file'})")
        return ERROR


def _function_of(module: str, command: str) -> Run:
    """The function that runs a command, from the `COMMANDS` of a module of this package."""
    imported = importlib.import_module(f"kafka_spark_source.cli.{module}")
    function: Run = imported.COMMANDS[command]
    return function


def _joined(arguments: Sequence[str]) -> list[str]:
    """The arguments with `--at -2h` as `--at=-2h`: argparse takes `-2h` for an option."""
    joined: list[str] = []
    for each in arguments:
        if joined and joined[-1].startswith("--") and _AGO.fullmatch(each):
            joined[-1] += f"={each}"
        else:
            joined.append(each)
    return joined
