"""Documents that Python's own decoder does not read -> their values.

It recurses, so it stops where documents are nested deeply, and earlier the deeper its caller is;
and it makes no number of more than some thousand digits. What is here takes any document, and is
slower. The verdicts are the same.
"""

from __future__ import annotations

import json
import json.decoder
import re
from collections.abc import Callable
from typing import Any, Final

from kafka_formats.json.java_text import LongInteger, NumberText

_BLANK: Final = re.compile(r"[ \t\r\n]*")
_WORD: Final = re.compile(
    r"(?P<word>null|true|false)|(?P<constant>NaN|-?Infinity)"
    r"|(?P<whole>-?(?:0|[1-9][0-9]*))(?P<rest>(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"
)
# Not in the type stubs: the rest of a string after its quote -> the string, and where it ends.
_string: Final[Callable[[str, int, bool], tuple[str, int]]] = getattr(json.decoder, "scanstring")  # noqa: B009
_WORDS: Final = {"null": None, "true": True, "false": False}


def first_document(text: str, start: int) -> Any:
    """The value of the document that begins at a character, which is not a blank.

    Raises:
        json.JSONDecodeError: There is none.
    """
    return _Decoder(text, start).document()


class _Decoder:
    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._at = start
        # Around the next value: the objects and arrays, and the keys in those that are objects.
        self._open: list[Any] = []
        self._keys: list[str | None] = []

    def document(self) -> Any:
        while True:
            value, is_whole = self._begun()
            if not is_whole:
                continue
            while self._open:
                self._put(value)
                if not self._is_last():
                    break
                value = self._open.pop()
                self._keys.pop()
            else:
                return value

    def _begun(self) -> tuple[Any, bool]:
        """The next value, and whether nothing more of it follows."""
        kind = self._text[self._at : self._at + 1]
        if kind not in ("{", "["):
            return self._simple(kind), True
        self._at += 1
        if self._next() == ("}" if kind == "{" else "]"):
            self._at += 1
            return ({} if kind == "{" else []), True
        self._open.append({} if kind == "{" else [])
        self._keys.append(self._key() if kind == "{" else None)
        return None, False

    def _simple(self, kind: str) -> Any:
        if kind == '"':
            value, self._at = _string(self._text, self._at + 1, True)
            return value
        match = _WORD.match(self._text, self._at)
        if match is None:
            raise self._error("Expecting value")
        self._at = match.end()
        if match["word"]:
            return _WORDS[match["word"]]
        if match["constant"] or match["rest"]:
            return NumberText(match[0])
        try:
            return int(match[0])
        except ValueError:
            return LongInteger(match[0])

    def _put(self, value: Any) -> None:
        around, key = self._open[-1], self._keys[-1]
        if key is None:
            around.append(value)
        else:
            around[key] = value

    def _is_last(self) -> bool:
        """Go on after a value in an object or array; whether it was the last one in there."""
        is_object = self._keys[-1] is not None
        after = self._next()
        if after == ("}" if is_object else "]"):
            self._at += 1
            return True
        if after != ",":
            raise self._error("Expecting ',' delimiter")
        self._at += 1
        self._next()
        if is_object:
            self._keys[-1] = self._key()
        return False

    def _key(self) -> str:
        if self._next() != '"':
            raise self._error("Expecting property name enclosed in double quotes")
        key, self._at = _string(self._text, self._at + 1, True)
        if self._next() != ":":
            raise self._error("Expecting ':' delimiter")
        self._at += 1
        self._next()
        return key

    def _next(self) -> str:
        """The next character that is not a blank; empty at the end."""
        self._at = _BLANK.match(self._text, self._at).end()  # type: ignore[union-attr]
        return self._text[self._at : self._at + 1]

    def _error(self, reason: str) -> json.JSONDecodeError:
        return json.JSONDecodeError(reason, self._text, self._at)
