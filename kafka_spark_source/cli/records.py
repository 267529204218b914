"""A record as a line: of text for people, or of JSON for programs and for `pykafka write`."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kafka_spark_source.cli.terminal.escaping import escaped, escaped_json
from kafka_spark_source.cli.terminal.output import moment_ms
from kafka_spark_source.tools.records.dead_letters import DeadLetter, dead_letter_of, other_headers

if TYPE_CHECKING:
    from kafka_spark_source.tools.records.peek import ShownRecord

_SHOWN_CHARACTERS: Final = 500


def as_text(record: ShownRecord) -> str:
    """A line for people; below it why a payload is broken, and why it is a dead letter."""
    place = f"{record.topic}-{record.partition}@{record.offset}"
    others = other_headers(record.headers)
    headers = ", ".join(f"{escaped(name)}={_text(value)}" for name, value in others)
    shown = f"{moment_ms(record.timestamp_ms)} {place} {_payload(record, 'key')} "
    shown += _payload(record, "value") + (f" [{headers}]" if headers else "")
    letter = dead_letter_of(record.headers)
    reason = record.decoded.reason
    below = [f"not decoded: {reason}"] if reason else []
    below += [] if letter is None else [_why(letter)]
    return "\n  ".join([shown, *map(escaped, below)])


def _payload(record: ShownRecord, column: str) -> str:
    text = record.decoded.texts.get(column)
    return _text(getattr(record, column) if text is None else text.encode())


def _why(letter: DeadLetter) -> str:
    """The line below a dead letter."""
    place = f"{letter.topic}-{letter.partition}@{letter.offset}"
    return f"dead letter of {place}, {letter.stage}: {letter.reason}"


def _text(data: bytes | None) -> str:
    if data is None:
        return "null"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = f"0x{data[: _SHOWN_CHARACTERS // 2].hex()}"
    shown = escaped(text[:_SHOWN_CHARACTERS])
    cut = len(data) > _SHOWN_CHARACTERS
    return f"{shown}... ({len(data):,} bytes)" if cut else shown


def as_json(record: ShownRecord) -> str:
    """A line of JSON, which has all of the record."""
    headers = ", ".join(
        _object([("name", _text_of(name)), *_member("value", value)])
        for name, value in record.headers
    )
    members = [
        ("topic", _text_of(record.topic)),
        ("partition", str(record.partition)),
        ("offset", str(record.offset)),
        ("timestamp_ms", str(record.timestamp_ms)),
        *_payload_member(record, "key"),
        *_payload_member(record, "value"),
        ("headers", f"[{headers}]"),
    ]
    if record.decoded.reason is not None:
        members.append(("error", _text_of(record.decoded.reason)))
    return escaped_json(_object(members))


def _payload_member(record: ShownRecord, column: str) -> Iterator[tuple[str, str]]:
    text = record.decoded.texts.get(column)
    data: bytes | None = getattr(record, column)
    if text is not None:
        yield column, text
    elif data is not None and column in record.decoded.formats:
        # A text would be taken for a decoded string.
        yield _base64(column, data)
    else:
        yield from _member(column, data)


def _member(name: str, data: bytes | None) -> Iterator[tuple[str, str]]:
    if data is None:
        yield name, "null"
        return
    try:
        yield name, _text_of(data.decode())
    except UnicodeDecodeError:
        yield _base64(name, data)


def _base64(name: str, data: bytes) -> tuple[str, str]:
    return f"{name}_base64", f'"{base64.b64encode(data).decode()}"'


def _object(members: list[tuple[str, str]]) -> str:
    return "{" + ", ".join(f'"{name}": {text}' for name, text in members) + "}"


def payload_of(record: ShownRecord, column: str) -> bytes | None:
    """The key or the value as a program wants it: decoded to a string, that string; else JSON."""
    text = record.decoded.texts.get(column)
    if text is None:
        data: bytes | None = getattr(record, column)
        return data
    string = json.loads(text) if text.startswith('"') else text
    return str(string).encode("utf-8", "surrogatepass")


def _text_of(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
