"""Record batches (magic 2): the 61-byte header, CRC-32C, and splitting a Fetch response.

The records of a Fetch response are adjacent batches of any magic. Only the last one may be
incomplete, and is dropped then; any other damage is an error. This module never decompresses a
batch. `message_set` has the code for magic 0 and 1.

Source: Kafka's "Message Format" (RecordBatch), KIP-98.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records import message_set
from kafka_protocol.records.attributes import codec_of, timestamp_type_of
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.records.message_set import MessageSetHeader
from kafka_protocol.wire.primitives import MAX_INT64, Piece

MAGIC: Final = 2
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES: Final = _HEADER.size
_PREFIX: Final = struct.Struct(
    ">qi"
)  # base offset and length; the length counts the bytes after it
_UP_TO_CRC: Final = struct.Struct(">qiibI")
_FROM_ATTRIBUTES: Final = struct.Struct(">hiqqqhii")  # the CRC covers this and the records
CRC_COVERS_FROM: Final = _UP_TO_CRC.size
MAGIC_AT: Final = 16

_TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20

# Above it, the offsets of a batch could exceed 64 bits.
MAX_BASE_OFFSET: Final = MAX_INT64 - 2**31

# The shortest record: its length, attributes, three varints, two lengths, a header count.
MIN_RECORD_BYTES: Final = 7


class BatchHeader(NamedTuple):
    """The header's fields in their order on the wire; offsets, ms and bytes."""

    base_offset: int
    batch_length: int  # of everything after this field
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def stated_offset(self) -> int:
        """The offset at the start of the bytes. No checksum covers it."""
        return self.base_offset

    @property
    def next_offset(self) -> int:
        """The offset after the batch, also if compaction removed its last records."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        """A number of `CompressionCodec`, or an unknown one."""
        return codec_of(self.attributes)

    @property
    def timestamp_type(self) -> int:
        """CREATE_TIME, or LOG_APPEND_TIME: then all records have `max_timestamp`."""
        return timestamp_type_of(self.attributes)

    @property
    def is_empty(self) -> bool:
        """Whether compaction removed all records, but not the header."""
        return self.records_count == 0

    @property
    def is_dense(self) -> bool:
        """Whether each offset has a record."""
        return self.records_count == self.last_offset_delta + 1

    @property
    def is_transactional(self) -> bool:
        """Whether the records belong to a transaction."""
        return bool(self.attributes & _TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        """Whether this is a control batch, such as a transaction marker."""
        return bool(self.attributes & CONTROL_BIT)


_ATTRIBUTES_INDEX: Final = BatchHeader._fields.index("attributes")


class RecordBatch(NamedTuple):
    """A complete batch: its header, and its records, perhaps compressed.

    For magic 0 and 1, the payload is the whole message set, with the wrapper message if any.
    """

    header: BatchHeader | MessageSetHeader
    payload: memoryview

    @property
    def batch_bytes(self) -> int:
        """The size of the batch in bytes."""
        header_bytes = HEADER_BYTES if isinstance(self.header, BatchHeader) else 0
        return header_bytes + len(self.payload)


def read_batches(records: memoryview, until_offset: int = MAX_INT64) -> Iterator[RecordBatch]:
    """Split the records of a Fetch response into batches, without decompressing or copying them.

    Lazy: a fault in a later batch raises nothing before that batch. Checksums are not compared;
    see `check_crc`.

    Args:
        records: The `records` field of one partition; batches of all magics may be mixed.
        until_offset: A message set of plain messages ends before this offset.

    Yields:
        Every complete batch. An incomplete last one is dropped.

    Raises:
        CorruptRecordError: A magic is unknown, or an offset, a length or a count is impossible.
    """
    pos = 0
    while len(records) - pos >= _PREFIX.size:
        end = _end_of(records, pos)
        if end > len(records):  # point: cut-batch
            return
        batch, pos = _READERS[records[pos + MAGIC_AT]](records, pos, end, until_offset)
        yield batch


def _end_of(records: memoryview, pos: int) -> int:
    """The end of the batch or message that begins at `pos`, beyond `records` if it is cut short.

    As in Java's ByteBufferLogInputStream, only length and magic are checked before a batch counts
    as cut short. Down-converted responses end with an overflow message of offset -1 that is always
    cut short (KIP-283).
    """
    base_offset, length = _PREFIX.unpack_from(records, pos)
    magic = records[pos + MAGIC_AT] if len(records) - pos > MAGIC_AT else 0
    if magic > MAGIC:
        raise CorruptRecordError(
            f"magic is {magic}, the highest known is {MAGIC}", offset=base_offset
        )
    if length < _MIN_LENGTHS[magic]:
        raise CorruptRecordError(
            f"a batch or message of {length} bytes is impossible", offset=base_offset
        )
    end: int = pos + _PREFIX.size + length
    return end


def _read_record_batch(
    records: memoryview, pos: int, end: int, _until_offset: int
) -> tuple[RecordBatch, int]:
    header = BatchHeader._make(_HEADER.unpack_from(records, pos))
    _check_header(header)
    return RecordBatch(header, records[pos + _HEADER.size : end]), end


def _read_message_set(
    records: memoryview, pos: int, end: int, until_offset: int
) -> tuple[RecordBatch, int]:
    header, end = message_set.read_message_set(records, pos, end, until_offset)
    return RecordBatch(header, records[pos:end]), end


_Reader: TypeAlias = "Callable[[memoryview, int, int, int], tuple[RecordBatch, int]]"
# By magic: returns the complete batch, or the messages, from a position on, and the end of them.
_READERS: Final[tuple[_Reader, ...]] = (_read_message_set, _read_message_set, _read_record_batch)
_MIN_LENGTHS: Final = (*message_set.MIN_MESSAGE_BYTES, _HEADER.size - _PREFIX.size)


def check_crc(batch: RecordBatch) -> None:
    """Compare the checksum of a batch, or of each of its messages.

    Raises:
        CorruptRecordError: A checksum is wrong.
    """
    header = batch.header
    if isinstance(header, MessageSetHeader):
        message_set.check_crcs(header, batch.payload)
    else:
        _check_crc32c(header, batch.payload)


def _check_crc32c(header: BatchHeader, payload: memoryview) -> None:
    # It covers everything after itself.
    covered = _FROM_ATTRIBUTES.pack(*header[_ATTRIBUTES_INDEX:])
    crc = _crc32c(covered, payload)
    if crc != header.crc:
        raise CorruptRecordError(
            f"the CRC-32C is {crc:#010x}, but the header has {header.crc:#010x} "
            f"(records {header.base_offset} to {header.next_offset - 1}); the broker's copy is "
            "damaged, or the network changed it",
            offset=header.base_offset,
        )


def _check_header(header: BatchHeader) -> None:
    payload_bytes = header.batch_length + _PREFIX.size - _HEADER.size
    # Only valid for uncompressed records.
    max_count = payload_bytes // MIN_RECORD_BYTES
    if not 0 <= header.base_offset <= MAX_BASE_OFFSET:
        reason = f"the base offset is {header.base_offset}"
    elif header.last_offset_delta < 0:
        reason = f"the last offset delta is {header.last_offset_delta}"
    elif not 0 <= header.records_count <= header.last_offset_delta + 1:
        reason = (
            f"{header.records_count} records are announced for {header.last_offset_delta + 1} "
            "offsets"
        )
    elif header.records_count > max_count and header.codec == CompressionCodec.NONE:
        reason = f"{header.records_count} records are announced in {payload_bytes} bytes"
    else:
        return
    raise CorruptRecordError(reason, offset=header.base_offset)


def _crc32c(front: bytes, payload: Piece) -> int:
    crc32c = _library()
    return crc32c(payload, crc32c(front))


@cache
def _library() -> Callable[..., int]:
    # Imported with the first batch: it reads its own version from disk, which takes 40 ms, and
    # planning reads no records.
    from crc32c import crc32c  # noqa: PLC0415

    checksum: Callable[..., int] = crc32c
    return checksum


class Producer(NamedTuple):
    """The producer of a batch (KIP-98); by default, no producer."""

    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE
    is_transactional: bool = False


NO_PRODUCER: Final = Producer()
_SEQUENCES: Final = 2**31  # from 0 on; after the last one they wrap to 0


def sequence_after(sequence: int, records_count: int) -> int:
    """The sequence of the record `records_count` records later."""
    return (sequence + records_count) % _SEQUENCES


class BatchContents(NamedTuple):
    """A batch to build, without offset, length and checksum."""

    payload: Piece  # the records, compressed with `codec`
    codec: CompressionCodec
    records_count: int
    base_timestamp: int  # ms, of the first record
    max_timestamp: int  # ms
    producer: Producer = NO_PRODUCER

    @property
    def batch_bytes(self) -> int:
        """The size of the batch in bytes."""
        return HEADER_BYTES + len(self.payload)


def bytes_of(batch: BatchContents | bytes) -> int:
    """The size of a batch in bytes, built or not."""
    return batch.batch_bytes if isinstance(batch, BatchContents) else len(batch)


def build_batch(contents: BatchContents) -> bytes:
    """A complete batch with base offset 0, which the broker replaces."""
    producer = contents.producer
    attributes = int(contents.codec) | (_TRANSACTIONAL_BIT if producer.is_transactional else 0)
    covered = _FROM_ATTRIBUTES.pack(
        attributes,
        contents.records_count - 1,
        contents.base_timestamp,
        contents.max_timestamp,
        producer.producer_id,
        producer.producer_epoch,
        producer.base_sequence,
        contents.records_count,
    )
    crc = _crc32c(covered, contents.payload)
    length = _HEADER.size - _PREFIX.size + len(contents.payload)
    # -1: the leader sets its epoch.
    front = _UP_TO_CRC.pack(0, length, -1, MAGIC, crc)
    return b"".join((front, covered, contents.payload))


def header_of(batch: bytes) -> BatchHeader:
    """The header of a complete batch of magic 2 from `build_batch`; nothing is checked."""
    return BatchHeader._make(_HEADER.unpack_from(batch))


def contents_of(batch: bytes) -> BatchContents:
    """The contents of a complete batch from `build_batch`, without its producer."""
    header = header_of(batch)
    return BatchContents(
        payload=memoryview(batch)[HEADER_BYTES:],
        codec=CompressionCodec(header.codec),
        records_count=header.records_count,
        base_timestamp=header.base_timestamp,
        max_timestamp=header.max_timestamp,
    )
