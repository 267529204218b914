"""Arguments that several commands have, and their types."""

from __future__ import annotations

import argparse
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

# shtab's FILE, which is imported for `completion` only.
_FILES: Final = {"bash": "_shtab_compgen_files", "zsh": "_files"}


def add_common_arguments(
    start: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int], names: str, shown: str
) -> None:
    """The arguments that every `start` has.

    Args:
        start: The parser of the command.
        run: Runs the command.
        names: The default names, as the help has them: "kafka-1, kafka-2, ...".
        shown: The only output of `--quiet`.
    """
    start.add_argument(
        "--heap", type=_heap, default="256m", metavar="SIZE", help="of each JVM (default: 256m)"
    )
    start.add_argument("--name", help=f"its name (default: {names})")
    start.add_argument("--foreground", action="store_true", help="wait for Ctrl-C, then stop it")
    start.add_argument("--quiet", action="store_true", help=f"print only {shown}")
    start.set_defaults(run=run, usage_error=start.error)


def add_path(parser: argparse._ActionsContainer, *names: str, **options: Any) -> None:
    """An argument whose value is a path, which shells complete (`completion`)."""
    setattr(parser.add_argument(*names, **options), "complete", _FILES)  # noqa: B010 - of shtab


def add_port(start: argparse.ArgumentParser, whose: str) -> None:
    """The argument `--port`."""
    start.add_argument(
        "--port", type=number_between(1, 65535), metavar="P", help=f"{whose} (default: a free one)"
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


def _heap(text: str) -> str:
    if not re.fullmatch(r"[1-9]\d*[kmgKMG]", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a Java memory size, such as 512m or 1g")
    return text
