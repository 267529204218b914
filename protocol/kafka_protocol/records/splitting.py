"""Splits a batch that is too large for a broker; slow (record by record), because it is rare.

The records and their order do not change. The caller sets the producer of the new batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from kafka_protocol.records.batch import BatchContents, RecordBatch, build_batch, read_batches
from kafka_protocol.records.compression import (
    DEFAULT_MAX_DECOMPRESSED_BYTES,
    Compression,
    CompressionCodec,
    compress,
)
from kafka_protocol.records.message import Message, decode_messages, encode_messages, wrap_messages
from kafka_protocol.records.message_set import MessageSetHeader
from kafka_protocol.records.record import Record, decode_records, encode_records

_Row = TypeVar("_Row")


def split_batch(batch: bytes, level: int | None = None) -> list[bytes]:
    """Split a batch of this library in the middle, unless it has a single record.

    The codec stays; `level` is the level of compression.
    """
    ((header, payload),) = read_batches(memoryview(batch))
    compression = Compression(CompressionCodec(header.codec), level)
    if isinstance(header, MessageSetHeader):
        messages = decode_messages(header, payload, DEFAULT_MAX_DECOMPRESSED_BYTES)
        return [_message_set(half, header.magic, compression) for half in _halves(messages)]
    records = decode_records(RecordBatch(header, payload), DEFAULT_MAX_DECOMPRESSED_BYTES)
    return [_record_batch(half, compression) for half in _halves(records)]


def _halves(rows: list[_Row]) -> Iterable[list[_Row]]:
    middle = len(rows) // 2
    return filter(None, [rows[:middle], rows[middle:]])


def _record_batch(records: list[Record], compression: Compression) -> bytes:
    base_offset, base_timestamp = records[0].offset, records[0].timestamp
    encoded = encode_records(records, base_offset, base_timestamp)
    return build_batch(
        BatchContents(
            payload=compress(compression.codec, encoded, compression.level),
            codec=compression.codec,
            records_count=len(records),
            base_timestamp=base_timestamp,
            max_timestamp=max(record.timestamp for record in records),
        )
    )


def _message_set(messages: list[Message], magic: int, compression: Compression) -> bytes:
    numbered = [message._replace(offset=number) for number, message in enumerate(messages)]
    encoded = encode_messages(numbered, magic)
    if compression.codec is CompressionCodec.NONE:
        return encoded
    newest = max(message.timestamp for message in messages)
    return wrap_messages(encoded, compression, magic, len(messages) - 1, newest)
