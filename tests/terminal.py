"""A terminal on which the commands of a page run, `pykafka` in this process.

It runs pipes and redirections as a shell does, and answers the questions of commands.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import groupby
from pathlib import Path
from typing import TextIO

from kafka_spark_source import cli

# rich asks these. A dumb terminal has 80 columns, neither colours nor a spinner.
ENVIRONMENT = {"TERM": "dumb", "COLUMNS": "80"}

# What Linux keeps of a pipe that nobody reads yet.
_MOST_BYTES = 65_536
# The end of a question, with the word to write: "Is the query stopped? (yes): ".
_ASKED = re.compile(r"\((\S+)\):\s*$")


class Terminal:
    """Runs commands as a page shows them.

    Args:
        names: A name on the page -> what it is here, such as an address or a folder.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def run(self, line: str) -> str:
        """Run a line of a shell; returns what the terminal shows, with the names of the page."""
        screen, data = _Screen(), None
        words = shlex.split(line.replace("\\\n", " "), comments=True)
        *before, last = _stages([self._named_here(each) for each in words])
        for words in before:
            pipe = _Output()
            _run(words, data, pipe, screen)
            data = pipe.data()
        if ">" in last:
            *last, _, file = last
            output = _Output()
            _run(last, data, output, screen)
            Path(file).write_bytes(output.data())
        else:
            _run(last, data, screen, screen)
        text = screen.data().decode().rstrip()
        for name, here in self._names.items():
            text = text.replace(here, name)
        return "".join(f"{each.rstrip()}\n" for each in text.splitlines())

    def _named_here(self, word: str) -> str:
        for name, here in self._names.items():
            word = word.replace(name, here)
        return word


class _Output(io.TextIOWrapper):
    """Keeps what is printed."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, "utf-8", write_through=True)

    def data(self) -> bytes:
        """All that was printed."""
        return self._bytes.getvalue()


class _Screen(_Output):
    """What a terminal shows."""

    def isatty(self) -> bool:
        return True


class _Keyboard(io.StringIO):
    """Somebody who writes the word that a question asks for, which the screen shows."""

    def __init__(self, screen: _Screen) -> None:
        super().__init__()
        self._screen = screen

    def isatty(self) -> bool:
        return True

    def readline(self, _size: int = -1, /) -> str:  # type: ignore[override] # as StringIO does
        shown = self._screen.data().decode()
        asked = _ASKED.search(shown)
        assert asked is not None, shown
        self._screen.write(f"{asked[1]}\n")
        return f"{asked[1]}\n"


def _stages(words: list[str]) -> list[list[str]]:
    """The commands of a pipe."""
    return [[*group] for is_bar, group in groupby(words, lambda each: each == "|") if not is_bar]


def _run(words: list[str], stdin: bytes | None, stdout: _Output, stderr: _Screen) -> None:
    """Run one command. Without bytes, its input is the keyboard."""
    if words[0] != "pykafka":
        stdout.buffer.write(subprocess.check_output(words, input=stdin))
        return
    given: AbstractContextManager[TextIO] = (
        nullcontext(_Keyboard(stderr)) if stdin is None else _pipe(stdin)
    )
    with given as stream, _streams(stream, stdout, stderr), suppress(SystemExit):
        cli.main(words[1:])


@contextmanager
def _pipe(data: bytes) -> Iterator[TextIO]:
    """A pipe with all its data."""
    assert len(data) <= _MOST_BYTES
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    with os.fdopen(read) as stream:
        yield stream


@contextmanager
def _streams(stdin: TextIO, stdout: TextIO, stderr: TextIO) -> Iterator[None]:
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = stdin, stdout, stderr
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
