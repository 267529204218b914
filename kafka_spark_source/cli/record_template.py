r"""Records in a format of the user's, as kcat has it: `%t [%p] at %o: %k %s\n`.

Source: `fmt_parse` and `fmt_msg_output_str` in kcat's `format.c`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.cli.records import payload_of

if TYPE_CHECKING:
    from kafka_spark_source.tools.records.peek import ShownRecord

# A record -> its bytes in the output.
Render: TypeAlias = "Callable[[ShownRecord], bytes]"

_PART: Final = re.compile(r"%(.?)|\\(x[0-9A-Fa-f]{1,2}|0[0-7]{0,3}|.?)|[^%\\]+", re.DOTALL)
_ESCAPES: Final = {"n": b"\n", "r": b"\r", "t": b"\t"}
_NULL_LENGTH: Final = -1


def _length(data: bytes | None) -> int:
    return _NULL_LENGTH if data is None else len(data)


def _headers(record: ShownRecord) -> bytes:
    return b",".join(
        name.encode() + b"=" + (b"NULL" if value is None else value)
        for name, value in record.headers
    )


# As the payloads came: their lengths. Null is -1 there, and empty where its bytes are wanted.
FIELDS: Final[Mapping[str, Render]] = {
    "t": lambda record: record.topic.encode(),
    "p": lambda record: b"%d" % record.partition,
    "o": lambda record: b"%d" % record.offset,
    "T": lambda record: b"%d" % record.timestamp_ms,
    "k": lambda record: payload_of(record, "key") or b"",
    "K": lambda record: b"%d" % _length(record.key),
    "s": lambda record: payload_of(record, "value") or b"",
    "v": lambda record: payload_of(record, "value") or b"",
    "S": lambda record: b"%d" % _length(record.value),
    "R": lambda record: struct.pack(">i", _length(record.value)),
    "h": _headers,
}


def parse_template(text: str, shown: Callable[[bytes], bytes]) -> Render:
    """How to write records in a format.

    Args:
        text: The format.
        shown: What is done to the bytes of records, such as escaping for a terminal.

    Raises:
        KafkaConfigError: It has a field that does not exist.
    """
    parts = [_part(match, shown) for match in _PART.finditer(text)]
    return lambda record: b"".join(part(record) for part in parts)


def _part(match: re.Match[str], shown: Callable[[bytes], bytes]) -> Render:
    letter = match[1]
    if letter is None or letter == "%":
        literal = _literal(match)
        return lambda _record: literal
    if letter not in FIELDS:
        raise KafkaConfigError(
            f"%{letter} is not a field of records: there are %{', %'.join(FIELDS)}, and %% for a "
            "percent sign."
        )
    field = FIELDS[letter]
    return lambda record: shown(field(record))


def _literal(match: re.Match[str]) -> bytes:
    """The bytes of a part that is the same for all records."""
    if match[1] is not None:
        return b"%"
    escape = match[2]
    if escape is None:
        return match[0].encode()
    if escape[:1] == "x" and len(escape) > 1:
        return bytes([int(escape[1:], 16)])
    if escape[:1] == "0":
        return bytes([int(escape, 8) & 0xFF])
    return _ESCAPES.get(escape, escape.encode())
