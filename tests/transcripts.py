"""Sessions at a terminal in the text of a page: commands behind `$ `, with what they print.

A session is a block of code without a language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A command goes on in the next line behind a backslash.
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n", re.MULTILINE)


class Command(NamedTuple):
    """A command of a page, and the output that the page shows."""

    line: str
    output: str


def commands_in(page: str) -> list[Command]:
    """The commands of a page, in order.

    Raises:
        ValueError: A session does not begin with a command, or a block with a language has one.
    """
    commands = []
    for language, block in _BLOCK.findall(page):
        before, *parts = _COMMAND.split(block)
        if bool(parts) == bool(language) or (parts and before):
            raise ValueError(f"neither a session nor a block of a language:\n{block}")
        lines, outputs = parts[::2], parts[1::2]
        commands += [
            Command(line, f"{output.rstrip()}\n".lstrip("\n"))
            for line, output in zip(lines, outputs, strict=True)
        ]
    return commands


def with_outputs(page: str, outputs: Iterable[str]) -> str:
    """The page with other outputs, one for each command."""
    remaining = iter(outputs)

    def made(match: re.Match[str]) -> str:
        language, block = match.groups()
        return match[0] if language else f"```\n{_session(block, remaining)}```"

    return _BLOCK.sub(made, page)


def _session(block: str, outputs: Iterator[str]) -> str:
    lines = _COMMAND.findall(block)
    return "\n".join(f"$ {line}\n{next(outputs)}" for line in lines)
