"""The command `pykafka precompile`."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Mapping
from typing import Final

from kafka_spark_source.cli.exit_codes import SUCCESS, Run
from kafka_spark_source.cli.terminal.console import print_sentences, progress
from kafka_spark_source.diagnosis.pyspark_archive import add_bytecode, pyspark_archive


def _run(arguments: argparse.Namespace) -> int:
    archive = pyspark_archive(arguments.spark_home)
    with progress(quiet=False) as on_progress:
        on_progress(f"compiling {archive}")
        count = add_bytecode(archive)
    python = f"Python {platform.python_version()}"
    if count:
        print_sentences(f"{archive} has bytecode of {python} now, of {count:,} modules.")
    else:
        print_sentences(f"{archive} had the bytecode of {python} already.")
    return SUCCESS


COMMANDS: Final[Mapping[str, Run]] = {
    "precompile": _run,
}
