"""The simple reference codec for the records of a batch (magic 2), one by one.

Tests compare the fast codec of `columnar` with it. No checksums and no batch headers here;
`batch` has them. `message` decodes message sets.

Source: Kafka's "Message Format" (Record, Record Header), KIP-82 (headers), KIP-98.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from kafka_protocol.errors import CorruptRecordError, DecodeError
from kafka_protocol.records.attributes import LOG_APPEND_TIME
from kafka_protocol.records.batch import BatchHeader, RecordBatch
from kafka_protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, decompress
from kafka_protocol.records.message import decode_messages, read_bytes
from kafka_protocol.records.message_set import MessageSetHeader
from kafka_protocol.wire import primitives as p
from kafka_protocol.wire.primitives import Out


class Header(NamedTuple):
    """A record header (KIP-82). The key is UTF-8 by convention only."""

    key: bytes
    value: bytes | None


class Record(NamedTuple):
    """One record. `timestamp` is in ms since 1970, -1 without one."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def decode_records(
    batch: RecordBatch, max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES
) -> list[Record]:
    """The records of one batch of any format, also of a control batch.

    Raises:
        CorruptRecordError: The payload does not decompress, or a record is damaged.
    """
    header, payload = batch
    if isinstance(header, MessageSetHeader):
        messages = decode_messages(header, payload, max_decompressed_bytes)
        return [Record(*message) for message in messages]
    if header.is_empty:
        return []
    try:
        payload = memoryview(decompress(header.codec, payload, max_decompressed_bytes))
        records, pos = [], 0
        for _ in range(header.records_count):
            record, pos = _read_record(payload, pos, header)
            records.append(record)
        _check_ascending(records)
    except CorruptRecordError as error:
        raise CorruptRecordError(error.reason, offset=header.base_offset) from error
    except DecodeError as error:
        raise CorruptRecordError(str(error), offset=header.base_offset) from error
    if pos != len(payload):
        raise CorruptRecordError(
            f"{len(payload) - pos} bytes follow the last record", offset=header.base_offset
        )
    return records


def _check_ascending(records: Sequence[Record]) -> None:
    # Java's DefaultRecordBatch does not check this, and its consumer then skips records silently.
    if any(before.offset >= after.offset for before, after in pairwise(records)):
        raise DecodeError("offset deltas do not ascend")


def _read_record(payload: memoryview, pos: int, header: BatchHeader) -> tuple[Record, int]:
    length, pos = p.read_varint(payload, pos)
    end = pos + length
    if length < 0 or end > len(payload):
        raise DecodeError(f"a record of {length} bytes with {len(payload) - pos} bytes left")
    body = payload[:end]
    _, pos = p.read_int8(body, pos)  # attributes, unused
    timestamp_delta, pos = p.read_varlong(body, pos)
    offset_delta, pos = p.read_varint(body, pos)
    if not 0 <= offset_delta <= header.last_offset_delta:
        raise DecodeError(f"offset delta {offset_delta} is beyond {header.last_offset_delta}")
    key, pos = read_bytes(p.read_varint, body, pos)
    value, pos = read_bytes(p.read_varint, body, pos)
    headers, pos = _read_headers(body, pos)
    if pos != end:
        raise DecodeError(f"a record is {end - pos} bytes longer than its fields")
    timestamp = (
        header.max_timestamp
        if header.timestamp_type == LOG_APPEND_TIME
        else _wrap(header.base_timestamp + timestamp_delta)
    )
    return Record(header.base_offset + offset_delta, timestamp, key, value, headers), end


def _wrap(timestamp: int) -> int:
    """Overflow as in Java's long addition."""
    return (timestamp + 2**63) % 2**64 - 2**63


def _read_headers(body: memoryview, pos: int) -> tuple[tuple[Header, ...], int]:
    count, pos = p.read_varint(body, pos)
    if count < 0 or count > len(body) - pos:
        raise DecodeError(f"{count} headers with {len(body) - pos} bytes left")
    headers = []
    for _ in range(count):
        key, pos = read_bytes(p.read_varint, body, pos)
        if key is None:
            raise DecodeError("a header has no key")
        value, pos = read_bytes(p.read_varint, body, pos)
        headers.append(Header(key, value))
    return tuple(headers), pos


def encode_records(records: Iterable[Record], base_offset: int, base_timestamp: int) -> bytes:
    """The uncompressed payload of a batch."""
    out: Out = []
    for record in records:
        body: Out = []
        p.write_int8(body, 0)
        p.write_varlong(body, record.timestamp - base_timestamp)
        p.write_varint(body, record.offset - base_offset)
        _write_bytes(body, record.key)
        _write_bytes(body, record.value)
        p.write_varint(body, len(record.headers))
        for header in record.headers:
            _write_bytes(body, header.key)
            _write_bytes(body, header.value)
        p.write_varint(out, sum(map(len, body)))
        out.extend(body)
    return b"".join(out)


def _write_bytes(out: Out, value: bytes | None) -> None:
    p.write_varint(out, -1 if value is None else len(value))
    out.append(value or b"")
