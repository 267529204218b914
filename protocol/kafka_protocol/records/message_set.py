"""Message sets (magic 0 and 1), the format of brokers below 0.11 and of old logs.

A message set is a sequence of messages, each after its offset and its size. A compressed one is a
single message, the wrapper; its value is the compressed message set. Here a wrapper, and a run of
plain messages, each count as one message set, like a batch of magic 2. This module does not
decode messages; `message` does.

Sources: the 0.10 protocol guide, "Message sets"; KIP-31 (relative offsets in a wrapper of magic 1),
KIP-32 (timestamps).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records.attributes import (
    NO_TIMESTAMP,
    NO_TIMESTAMP_TYPE,
    codec_of,
    timestamp_type_of,
)
from kafka_protocol.records.compression import Buffer, CompressionCodec, decompress
from kafka_protocol.records.lz4_checksum import with_right_checksum
from kafka_protocol.wire.primitives import MAX_INT64

# Offset and size; the size counts the bytes after it.
LOG_OVERHEAD: Final = 12
CRC_AT: Final = 12
MAGIC_AT: Final = 16
ATTRIBUTES_AT: Final = 17
TIMESTAMP_AT: Final = 18
# The position of the key's length, by magic.
KEY_AT: Final = (18, 26)
# The smallest message, by magic: CRC, magic, attributes, timestamp, and two lengths.
MIN_MESSAGE_BYTES: Final = (14, 22)

_OFFSET: Final = struct.Struct(">q")
_SIZE: Final = struct.Struct(">i")
_CRC: Final = struct.Struct(">I")
_TIMESTAMP: Final = struct.Struct(">q")
_ENTRY: Final = struct.Struct(">qi4xH")  # offset, size, magic with attributes

# A run of plain messages ends after this many bytes: about the size of other batches.
_MAX_RUN_BYTES: Final = 1024 * 1024


class MessageSetHeader(NamedTuple):
    """The properties of a message set before decompression; has the interface of `BatchHeader`."""

    base_offset: int  # 0 for a wrapper: the offset of its first message is unknown
    last_offset: int
    magic: int
    attributes: int  # of the wrapper, or of all messages
    timestamp: int  # ms, of the wrapper or of the first message

    @property
    def stated_offset(self) -> int:
        """The offset at the start of the bytes. No checksum covers it."""
        return self.last_offset if self.codec else self.base_offset

    @property
    def next_offset(self) -> int:
        """The offset after the last message."""
        return self.last_offset + 1

    @property
    def codec(self) -> int:
        """A number of `CompressionCodec`, or an unknown one."""
        return codec_of(self.attributes)

    @property
    def timestamp_type(self) -> int:
        """NO_TIMESTAMP_TYPE for magic 0. That of a wrapper applies to all its messages."""
        return timestamp_type_of(self.attributes) if self.magic else NO_TIMESTAMP_TYPE

    @property
    def has_relative_offsets(self) -> bool:
        """Whether the offsets of the messages are relative to that of the last one (KIP-31).

        Not in a wrapper of offset 0, as some releases of librdkafka write it.
        """
        return self.codec != 0 and self.magic == 1 and self.last_offset > 0

    @property
    def is_empty(self) -> bool:
        """Never: a message set has at least one message."""
        return False

    @property
    def is_transactional(self) -> bool:
        """Never: transactions need magic 2."""
        return False

    @property
    def is_control(self) -> bool:
        """Never: control batches need magic 2."""
        return False


def read_message_set(
    records: memoryview, pos: int, end: int, until_offset: int
) -> tuple[MessageSetHeader, int]:
    """Read one wrapper, or a run of plain messages up to an offset.

    The first message, from `pos` to `end`, is complete. A run has no offset gaps, so a damaged
    offset begins a new message set.

    Returns:
        The header, and the end of the message set.

    Raises:
        CorruptRecordError: The offset is impossible.
    """
    offset = _OFFSET.unpack_from(records, pos)[0]
    magic = records[pos + MAGIC_AT]
    if not 0 <= offset < MAX_INT64:
        raise CorruptRecordError("a message with this offset is impossible", offset=offset)
    attributes = records[pos + ATTRIBUTES_AT]
    timestamp = _TIMESTAMP.unpack_from(records, pos + TIMESTAMP_AT)[0] if magic else NO_TIMESTAMP
    if codec_of(attributes):
        return MessageSetHeader(0, offset, magic, attributes, timestamp), end
    last_offset, end = _run(records, pos, until_offset)
    return MessageSetHeader(offset, last_offset, magic, attributes, timestamp), end


def _run(records: memoryview, pos: int, until_offset: int) -> tuple[int, int]:
    """The last offset and the end of the run from the complete message at `pos` on."""
    offset, size, kind = _ENTRY.unpack_from(records, pos)
    smallest = MIN_MESSAGE_BYTES[records[pos + MAGIC_AT]]
    stop = pos + _MAX_RUN_BYTES
    here = pos + LOG_OVERHEAD + size
    last = len(records) - _ENTRY.size
    while here <= last and here < stop and offset + 1 < until_offset:
        next_offset, size, next_kind = _ENTRY.unpack_from(records, here)
        end = here + LOG_OVERHEAD + size
        # point: unchecked-offsets
        if next_offset != offset + 1 or next_kind != kind or size < smallest or end > len(records):
            break  # the next message set begins here; it raises the error if there is one
        offset, here = next_offset, end
    return offset, here


def message_starts(messages: Buffer) -> Iterator[tuple[int, int]]:
    """The start and the end of each message.

    Raises:
        CorruptRecordError: A size is impossible, or the last message is incomplete. Without an
            offset: the caller adds that of the message set.
    """
    pos, total = 0, len(messages)
    while pos < total:
        if total - pos < LOG_OVERHEAD + MIN_MESSAGE_BYTES[0]:
            raise CorruptRecordError(f"{total - pos} bytes follow the last message")
        end = pos + LOG_OVERHEAD + _SIZE.unpack_from(messages, pos + 8)[0]
        if end < pos + LOG_OVERHEAD + MIN_MESSAGE_BYTES[0] or end > total:
            raise CorruptRecordError(
                f"a message of {end - pos - LOG_OVERHEAD} bytes with {total - pos - LOG_OVERHEAD} "
                "bytes left"
            )
        yield pos, end
        pos = end


def check_crcs(header: MessageSetHeader, payload: memoryview) -> None:
    """Compare the checksums (CRC-32, from the magic to the end) of a wrapper or of each message.

    The checksum of a wrapper covers all received bytes, so the checksums of its messages are
    not needed. (Java's consumer compares only the checksums of the messages.)

    Raises:
        CorruptRecordError: A checksum is wrong.
    """
    for number, (start, end) in enumerate(message_starts(payload)):  # point: wrapper-checksum
        crc = zlib.crc32(payload[start + MAGIC_AT : end])
        stated = _CRC.unpack_from(payload, start + CRC_AT)[0]
        if crc != stated:
            offset = header.stated_offset + number
            raise CorruptRecordError(
                f"the CRC-32 is {crc:#010x}, but the message has {stated:#010x}; the broker's "
                "copy is damaged, or the network changed it",
                offset=offset,
            )


def unpack(header: MessageSetHeader, payload: memoryview, max_bytes: int) -> memoryview:
    """The messages of a message set, decompressed to `max_bytes` at most if it is a wrapper.

    Raises:
        CorruptRecordError: The wrapper is damaged or empty.
    """
    if header.codec == CompressionCodec.NONE:
        return memoryview(decompress(header.codec, payload, max_bytes))
    if header.codec == CompressionCodec.ZSTD:
        raise CorruptRecordError(f"message format {header.magic} has no zstd (KIP-110)")
    packed: Buffer = _wrapped(payload, KEY_AT[header.magic])
    if header.magic == 0 and header.codec == CompressionCodec.LZ4:
        packed = with_right_checksum(packed)
    messages = memoryview(decompress(header.codec, packed, max_bytes))
    if not messages:
        raise CorruptRecordError("a wrapper has no message")
    return messages


def _wrapped(wrapper: memoryview, pos: int) -> memoryview:
    """The value of a wrapper; its key is ignored."""
    key_length = _SIZE.unpack_from(wrapper, pos)[0]
    pos += 4 + max(key_length, 0)
    if key_length < -1 or pos + 4 > len(wrapper):
        raise CorruptRecordError(f"a wrapper's key of {key_length} bytes is impossible")
    value_length = _SIZE.unpack_from(wrapper, pos)[0]
    if value_length != len(wrapper) - pos - 4:
        raise CorruptRecordError(
            f"a wrapper's value of {value_length} bytes with {len(wrapper) - pos - 4} bytes left"
        )
    return wrapper[pos + 4 :]
