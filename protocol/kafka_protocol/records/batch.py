"""Record batches (magic 2): the 61-byte header, CRC-32C, and how batches lie in a Fetch.

What is inside a batch stays packed here. A Fetch answer's records are batches one behind the
other; only the last one may be cut short, and is dropped then. Anything else that is short, or
whose checksum is wrong, is corruption, and an error each time it is met.

Source: Kafka's "Message Format" (RecordBatch), KIP-98; magic 0 and 1 are message sets, which
brokers below 0.11 and old logs hold.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

import crc32c

from kafka_protocol.errors import CorruptRecordError, UnsupportedVersionError
from kafka_protocol.primitives import Piece
from kafka_protocol.records.compression import CompressionCodec

MAGIC: Final = 2
CREATE_TIME: Final = 0
LOG_APPEND_TIME: Final = 1
NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_PREFIX: Final = struct.Struct(">qi")  # base offset and length stand before what the length counts
_UP_TO_CRC: Final = struct.Struct(">qiibI")
_FROM_ATTRIBUTES: Final = struct.Struct(">hiqqqhii")  # what the CRC covers, with the records
_MAGIC_AT: Final = 16

_CODEC_MASK: Final = 0x07
_LOG_APPEND_TIME_BIT: Final = 0x08
_TRANSACTIONAL_BIT: Final = 0x10
_CONTROL_BIT: Final = 0x20

# The shortest record: its length, attributes, three varints, two lengths, a header count.
MIN_RECORD_BYTES: Final = 7


class BatchHeader(NamedTuple):
    """The header's fields in their order on the wire; offsets, ms and bytes."""

    base_offset: int
    batch_length: int  # what follows this field
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
    def next_offset(self) -> int:
        """The offset behind the batch. Compaction may have taken its last records away."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        """A number of `CompressionCodec`, or one that nobody knows."""
        return self.attributes & _CODEC_MASK

    @property
    def timestamp_type(self) -> int:
        """CREATE_TIME, or LOG_APPEND_TIME: then max_timestamp is every record's."""
        return LOG_APPEND_TIME if self.attributes & _LOG_APPEND_TIME_BIT else CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        """Whether a marker decides about the records."""
        return bool(self.attributes & _TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        """Whether this is a transaction's marker, which no user ever sees."""
        return bool(self.attributes & _CONTROL_BIT)


_ATTRIBUTES_INDEX: Final = BatchHeader._fields.index("attributes")


class RecordBatch(NamedTuple):
    """A whole batch: its header, and its records as they lie there, perhaps compressed."""

    header: BatchHeader
    payload: memoryview


def read_batches(records: memoryview) -> Iterator[RecordBatch]:
    """Cut the records of a Fetch answer into batches, without unpacking or copying them.

    Each batch is cut when it is asked for, so whoever stops early meets no fault of what follows.
    Checksums are left to `check_crc`.

    Args:
        records: The `records` field of one partition.

    Yields:
        Every whole batch. A last one that is cut short is left out.

    Raises:
        CorruptRecordError: A length or a count is impossible.
        UnsupportedVersionError: A batch is of magic 0 or 1.
    """
    pos = 0
    while len(records) - pos > _MAGIC_AT:
        base_offset, length = _PREFIX.unpack_from(records, pos)
        _check_magic(records[pos + _MAGIC_AT], base_offset)
        if length < _HEADER.size - _PREFIX.size:
            raise CorruptRecordError(f"a batch of {length} bytes cannot be", offset=base_offset)
        end = pos + _PREFIX.size + length
        if end > len(records):
            return
        header = BatchHeader._make(_HEADER.unpack_from(records, pos))
        _check_header(header)
        yield RecordBatch(header, records[pos + _HEADER.size : end])
        pos = end


def check_crc(batch: RecordBatch) -> None:
    """Compare a batch's checksum (CRC-32C, from the attributes to the end).

    Raises:
        CorruptRecordError: It is another one.
    """
    header = batch.header
    covered = _FROM_ATTRIBUTES.pack(*header[_ATTRIBUTES_INDEX:])
    crc = crc32c.crc32c(batch.payload, crc32c.crc32c(covered))
    if crc != header.crc:
        raise CorruptRecordError(
            f"the CRC-32C is {crc:#010x}, and the header says {header.crc:#010x} "
            f"(records {header.base_offset} to {header.next_offset - 1}); the broker's copy is "
            "damaged, or the network changed it",
            offset=header.base_offset,
        )


def _check_magic(magic: int, base_offset: int) -> None:
    if magic in (0, 1):
        raise UnsupportedVersionError(
            f"the batch at offset {base_offset} has message format {magic} (Kafka before 0.11), "
            "which this version of pykafka does not read yet"
        )
    if magic != MAGIC:
        raise CorruptRecordError(
            f"magic is {magic}, and 2 is the highest known", offset=base_offset
        )


def _check_header(header: BatchHeader) -> None:
    payload_bytes = header.batch_length + _PREFIX.size - _HEADER.size
    # Unpacked, a record takes more; so this only bounds what is not compressed.
    most = payload_bytes // MIN_RECORD_BYTES
    if header.base_offset < 0:
        reason = f"the base offset is {header.base_offset}"
    elif header.last_offset_delta < 0:
        reason = f"the last offset delta is {header.last_offset_delta}"
    elif header.records_count < 0 or header.records_count > header.last_offset_delta + 1:
        reason = (
            f"{header.records_count} records are announced for {header.last_offset_delta + 1} "
            "offsets"
        )
    elif header.codec == CompressionCodec.NONE and header.records_count > most:
        reason = f"{header.records_count} records are announced in {payload_bytes} bytes"
    else:
        return
    raise CorruptRecordError(reason, offset=header.base_offset)


class Producer(NamedTuple):
    """Who wrote a batch (KIP-98); nobody in particular where nothing is said."""

    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE
    is_transactional: bool = False


NO_PRODUCER: Final = Producer()


class BatchContents(NamedTuple):
    """What a producer states about a batch; length and checksum follow from it."""

    payload: Piece  # the records, compressed with `codec`
    codec: CompressionCodec
    records_count: int
    base_timestamp: int  # ms, of the first record
    max_timestamp: int  # ms
    producer: Producer = NO_PRODUCER


def build_batch(contents: BatchContents) -> bytes:
    """A whole batch with base offset 0, which the broker replaces."""
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
    crc = crc32c.crc32c(contents.payload, crc32c.crc32c(covered))
    length = _HEADER.size - _PREFIX.size + len(contents.payload)
    # -1: the leader fills its epoch in.
    front = _UP_TO_CRC.pack(0, length, -1, MAGIC, crc)
    return b"".join((front, covered, contents.payload))
