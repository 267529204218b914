"""Batches and message sets as bytes, and a reader that compares their checksums."""

from __future__ import annotations

import zlib

from kafka_protocol.records.batch import (
    BatchContents,
    RecordBatch,
    build_batch,
    check_crc,
    read_batches,
)
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.records.message import Message, encode_messages
from kafka_protocol.records.record import Record, encode_records
from tests.protocol.records.strategies import NOW, wrapper_of


def read(data: bytes, until_offset: int = 2**62, *, check_crcs: bool = True) -> list[RecordBatch]:
    batches = []
    for batch in read_batches(memoryview(data), until_offset):
        if check_crcs:
            check_crc(batch)
        batches.append(batch)
    return batches


def batch_of(*records: Record, base_offset: int = 0) -> bytes:
    """An uncompressed batch at any offset."""
    base_timestamp = records[0].timestamp
    built = build_batch(
        BatchContents(
            payload=encode_records(records, 0, base_timestamp),
            codec=CompressionCodec.NONE,
            records_count=len(records),
            base_timestamp=base_timestamp,
            max_timestamp=max(record.timestamp for record in records),
        )
    )
    return base_offset.to_bytes(8, "big") + built[8:]


ONE = batch_of(Record(0, 5, b"a", b"1"), base_offset=10)
TWO = batch_of(Record(0, 6, None, b"2"), Record(1, 7, b"b", None), base_offset=11)

_COVERED_0 = (
    b"\x00"  # magic
    b"\x00"  # attributes
    b"\x00\x00\x00\x01k"
    b"\xff\xff\xff\xff"  # null
)
MESSAGE_0 = (
    b"\x00\x00\x00\x00\x00\x00\x00\x07"  # offset
    b"\x00\x00\x00\x0f" + zlib.crc32(_COVERED_0).to_bytes(4, "big") + _COVERED_0  # 15 bytes follow
)
_COVERED_1 = (
    b"\x01"  # magic
    b"\x08"  # attributes: LOG_APPEND_TIME
    b"\x00\x00\x01\x8b\xcf\xe5\x68\x00"  # timestamp
    b"\xff\xff\xff\xff"  # null
    b"\x00\x00\x00\x02vv"
)
MESSAGE_1 = (
    b"\x00\x00\x00\x00\x00\x00\x00\x08"  # offset
    b"\x00\x00\x00\x18" + zlib.crc32(_COVERED_1).to_bytes(4, "big") + _COVERED_1  # 24 bytes follow
)


# The payload of a batch that announces one record, and why it cannot be read.
IMPOSSIBLE_RECORDS = [
    (b"", "cut short"),
    (b"\x0b", "a record of -6 bytes"),
    (b"\x0e\x00\x00\x00\x01\x01", "a record of 7 bytes with 5 bytes left"),
    (b"\x0c\x00\x00\x02\x01\x01\x00", "offset delta 1 is beyond 0"),
    (b"\x0c\x00\x00\x01\x01\x01\x00", "offset delta -1 is beyond 0"),
    (b"\x0c\x00\x00\x00\x03\x01\x00", "a field of -2 bytes"),  # the key
    (b"\x0c\x00\x00\x00\x08\x01\x00", "a field of 4 bytes with 2 bytes left"),
    (b"\x0c\x00\x00\x00\x01\x08\x00", "a field of 4 bytes with 1 bytes left"),  # the value
    (b"\x0c\x00\x00\x00\x01\x01\x01", "-1 headers"),
    (b"\x0c\x00\x00\x00\x01\x01\x02", "1 headers with 0 bytes left"),
    (b"\x0e\x00\x00\x00\x01\x01\x02\x01", "a header has no key"),
    (b"\x10\x00\x00\x00\x01\x01\x02\x08a", "a field of 4 bytes with 1 bytes left"),
    (b"\x10\x00\x00\x00\x01\x01\x02\x00\x08", "a field of 4 bytes with 0 bytes left"),
    (b"\x12\x00\x00\x00\x01\x01\x02\x00\x01\x00", "1 bytes longer than its fields"),
    (b"\x0e\x00\x00\x00\x01\x01\x00\x00", "1 bytes longer than its fields"),
    (b"\x0c\x00\x00\x00\x01\x01\x00\x00", "1 bytes follow the last record"),
    (b"\xff\xff\xff\xff\xff\x0f", "varint"),
    (b"\x02\x00", "cut short"),  # only attributes
]


def _messages(offsets: tuple[int, ...]) -> list[Message]:
    return [Message(offset, NOW, b"k", b"%d" % offset) for offset in offsets]


def plain(*offsets: int, magic: int = 1) -> bytes:
    return encode_messages(_messages(offsets), magic)


def overflow(remaining: int) -> bytes:
    """What a broker puts behind down-converted messages if they are smaller than announced.

    As LazyDownConversionRecordsSend does (KIP-283): offset -1, cut short, zeros.
    """
    size = max(remaining + 1, 61)
    return ((b"\xff" * 8) + size.to_bytes(4, "big") + bytes(remaining))[:remaining]


def wrapped(*offsets: int, at: int, magic: int = 1) -> bytes:
    return wrapper_of(_messages(offsets), magic, CompressionCodec.GZIP, at)


def wrapper_with(value: bytes | None, codec: int, magic: int = 1) -> bytes:
    return encode_messages([Message(9, NOW, None, value)], magic, codec)
