r"""The text of a file of properties -> names and values, as `java.util.Properties` reads it. Pure.

Lines end in \n, \r or \r\n, and nowhere else; white space is a space, \t or \f. Values keep the
white space at their ends. Errors show no value: it may be a secret.

Kafka's own tools read the bytes as ISO-8859-1; the caller decides. `\uXXXX` means the same to both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kafka_protocol.errors import KafkaConfigError

_WHITE: Final = " \t\f"
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_BACKSLASHES: Final = re.compile(r"\\*\Z")
# "\" and a character belong together.
_NAME: Final = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR: Final = re.compile(r"[ \t\f]*(?:[=:][ \t\f]*)?")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    r"""The properties of a text; the last of several with a name counts.

    Raises:
        KafkaConfigError: Four hexadecimal digits are missing after `\u`. Names the line.
    """
    properties = {}
    for number, line in _logical_lines(text):
        name_end = _NAME.match(line).end()  # type: ignore[union-attr]  # any line begins with it
        value_begin = _SEPARATOR.match(line, name_end).end()  # type: ignore[union-attr]
        name, value = line[:name_end], line[value_begin:]
        properties[_unescaped(name, number)] = _unescaped(value, number)
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line, joined with the lines that continue it, and the number of its first line."""
    lines = _LINE_END.split(text)
    # Java takes the "\n" after these as the end of the text, and "\r\n" as one more line.
    last = len(lines) - (2 if text.endswith(("\n", "\r")) and not text.endswith("\r\n") else 1)
    at = 0
    while at < len(lines):
        number, whole = at + 1, lines[at].lstrip(_WHITE)
        if whole.startswith(("#", "!")) or (whole == "\\" and at < last):
            whole = ""
        while _is_continued(whole) and at < last:
            at += 1
            whole = whole[:-1] + lines[at].lstrip(_WHITE)
        if whole:  # perhaps one backslash, which is a property without a name
            yield number, whole[:-1] if _is_continued(whole) else whole
        at += 1


def _is_continued(line: str) -> bool:
    """Whether a line ends in a backslash that is not escaped by another one."""
    backslashes = _BACKSLASHES.search(line)
    return backslashes is not None and len(backslashes[0]) % 2 == 1


def _unescaped(text: str, number: int) -> str:
    def meant(match: re.Match[str]) -> str:
        digits, character = match.groups()
        if digits:
            return chr(int(digits, 16))
        if character == "u":
            raise KafkaConfigError(f"line {number} has no four hexadecimal digits after \\u")
        return _CONTROLS.get(character, str(character))

    units = _ESCAPE.sub(meant, text)
    # Java's characters are UTF-16 units: two of them may be one character.
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
