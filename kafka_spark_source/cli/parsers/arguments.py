"""Arguments that several commands have, and their types."""

from __future__ import annotations

import argparse
import textwrap
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafka_protocol.options.nearest_name import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    # The type that `add_subparsers` returns; argparse's own is private.
    Commands = Any

# Functions of shells: from `completion`, and shtab's FILE, which is imported only there.
TOPICS_FUNCTION: Final = "_pykafka_topics"
CONTEXTS_FUNCTION: Final = "_pykafka_contexts"
# Fish takes an expression for the words.
_TOPICS: Final = dict.fromkeys(("bash", "zsh"), TOPICS_FUNCTION) | {"fish": f"({TOPICS_FUNCTION})"}
_CONTEXTS: Final = dict.fromkeys(("bash", "zsh"), CONTEXTS_FUNCTION) | {
    "fish": f"({CONTEXTS_FUNCTION})"
}
_FILES: Final = {
    "bash": "_shtab_compgen_files",
    "zsh": "_files",
    "fish": "(__fish_complete_path (commandline -ct))",
}


class _Help(argparse.HelpFormatter):
    """Fits paragraphs to the terminal, except paragraphs with indented lines, such as examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:  # noqa: ARG002 - argparse's
        paragraphs = text.strip("\n").split("\n\n")
        return "\n\n".join(
            each if "\n  " in each else "\n".join(self._split_lines(each, width))
            for each in paragraphs
        )

    def _split_lines(self, text: str, width: int) -> list[str]:
        # Names of options are not broken at their hyphens.
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """A parser that asks which command was meant."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"formatter_class": _Help, **options})

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            known = {name: name for name in action.choices}
            listed = f"there are {', '.join(known)}"
            raise argparse.ArgumentError(
                None, f"{value!r} is not a command: {did_you_mean(value, known, otherwise=listed)}"
            )
        super()._check_value(action, value)


def add_path(parser: argparse._ActionsContainer, *names: str, **options: Any) -> None:
    """An argument whose value is a path, which shells complete (`completion`)."""
    setattr(parser.add_argument(*names, **options), "complete", _FILES)  # noqa: B010 - of shtab


def add_topic(parser: argparse._ActionsContainer, *names: str, **options: Any) -> None:
    """An argument whose value is the name of a topic, which shells complete."""
    given = {"metavar": "TOPIC", **options}
    setattr(parser.add_argument(*names, **given), "complete", _TOPICS)  # noqa: B010 - of shtab


def add_context_name(parser: argparse._ActionsContainer, *names: str, **options: Any) -> None:
    """An argument whose value is the name of a context, which shells complete."""
    given = {"metavar": "NAME", **options}
    setattr(parser.add_argument(*names, **given), "complete", _CONTEXTS)  # noqa: B010 - of shtab


def add_output(parser: argparse._ActionsContainer) -> None:
    """The argument `--output`, for `print_rows` and `print_json` of `output`."""
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "json"),
        default="table",
        help="a table for people, or JSON for programs (default: %(default)s)",
    )


def number_between(lowest: int, highest: int) -> Callable[[str], int]:
    """The type of a whole number in this range; both ends are in it."""
    return partial(_number_between, lowest, highest)


def assignment(text: str) -> tuple[str, str]:
    """The type of `KEY=VALUE`."""
    key, equals, value = text.partition("=")
    if not key.strip() or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key.strip(), value.strip()


def _number_between(lowest: int, highest: int, text: str) -> int:
    if not text.isdecimal() or not lowest <= int(text) <= highest:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {lowest} to {highest}")
    return int(text)
