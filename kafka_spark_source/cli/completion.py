"""The command `pykafka completion`."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Mapping
from typing import Final

from kafka_spark_source.cli import console
from kafka_spark_source.cli.exit_codes import ERROR, SUCCESS, Run
from kafka_spark_source.cli.parsers.program import program


def _run(arguments: argparse.Namespace) -> int:
    if importlib.util.find_spec("shtab") is None:
        console.print_error("shtab is missing: pip install 'pyspark-pykafka[cli]'")
        return ERROR
    import shtab  # noqa: PLC0415 - of an extra

    console.print_text(shtab.complete(program(), arguments.shell).rstrip("\n"))
    return SUCCESS


COMMANDS: Final[Mapping[str, Run]] = {"completion": _run}
