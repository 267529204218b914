"""The output of the command line: tables, progress and errors. No decisions here.

Only this module and `tables` import rich, from the extra `cli`. On a terminal lines for people stay
within its width; elsewhere each row and each sentence is one line.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from kafka_spark_source.cli.terminal.escaping import escaped, escaped_lines
from kafka_spark_source.cli.terminal.status_line import StatusLine
from kafka_spark_source.cli.terminal.tables import layout, properties, wrapped_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

status_line = StatusLine()


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leaves it to `command`; rich would end the process with 1."""
        raise BrokenPipeError


def _console(*, stderr: bool) -> Console:
    """What prints next: the line of the status makes place for it."""
    status_line.show(None)
    return _Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def clear() -> None:
    """Clears a terminal."""
    _console(stderr=False).clear()


def print_text(text: str) -> None:
    """Prints lines as they are, such as those to paste or for programs."""
    _console(stderr=False).print(escaped_lines(text), soft_wrap=True)


def print_sentences(text: str) -> None:
    """Prints lines for people, which a terminal shows broken between words."""
    _print_sentences(_console(stderr=False), text)


def print_question(text: str) -> None:
    """Prints a question, on the standard error; the answer stands in the same line."""
    _print_sentences(_console(stderr=True), f"{text}: ", end="")


def print_lines(lines: Iterable[str]) -> None:
    """Prints lines without formatting, and nothing if there are none."""
    for line in lines:
        print_text(escaped(line))


def print_bytes(data: bytes) -> None:
    """Prints bytes as they are."""
    status_line.show(None)
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
    _print_sentences(_console(stderr=True), f"pykafka: {text}")


def _print_sentences(console: Console, text: str, end: str = "\n") -> None:
    shown, width = escaped_lines(text), _width(console)
    lines = [shown] if width is None else wrapped_lines(shown, width)
    console.print("\n".join(lines), soft_wrap=True, end=end)


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


def print_properties(rows: Sequence[tuple[str, str]]) -> None:
    """Prints names and values, one pair in a line."""
    console = _console(stderr=False)
    shown = [(escaped(name), escaped(value)) for name, value in rows]
    _print_lines(console, properties(shown, _width(console)))


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints rows below headings: within the width of a terminal, else one row a line."""
    console = _console(stderr=False)
    shown = [[*map(escaped, row)] for row in rows]
    table = layout([*map(escaped, headings)], shown, _width(console))
    _print_lines(console, table.above)
    _print_lines(console, table.headings, style="bold")
    _print_lines(console, table.rows)


def _width(console: Console) -> int | None:
    # Not `is_terminal`: FORCE_COLOR makes rich take a pipe for one.
    return console.width if console.file.isatty() else None


def _print_lines(console: Console, lines: Iterable[str], style: str | None = None) -> None:
    for line in lines:
        console.print(line, style=style, soft_wrap=True)


def spark_options(client_options: dict[str, str], prefix: str = "kafka.") -> str:
    """The options as lines to paste into a Spark program."""
    return "\n".join(
        f".option({_quote(f'{prefix}{k}')}, {_quote(v)})" for k, v in client_options.items()
    )


def _quote(text: str) -> str:
    return f"'{text}'" if '"' in text else f'"{text}"'
