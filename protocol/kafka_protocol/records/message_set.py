"""Message sets (magic 0 and 1), which brokers below 0.11 and old logs hold.

A message set is messages one behind the other, each behind its offset and its size. A compressed
one is a single message, the wrapper, whose value is the message set, compressed. What lies side by
side in a Fetch is handed out as the batches of magic 2 are: a wrapper by itself, and plain messages
by the run. Single messages are `message`'s business.

Sources: the 0.10 protocol guide, "Message sets"; KIP-31 (relative offsets in a wrapper of magic 1),
KIP-32 (timestamps).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.primitives import MAX_INT64
from kafka_protocol.records.attributes import (
    NO_TIMESTAMP,
    NO_TIMESTAMP_TYPE,
    codec_of,
    timestamp_type_of,
)
from kafka_protocol.records.compression import Buffer, CompressionCodec, decompress
from kafka_protocol.records.lz4_checksum import with_right_checksum

# Offset and size, which stand before what the size counts.
LOG_OVERHEAD: Final = 12
CRC_AT: Final = 12
MAGIC_AT: Final = 16
ATTRIBUTES_AT: Final = 17
TIMESTAMP_AT: Final = 18
# Where the key's length stands, by magic.
KEY_AT: Final = (18, 26)
# The smallest message, by magic: CRC, magic, attributes, timestamp, and two lengths.
MIN_MESSAGE_BYTES: Final = (14, 22)

_OFFSET_AND_SIZE: Final = struct.Struct(">qi")
_SIZE: Final = struct.Struct(">i")
_CRC: Final = struct.Struct(">I")
_TIMESTAMP: Final = struct.Struct(">q")
_ENTRY: Final = struct.Struct(">qi4xH")  # offset, size, magic with attributes

# A run of plain messages ends behind this many bytes: about the size of other batches.
_MAX_RUN_BYTES: Final = 1024 * 1024


class MessageSetHeader(NamedTuple):
    """What is known of a message set before it is unpacked; a twin of `BatchHeader`."""

    base_offset: int  # of a wrapper 0: no more is known about its first message
    last_offset: int
    magic: int
    attributes: int  # the wrapper's, or those that all messages have
    timestamp: int  # ms, of the wrapper or of the first message

    @property
    def stated_offset(self) -> int:
        """The offset that stands in front. No checksum covers it."""
        return self.last_offset if self.codec else self.base_offset

    @property
    def next_offset(self) -> int:
        """The offset behind the last message."""
        return self.last_offset + 1

    @property
    def codec(self) -> int:
        """A number of `CompressionCodec`, or one that nobody knows."""
        return codec_of(self.attributes)

    @property
    def timestamp_type(self) -> int:
        """NO_TIMESTAMP_TYPE for magic 0. A wrapper's holds for all messages in it."""
        return timestamp_type_of(self.attributes) if self.magic else NO_TIMESTAMP_TYPE

    @property
    def is_empty(self) -> bool:
        """Never: a message set without a message does not show."""
        return False

    @property
    def is_transactional(self) -> bool:
        """Never: transactions came with magic 2."""
        return False

    @property
    def is_control(self) -> bool:
        """Never: as `is_transactional`."""
        return False


def read_message_set(
    records: memoryview, pos: int, until_offset: int
) -> tuple[MessageSetHeader, int] | None:
    """Find one wrapper, or the plain messages that follow each other from `pos` on.

    Only messages without a gap between their offsets are taken together: so one offset speaks for
    all of them, and one that was damaged stands out as the beginning of the next message set.

    Args:
        records: The `records` field of one partition.
        pos: Where a message of magic 0 or 1 begins.
        until_offset: Where to end a run of plain messages.

    Returns:
        The header, and where the message set ends; None where its first message is cut short.

    Raises:
        CorruptRecordError: An offset or a size is impossible.
    """
    offset, size = _OFFSET_AND_SIZE.unpack_from(records, pos)
    magic = records[pos + MAGIC_AT]
    if not 0 <= offset < MAX_INT64 or size < MIN_MESSAGE_BYTES[magic]:
        raise CorruptRecordError(
            f"a message of {size} bytes at offset {offset} cannot be", offset=offset
        )
    end = pos + LOG_OVERHEAD + size
    if end > len(records):
        return None
    attributes = records[pos + ATTRIBUTES_AT]
    timestamp = _TIMESTAMP.unpack_from(records, pos + TIMESTAMP_AT)[0] if magic else NO_TIMESTAMP
    if codec_of(attributes):
        return MessageSetHeader(0, offset, magic, attributes, timestamp), end
    last_offset, end = _run(records, pos, until_offset)
    return MessageSetHeader(offset, last_offset, magic, attributes, timestamp), end


