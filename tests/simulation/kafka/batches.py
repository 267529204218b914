"""Stored batches: bytes with their offsets. What a producer sent, as a broker writes it to its log.

Records are never decoded here, but for markers and for wrappers of magic 0 and 1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import crc32c

from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records.attributes import LOG_APPEND_TIME_BIT, codec_of
from kafka_protocol.records.batch import (
    CONTROL_BIT,
    CRC_COVERS_FROM,
    MAGIC_AT,
    NO_PRODUCER,
    NO_SEQUENCE,
    BatchContents,
    BatchHeader,
    Producer,
    RecordBatch,
    build_batch,
    check_crc,
    header_of,
    read_batches,
)
from kafka_protocol.records.compression import CompressionCodec, compress
from kafka_protocol.records.message import Message, encode_messages
from kafka_protocol.records.message_set import (
    ATTRIBUTES_AT,
    LOG_OVERHEAD,
    TIMESTAMP_AT,
    message_starts,
)
from kafka_protocol.records.record import Record, decode_records, encode_records

_ATTRIBUTES_AT: Final = 21
_MAX_TIMESTAMP_AT: Final = 35
_FRONT: Final = struct.Struct(">q4xi")  # base offset and leader epoch, around the length
_MARKER_KEY: Final = struct.Struct(">hh")
_MARKER_VALUE: Final = struct.Struct(">hi")


class Stored(NamedTuple):
    """A batch in a log; a message or a wrapper of magic 0 and 1 has no header."""

    data: bytes
    base_offset: int
    next_offset: int
    epoch: int
    max_timestamp: int
    header: BatchHeader | None

    @property
    def is_control(self) -> bool:
        return self.header is not None and self.header.is_control

    def records(self) -> tuple[Record, ...]:
        """The decoded records; for truth and for look-ups by time, not for reads."""
        return _decoded(self.data)


@lru_cache(maxsize=4_096)
def _decoded(data: bytes) -> tuple[Record, ...]:
    """The records of stored bytes: all replicas and the judge share them."""
    return tuple(
        record for batch in read_batches(memoryview(data)) for record in decode_records(batch)
    )


class Marker(NamedTuple):
    """What ends a transaction in a log: ABORT or COMMIT, and the epoch of its coordinator."""

    type: int
    coordinator_epoch: int


def placed(data: bytes, offset: int, epoch: int, append_time: int | None = None) -> Stored:
    """A producer's batch of magic 2 at its place in a log; with LogAppendTime if given."""
    stored = bytearray(data)
    stored[0:8] = offset.to_bytes(8, "big")
    stored[12:16] = epoch.to_bytes(4, "big", signed=True)
    if append_time is not None:
        stored[_ATTRIBUTES_AT + 1] |= LOG_APPEND_TIME_BIT
        stored[_MAX_TIMESTAMP_AT : _MAX_TIMESTAMP_AT + 8] = append_time.to_bytes(8, "big")
        stored[17:21] = crc32c.crc32c(bytes(stored[CRC_COVERS_FROM:])).to_bytes(4, "big")
    return as_stored(bytes(stored))


def as_stored(data: bytes) -> Stored:
    """A batch of magic 2 that has its offset and epoch."""
    header = header_of(data)
    return Stored(
        data,
        header.base_offset,
        header.next_offset,
        header.partition_leader_epoch,
        header.max_timestamp,
        header,
    )


def placed_messages(data: bytes, offset: int, epoch: int) -> list[Stored]:
    """Messages of magic 0 and 1, each with the next offset; a wrapper has that of its last one."""
    stored = []
    for start, end in message_starts(data):
        message = data[start:end]
        count = 1
        if codec_of(message[ATTRIBUTES_AT]):
            (batch,) = read_batches(memoryview(message))
            count = len(decode_records(batch))
        last = offset + count - 1
        placed_at = last.to_bytes(8, "big") + message[8:]
        timestamp = -1
        if message[MAGIC_AT]:
            timestamp = int.from_bytes(message[TIMESTAMP_AT : TIMESTAMP_AT + 8], "big", signed=True)
        stored.append(Stored(placed_at, offset, last + 1, epoch, timestamp, None))
        offset = last + 1
    return stored


def as_messages(data: bytes, magic: int) -> bytes:
    """A batch of magic 2 as messages of an older format, as brokers below an upgrade store it."""
    (batch,) = read_batches(memoryview(data))
    return encode_messages(
        [
            Message(at, record.timestamp, record.key, record.value)
            for at, record in enumerate(decode_records(batch))
        ],
        magic,
    )


