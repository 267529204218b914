"""The arguments of the command `pykafka completion`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_EPILOG: Final = """\
examples:
  pykafka completion bash > ~/.local/share/bash-completion/completions/pykafka
  pykafka completion zsh > "${fpath[1]}/_pykafka"
  pykafka completion fish > ~/.config/fish/completions/pykafka.fish
"""


def add_completion(commands: Commands) -> None:
    """Adds the command `completion`."""
    parser = commands.add_parser(
        "completion",
        help="completion of commands and options, for bash, zsh and fish",
        description="Prints a script by which a shell completes the commands of pykafka.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "shell", choices=("bash", "zsh", "fish"), help="the shell to print a script for"
    )
    parser.set_defaults(run=("completion", "completion"))
