"""The output of the command line: tables, progress and errors. No decisions here.

The only module that imports rich, from the extra `cli`; so it is imported late.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_WIDTH_OF_A_PIPE = 160


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDTH_OF_A_PIPE
    return Console(stderr=stderr, width=width, highlight=False, markup=False)


def clear() -> None:
    """Clears a terminal."""
    _console(stderr=False).clear()


def print_text(text: str) -> None:
    """Prints lines without formatting."""
    _console(stderr=False).print(text, soft_wrap=True)


def print_error(text: str) -> None:
    """Prints an error."""
    _console(stderr=True).print(f"pykafka: {text}", soft_wrap=True)


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Shows the current step: a spinner on a terminal, else one line for each step."""
    console = _console(stderr=True)
    if quiet:
        yield lambda _what: None
    elif console.is_terminal:
        with console.status("starting") as spinner:
            yield spinner.update
    else:
        yield lambda what: console.print(f"{what} ...", soft_wrap=True)


def print_properties(rows: Iterable[tuple[str, str]]) -> None:
    """Prints names and values, one pair in a line."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    _console(stderr=False).print(table)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints rows below headings."""
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*row)
    _console(stderr=False).print(table)


def spark_options(client_options: dict[str, str], prefix: str = "kafka.") -> str:
    """The options as lines to paste into a Spark program."""
    return "\n".join(
        f".option({_quote(f'{prefix}{k}')}, {_quote(v)})" for k, v in client_options.items()
    )


def _quote(text: str) -> str:
    return f"'{text}'" if '"' in text else f'"{text}"'
