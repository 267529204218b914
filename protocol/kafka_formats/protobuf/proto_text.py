"""The messages of a schema by their place, without a compiler: executors need no more of it.

A message's place counts all messages beside it, as in descriptors: also the messages of map
fields and groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kafka_formats.errors import SchemaError
from kafka_formats.payload.schema_text import DESCRIPTOR_SET, SchemaText
from kafka_formats.protobuf.compiler import compiled, serialised
from kafka_formats.protobuf.names import messages_in

if TYPE_CHECKING:
    from kafka_formats.protobuf.indexes import Index

# A comment or string that is not closed goes to the end, so that no text takes long.
_TOKEN: Final = re.compile(
    r"//[^\n]*|/\*(?:.*?\*/|.*)|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|[\w.]+|[{};=<>]",
    re.DOTALL,
)
# What protoc writes as a capital in the name of the message of a map's entries.
_FIRST_LETTERS: Final = re.compile(r"(?:^|_+)([^_]?)")
_PLAIN: Final = re.compile(r"[\w.]+|[{};=<>]")


@lru_cache(maxsize=1_000)
def messages_of(schema: SchemaText) -> Mapping[Index, str]:
    """Place -> full name of each message of a schema's own file.

    Raises:
        SchemaError: A descriptor is invalid.
    """
    if schema.text.startswith(DESCRIPTOR_SET):
        own = compiled(schema).own
    else:
        file = serialised("", schema.text)
        if file is None:
            return dict(_in_text(schema.text))
        own = file
    return messages_in(own)


class _Scope:
    """A pair of braces. `place` is None where no messages can be."""

    def __init__(self, place: Index | None, name: str) -> None:
        self.place = place
        self.name = name
        self.messages = 0


def _in_text(text: str) -> Iterator[tuple[Index, str]]:
    """The messages of `.proto` text that a registry accepted."""
    scopes = [_Scope((), "")]
    # The words of a statement until its brace or semicolon.
    words: list[str] = []
    for mark in filter(_PLAIN.fullmatch, _TOKEN.findall(text)):
        scope = scopes[-1]
        if mark not in {"{", "}", ";"}:
            words.append(mark)
            continue
        if mark == "}":
            if len(scopes) == 1:
                raise SchemaError("its braces do not match")
            scopes.pop()
        elif scope.place is not None and (name := _message_in(words, opens=mark == "{")):
            place = (*scope.place, scope.messages)
            scope.messages += 1
            full = f"{scope.name}.{name}" if scope.name else name
            yield place, full
            scope = _Scope(place, full)
        elif words[:1] == ["package"] and len(scopes) == 1:
            scope.name = "".join(words[1:])
        if mark == "{":
            is_transparent = words[:1] in (["oneof"], ["extend"])
            is_message = scope is not scopes[-1]
            scopes.append(scope if is_transparent or is_message else _Scope(None, ""))
        words = []


def _message_in(words: Sequence[str], *, opens: bool) -> str | None:
    """The name of the message that a statement defines, if it does."""
    if words[:2] == ["map", "<"]:
        field = words[words.index("=") - 1] if "=" in words else ""
        return f"{_FIRST_LETTERS.sub(lambda match: match[1].upper(), field)}Entry"
    if opens and len(words) in {2, 3} and words[-2] == "message":
        return words[-1]
    # The name of a group, unlike that of a field called `group`, is between the word and the "=".
    rest = words[words[:1] != ["group"] :]
    if opens and rest[:1] == ["group"] and rest[2:3] == ["="]:
        return rest[1]
    return None
