"""The simple reference codec for the messages of a message set (magic 0 and 1), one by one.

Must not know batches of magic 2; `record` is the same for them.

Sources: the 0.10 protocol guide, "Message sets"; KIP-31, KIP-32.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_protocol.errors import CorruptRecordError, DecodeError
from kafka_protocol.records.attributes import LOG_APPEND_TIME, NO_TIMESTAMP, codec_of
from kafka_protocol.records.compression import Buffer, Compression, CompressionCodec, compress
from kafka_protocol.records.lz4_checksum import with_wrong_checksum
from kafka_protocol.records.message_set import (
    MIN_MESSAGE_BYTES,
    MessageSetHeader,
    message_starts,
    unpack,
)
from kafka_protocol.wire import primitives as p
from kafka_protocol.wire.primitives import Out, Reader

_CRC: Final = struct.Struct(">I")


class Message(NamedTuple):
    """One message. `timestamp` is in ms since 1970, -1 without one (always for magic 0)."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def decode_messages(header: MessageSetHeader, payload: memoryview, max_bytes: int) -> list[Message]:
    """The messages of a message set, compressed or not.

    Raises:
        CorruptRecordError: The message set does not decompress, or a message is damaged.
    """
    try:
        unpacked = unpack(header, payload, max_bytes)
        bounds = message_starts(unpacked)
        messages = [_read_message(unpacked[start:end], header) for start, end in bounds]
        return _with_absolute_offsets(messages, header)
    except CorruptRecordError as error:
        raise CorruptRecordError(error.reason, offset=header.stated_offset) from error
    except DecodeError as error:
        raise CorruptRecordError(str(error), offset=header.stated_offset) from error


def _read_message(data: memoryview, header: MessageSetHeader) -> Message:
    offset, pos = p.read_int64(data, 0)
    _, pos = p.read_int32(data, pos)  # size
    _, pos = p.read_int32(data, pos)  # CRC
    magic, pos = p.read_int8(data, pos)
    attributes, pos = p.read_int8(data, pos)
    if not 0 <= magic < len(MIN_MESSAGE_BYTES):
        raise DecodeError(f"a message of magic {magic} in a message set")
    if codec_of(attributes):
        raise DecodeError("a message inside a wrapper is compressed again")
    timestamp = NO_TIMESTAMP
    if magic:
        timestamp, pos = p.read_int64(data, pos)
        if header.codec and header.timestamp_type == LOG_APPEND_TIME:
            timestamp = header.timestamp
    key, pos = read_bytes(p.read_int32, data, pos)
    value, pos = read_bytes(p.read_int32, data, pos)
    if pos != len(data):
        raise DecodeError(f"a message is {len(data) - pos} bytes longer than its fields")
    return Message(offset, timestamp, key, value)


def read_bytes(read_length: Reader[int], data: memoryview, pos: int) -> tuple[bytes | None, int]:
    """Copy a field out of a message or a record; a length of -1 is null."""
    length, pos = read_length(data, pos)
    if length == -1:
        return None, pos
    if length < 0 or length > len(data) - pos:
        raise DecodeError(f"a field of {length} bytes with {len(data) - pos} bytes left")
    return bytes(data[pos : pos + length]), pos + length


def _with_absolute_offsets(messages: list[Message], header: MessageSetHeader) -> list[Message]:
    """The messages with absolute offsets.

    In a wrapper of magic 1 offsets are relative, and the wrapper has the offset of its last
    message. Compaction may have removed any other message. Two things that producers write are
    read as by Java's DeepRecordsIterator: a wrapper of offset 0, which says nothing, and offsets
    that do not ascend. Unlike there, no message may be above the last one: a range that ends with
    the wrapper would lose it.
    """
    last = messages[-1].offset
    is_inside = all(0 <= message.offset <= last for message in messages)
    if not is_inside or 0 < header.last_offset < last:
        raise DecodeError("the offsets of the messages do not fit together")
    base = header.last_offset - last if header.has_relative_offsets else 0
    return [message._replace(offset=base + message.offset) for message in messages]


def encode_messages(messages: Iterable[Message], magic: int, attributes: int = 0) -> bytes:
    """Adjacent messages, all with these `attributes`."""
    out: Out = []
    for message in messages:
        covered: Out = []
        p.write_int8(covered, magic)
        p.write_int8(covered, attributes)
        if magic:
            p.write_int64(covered, message.timestamp)
        p.write_nullable_bytes(covered, message.key)
        p.write_nullable_bytes(covered, message.value)
        body = b"".join(covered)
        p.write_int64(out, message.offset)
        p.write_int32(out, _CRC.size + len(body))
        out += (_CRC.pack(zlib.crc32(body)), body)
    return b"".join(out)


def wrap_messages(
    messages: Buffer, compression: Compression, magic: int, last_offset: int, timestamp: int
) -> bytes:
    """Compress the result of `encode_messages` into a wrapper, not with the codec NONE.

    The wrapper has the offset of the last message and the highest timestamp, in ms.
    """
    codec, level = compression
    packed = compress(codec, messages, level)
    if magic == 0 and codec is CompressionCodec.LZ4:
        packed = with_wrong_checksum(packed)  # point: lz4-checksum
    wrapper = Message(last_offset, timestamp, None, bytes(packed))
    return encode_messages([wrapper], magic, int(codec))