def _run(records: memoryview, pos: int, until_offset: int) -> tuple[int, int]:
    """The last offset and the end of the run that begins with the whole message at `pos`."""
    offset, size, kind = _ENTRY.unpack_from(records, pos)
    smallest = MIN_MESSAGE_BYTES[records[pos + MAGIC_AT]]
    stop = pos + _MAX_RUN_BYTES
    here = pos + LOG_OVERHEAD + size
    last = len(records) - _ENTRY.size
    while here <= last and here < stop and offset + 1 < until_offset:
        next_offset, size, next_kind = _ENTRY.unpack_from(records, here)
        end = here + LOG_OVERHEAD + size
        if next_offset != offset + 1 or next_kind != kind or size < smallest or end > len(records):
            break  # what is wrong with it is told when its turn comes
        offset, here = next_offset, end
    return offset, here


def message_starts(messages: Buffer) -> Iterator[tuple[int, int]]:
    """Where each message begins and ends.

    Raises:
        CorruptRecordError: A size is impossible, or the last message is cut short. Without an
            offset: the caller knows which message set this is.
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

    A wrapper's covers all that came over the network. The messages inside have their own, written
    before the same bytes were compressed; they would find nothing that the wrapper's does not.
    Java's consumer does it the other way round, since it goes from message to message anyway.

    Raises:
        CorruptRecordError: One is another.
    """
    for number, (start, end) in enumerate(message_starts(payload)):
        crc = zlib.crc32(payload[start + MAGIC_AT : end])
        stated = _CRC.unpack_from(payload, start + CRC_AT)[0]
        if crc != stated:
            offset = header.stated_offset + number
            raise CorruptRecordError(
                f"the CRC-32 is {crc:#010x}, and the message says {stated:#010x}; the broker's "
                "copy is damaged, or the network changed it",
                offset=offset,
            )


def unpack(header: MessageSetHeader, payload: memoryview, max_bytes: int) -> memoryview:
    """The messages of a message set: as they lie there, or out of the wrapper.

    Args:
        header: The message set's.
        payload: Its bytes.
        max_bytes: The most that may come out.

    Raises:
        CorruptRecordError: The wrapper does not hold what it should.
    """
    if header.codec == CompressionCodec.NONE:
        return memoryview(decompress(header.codec, payload, max_bytes))
    if header.codec == CompressionCodec.ZSTD:
        raise CorruptRecordError(
            f"zstd came after message format {header.magic}, and cannot be in it (KIP-110)"
        )
    packed: Buffer = _wrapped(payload, KEY_AT[header.magic])
    if header.magic == 0 and header.codec == CompressionCodec.LZ4:
        packed = with_right_checksum(packed)
    messages = memoryview(decompress(header.codec, packed, max_bytes))
    if not messages:
        raise CorruptRecordError("a wrapper holds no message")
    return messages


def _wrapped(wrapper: memoryview, pos: int) -> memoryview:
    """The value of a wrapper, which has a key of no meaning."""
    key_length = _SIZE.unpack_from(wrapper, pos)[0]
    pos += 4 + max(key_length, 0)
    if key_length < -1 or pos + 4 > len(wrapper):
        raise CorruptRecordError(f"a wrapper's key of {key_length} bytes cannot be")
    value_length = _SIZE.unpack_from(wrapper, pos)[0]
    if value_length != len(wrapper) - pos - 4:
        raise CorruptRecordError(
            f"a wrapper's value of {value_length} bytes where {len(wrapper) - pos - 4} are"
        )
    return wrapper[pos + 4 :]