def batches_of(records: bytes) -> Iterator[tuple[bytes, RecordBatch]]:
    """The batches of a Produce request with their bytes, each checked.

    Raises:
        CorruptRecordError: A batch is damaged or cut short.
    """
    view = memoryview(records)
    pos = 0
    for batch in read_batches(view):
        check_crc(batch)
        is_new = isinstance(batch.header, BatchHeader)
        size = len(batch.payload) + (CRC_COVERS_FROM + 40 if is_new else 0)
        yield records[pos : pos + size], batch
        pos += size
    if pos != len(records) or not pos:
        raise CorruptRecordError(f"{len(records) - pos} bytes are no batch")


def magic_of(records: bytes | memoryview) -> int:
    """The magic of the first batch; -1 if there is none."""
    return records[MAGIC_AT] if len(records) > MAGIC_AT else -1


def batch_of(
    records: Sequence[Record],
    producer: Producer = NO_PRODUCER,
    codec: CompressionCodec = CompressionCodec.NONE,
) -> bytes:
    """A batch of magic 2, as a producer sends it: offsets count from the first record's."""
    first = records[0]
    payload = encode_records(records, first.offset, first.timestamp)
    batch = build_batch(
        BatchContents(
            payload=compress(codec, payload),
            codec=codec,
            records_count=len(records),
            base_timestamp=first.timestamp,
            max_timestamp=max(record.timestamp for record in records),
            producer=producer,
        )
    )
    delta = records[-1].offset - first.offset
    return batch if delta == len(records) - 1 else _with_last_delta(batch, delta)


def _with_last_delta(batch: bytes, delta: int) -> bytes:
    changed = bytearray(batch)
    changed[23:27] = delta.to_bytes(4, "big")
    return _with_crc(changed)


def _with_crc(batch: bytearray) -> bytes:
    batch[17:21] = crc32c.crc32c(bytes(batch[CRC_COVERS_FROM:])).to_bytes(4, "big")
    return bytes(batch)


def marker_batch(producer_id: int, epoch: int, marker: Marker, timestamp: int) -> bytes:
    """The control batch that ends a transaction."""
    key = _MARKER_KEY.pack(0, marker.type)
    value = _MARKER_VALUE.pack(0, marker.coordinator_epoch)
    producer = Producer(producer_id, epoch, NO_SEQUENCE, is_transactional=True)
    batch = bytearray(batch_of([Record(0, timestamp, key, value)], producer))
    batch[_ATTRIBUTES_AT + 1] |= CONTROL_BIT
    return _with_crc(batch)


def marker_of(stored: Stored) -> Marker:
    """What a control batch says."""
    (record,) = stored.records()
    _, type_ = _MARKER_KEY.unpack_from(record.key or b"")
    _, coordinator_epoch = _MARKER_VALUE.unpack_from(record.value or b"")
    return Marker(type_, coordinator_epoch)


def emptied(stored: Stored) -> Stored:
    """The header of a batch without its records, as compaction keeps the last one of a producer."""
    front = bytearray(stored.data[: CRC_COVERS_FROM + 40])
    front[8:12] = (len(front) - LOG_OVERHEAD).to_bytes(4, "big")
    front[57:61] = bytes(4)
    front[_ATTRIBUTES_AT + 1] &= ~0x07 & 0xFF
    return as_stored(_with_crc(front))


def thinned(stored: Stored, kept: Sequence[Record]) -> Stored:
    """A batch of magic 2 with some of its records, at their offsets: its range stays."""
    header = stored.header
    if header is None or not kept:
        raise ValueError("only a batch of magic 2 with records left can be thinned")
    payload = compress(
        CompressionCodec(header.codec),
        encode_records(kept, header.base_offset, header.base_timestamp),
    )
    batch = bytearray(stored.data[: CRC_COVERS_FROM + 40]) + payload
    batch[8:12] = (len(batch) - LOG_OVERHEAD).to_bytes(4, "big")
    batch[57:61] = len(kept).to_bytes(4, "big")
    newest = max(record.timestamp for record in kept)
    batch[_MAX_TIMESTAMP_AT : _MAX_TIMESTAMP_AT + 8] = newest.to_bytes(8, "big", signed=True)
    return as_stored(_with_crc(batch))
