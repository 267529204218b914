"""Texts for a terminal: characters that it would take as commands, as escapes.

Names, keys, values and the messages of brokers and registries are the texts of others. The console
escapes all that it prints; no other module needs to know.
"""

from __future__ import annotations

from typing import Final

_BETWEEN_LINES: Final = "\n"


def escaped(text: str) -> str:
    r"""A text in one line: `\x1b` for an escape, `\n` for a line break."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def escaped_lines(text: str) -> str:
    """Lines of text; only the breaks between them stay as they are."""
    return _BETWEEN_LINES.join(map(escaped, text.split(_BETWEEN_LINES)))


def escaped_json(text: str) -> str:
    """The same JSON, with all characters escaped except printable ones and line breaks.

    Other characters are only possible in the strings of JSON.
    """
    return "".join(c if c.isprintable() or c in _BETWEEN_LINES else _json_escape(c) for c in text)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
