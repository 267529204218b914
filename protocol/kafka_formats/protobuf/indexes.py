"""Message indexes, before payloads: which message of a schema a payload has.

Confluent's is a count and as many numbers, all varints in zigzag: the place of a message in its
file, of a nested one in that, and so on. One byte of zero is short for the first message of the
file. AWS Glue's is one varint: the place of the message's full name among all, in their order.

Source: Confluent's "Wire format"; `MessageIndexFinder` and `ProtobufWireFormatDecoder` of
awslabs/aws-glue-schema-registry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from kafka_formats.errors import PayloadError, SchemaError

Index: TypeAlias = tuple[int, ...]

_MAX_DEPTH = 100
_MAX_VARINT_BYTES = 5


class IndexStyle(NamedTuple):
    """How indexes are written.

    Attributes:
        read: (payload, where to begin) -> an index and where it ends; raises PayloadError.
        write: The bytes of an index.
        by_index: Place in the file -> name of each message, as index -> name.
    """

    read: Callable[[bytes, int], tuple[Index, int]]
    write: Callable[[Sequence[int]], bytes]
    by_index: Callable[[Mapping[Index, str]], Mapping[Index, str]]


def read_index(payload: bytes, at: int) -> tuple[Index, int]:
    """An index, and where it ends.

    Raises:
        PayloadError: It is cut off or invalid.
    """
    count, at = _read_zigzag(payload, at)
    if count == 0:
        return (0,), at
    if not 0 < count <= _MAX_DEPTH:
        raise PayloadError("", f"the message index has {count} numbers")
    index = []
    for _ in range(count):
        number, at = _read_zigzag(payload, at)
        index.append(number)
    return tuple(index), at


def index_in_header(suffix: bytes) -> Index:
    """The message index after the id of a schema in a header.

    Raises:
        SchemaError: It is invalid.
    """
    try:
        index, end = read_index(suffix, 0)
    except PayloadError as error:
        raise SchemaError(f"the header of the schema: {error}") from error
    if end != len(suffix):
        raise SchemaError(f"the header of the schema has {len(suffix) - end} bytes too many")
    return index


def write_index(index: Sequence[int]) -> bytes:
    """The bytes of an index."""
    if tuple(index) == (0,):
        return b"\x00"
    return b"".join(_number(each << 1) for each in (len(index), *index))


def _read_glue(payload: bytes, at: int) -> tuple[Index, int]:
    number, at = _read_number(payload, at)
    return (number,), at


def _write_glue(index: Sequence[int]) -> bytes:
    return _number(index[0])


def _in_order_of_names(messages: Mapping[Index, str]) -> Mapping[Index, str]:
    return {(number,): name for number, name in enumerate(sorted(messages.values()))}


CONFLUENT: Final = IndexStyle(read_index, write_index, lambda messages: messages)
GLUE: Final = IndexStyle(_read_glue, _write_glue, _in_order_of_names)


def _read_zigzag(payload: bytes, at: int) -> tuple[int, int]:
    value, at = _read_number(payload, at)
    return (value >> 1) ^ -(value & 1), at


def _read_number(payload: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_MAX_VARINT_BYTES):
        if at >= len(payload):
            raise PayloadError("", "it ends within the message index")
        byte = payload[at]
        at += 1
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at
    raise PayloadError("", "the message index is invalid")


def _number(left: int) -> bytes:
    encoded = bytearray()
    while left >= 0x80:
        encoded.append(left & 0x7F | 0x80)
        left >>= 7
    encoded.append(left)
    return bytes(encoded)
