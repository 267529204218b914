"""JSON as text: which texts are documents, and the texts of an object's members.

Numbers keep all their digits then. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

_BLANK: Final = re.compile(r"[ \t\r\n]*")
_BLANK_IN_ONE_LINE: Final = str.maketrans("\t\r\n", "   ")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# Numbers are not converted: some have more digits than Python would make a number of.
_DECODER: Final = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_refuse)


def parse(text: str) -> Any:
    """A document, with texts for its numbers.

    Raises:
        ValueError: The text is not a document of JSON.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def fault_in(text: str) -> str | None:
    """Why a text is not a document of JSON; None if it is one."""
    try:
        parse(text)
    except ValueError as error:
        return str(error)
    return None


def in_one_line(document: str) -> str:
    """The same document. Between its strings only blanks can break a line."""
    return document.translate(_BLANK_IN_ONE_LINE)


def members(text: str) -> Iterator[tuple[str, str]]:
    """The members of an object, in order: each name, and the text of its value.

    Raises:
        ValueError: The text is not an object of JSON. From the iterator.
    """
    at = _after(text, _skip(text, 0), "{")
    if text[at : at + 1] != "}":
        while True:
            if text[at : at + 1] != '"':
                raise ValueError(f"a name is missing at character {at}")
            name, at = _value(text, at)
            start = _after(text, _skip(text, at), ":")
            _, end = _value(text, start)
            yield str(name), text[start:end]
            at = _skip(text, end)
            if text[at : at + 1] != ",":
                break
            at = _skip(text, at + 1)
    if _skip(text, _after(text, at, "}")) != len(text):
        raise ValueError("there is more after the object")


def _value(text: str, start: int) -> tuple[object, int]:
    try:
        return _DECODER.raw_decode(text, start)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _skip(text: str, at: int) -> int:
    """The index of the next character that is not a blank."""
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]


def _after(text: str, at: int, expected: str) -> int:
    """The place after a character and blanks.

    Raises:
        ValueError: Another character is there.
    """
    if text[at : at + 1] != expected:
        raise ValueError(f"{expected} is missing at character {at}")
    return _skip(text, at + 1)
