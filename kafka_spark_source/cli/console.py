"""The output of the command line: tables, progress and errors. No decisions here.

The only module that imports rich, from the extra `cli`.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from kafka_spark_source.cli.escaping import escaped, escaped_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_WIDTH_OF_A_PIPE = 160
# Between two columns of a table, in characters.
_GAP = 2


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leaves it to `command`; rich would end the process with 1."""
        raise BrokenPipeError


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDTH_OF_A_PIPE
    return _Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def clear() -> None:
    """Clears a terminal."""
    _console(stderr=False).clear()


def print_text(text: str) -> None:
    """Prints lines without formatting."""
    _console(stderr=False).print(escaped_lines(text), soft_wrap=True)


def print_lines(lines: Iterable[str]) -> None:
    """Prints lines without formatting, and nothing if there are none."""
    for line in lines:
        print_text(escaped(line))


def print_bytes(data: bytes) -> None:
    """Prints bytes as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def for_terminal(data: bytes) -> bytes:
    """Bytes of others, escaped if the output is a terminal: programs get them as they are."""
    if not sys.stdout.isatty():
        return data
    return escaped(data.decode("utf-8", "backslashreplace")).encode()


def discard_output() -> None:
    """Sends what is still to be printed nowhere, after a reader of the output has ended."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())


def print_error(text: str) -> None:
    """Prints an error."""
    _console(stderr=True).print(f"pykafka: {escaped_lines(text)}", soft_wrap=True)


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Shows the current step: a spinner on a terminal, else one line for each step."""
    console = _console(stderr=True)
    if quiet:
        yield lambda _what: None
    elif console.is_terminal:
        with console.status("starting") as spinner:
            yield lambda what: spinner.update(escaped(what))
    else:
        yield lambda what: console.print(f"{escaped(what)} ...", soft_wrap=True)


def print_properties(rows: Iterable[tuple[str, str]]) -> None:
    """Prints names and values, one pair in a line."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*map(escaped, row))
    _console(stderr=False).print(table)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints rows below headings.

    No word is broken: the terminal wraps rows that do not fit then.
    """
    console = _console(stderr=False)
    names, *cells = [[*map(escaped, row)] for row in (headings, *rows)]
    widths = _widths([*zip(names, *cells, strict=True)], console.width)
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for heading, width in zip(names, widths, strict=True):
        table.add_column(heading, width=width)
    for row in cells:
        table.add_row(*row)
    console.width = max(console.width, sum(widths) + _GAP * len(widths))
    console.print(table)


def _widths(columns: Sequence[Sequence[str]], available: int) -> list[int]:
    """The characters of each column. Columns with most to gain are wrapped first, between words."""
    widths = [max(map(len, texts)) for texts in columns]
    words = [max(len(word) for text in texts for word in text.split(" ")) for texts in columns]
    excess = sum(widths) + _GAP * (len(widths) - 1) - available
    for column in sorted(range(len(widths)), key=lambda at: words[at] - widths[at]):
        cut = min(max(0, excess), widths[column] - words[column])
        widths[column] -= cut
        excess -= cut
    return widths


def spark_options(client_options: dict[str, str], prefix: str = "kafka.") -> str:
    """The options as lines to paste into a Spark program."""
    return "\n".join(
        f".option({_quote(f'{prefix}{k}')}, {_quote(v)})" for k, v in client_options.items()
    )


def _quote(text: str) -> str:
    return f"'{text}'" if '"' in text else f'"{text}"'
