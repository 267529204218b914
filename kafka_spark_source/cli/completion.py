"""The command `pykafka completion`."""

from __future__ import annotations

import argparse
import importlib.util
from typing import TYPE_CHECKING, Final

from kafka_spark_source.cli.servers import ERROR, SUCCESS

if TYPE_CHECKING:
    from kafka_spark_source.cli.servers import Commands

_EPILOG: Final = """\
examples:
  pykafka completion bash > ~/.local/share/bash-completion/completions/pykafka
  pykafka completion zsh > "${fpath[1]}/_pykafka"
"""


def add_completion(commands: Commands, program: argparse.ArgumentParser) -> None:
    """Adds the command `completion`, for all commands of the program."""
    parser = commands.add_parser(
        "completion",
        help="completion of commands and options, for bash and zsh",
        description="Prints a script by which a shell completes the commands of pykafka.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_EPILOG,
    )
    parser.add_argument("shell", choices=("bash", "zsh"))
    parser.set_defaults(run=lambda arguments: _run(program, arguments.shell))


def _run(program: argparse.ArgumentParser, shell: str) -> int:
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich

    if importlib.util.find_spec("shtab") is None:
        console.print_error("shtab is missing: pip install 'pyspark-pykafka[cli]'")
        return ERROR
    import shtab  # noqa: PLC0415 - only here

    console.print_text(shtab.complete(program, shell).rstrip("\n"))
    return SUCCESS
