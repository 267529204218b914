"""Batches of all message formats for property tests."""

from __future__ import annotations

from typing import NamedTuple

import crc32c
from hypothesis import strategies as st

from kafka_protocol.records.attributes import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE
from kafka_protocol.records.batch import BatchContents, BatchHeader, build_batch
from kafka_protocol.records.compression import Compression, CompressionCodec, compress
from kafka_protocol.records.message import Message, encode_messages, wrap_messages
from kafka_protocol.records.record import Header, Record, encode_records

NOW = 1_700_000_000_000


def header_of(**fields: int) -> BatchHeader:
    """The header of an uncompressed batch; fields are 0 by default."""
    zero = dict.fromkeys(BatchHeader._fields, 0)
    return BatchHeader(**(zero | {"magic": 2} | fields))


def payloads() -> st.SearchStrategy[bytes | None]:
    """Keys and values: null, empty, short, and around the sizes where varints get longer."""
    sizes = st.sampled_from([0, 1, 62, 63, 64, 65, 8190, 8191, 8192])
    return st.none() | st.binary(max_size=40) | sizes.map(lambda size: b"x" * size)


def headers() -> st.SearchStrategy[tuple[Header, ...]]:
    """Header lists: none, several, equal keys, keys that are not UTF-8."""
    header = st.builds(
        Header,
        st.sampled_from([b"", b"a", "\u00e4".encode(), b"\xff"]),
        st.none() | st.binary(max_size=5),
    )
    return st.lists(header, max_size=4).map(tuple)


@st.composite
def batches(draw: st.DrawFn) -> tuple[bytes, list[Record]]:
    """A batch with gaps from compaction, in any codec, and its records."""
    base_offset = draw(st.integers(0, 2**40))
    deltas = draw(st.lists(st.integers(0, 20_000), min_size=1, max_size=30, unique=True))
    codec = draw(st.sampled_from(CompressionCodec))
    records = [
        Record(
            base_offset + delta,
            NOW + draw(st.integers(-(2**40), 2**40)),
            draw(payloads()),
            draw(payloads()),
            draw(headers()),
        )
        for delta in sorted(deltas)
    ]
    built = build_batch(
        BatchContents(
            payload=compress(codec, encode_records(records, base_offset, NOW)),
            codec=codec,
            records_count=len(records),
            base_timestamp=NOW,
            max_timestamp=max(record.timestamp for record in records),
        )
    )
    return _compacted(built, base_offset, max(deltas)), records


def _compacted(built: bytes, base_offset: int, last_offset_delta: int) -> bytes:
    """A batch with an offset from the broker, and more offsets than records."""
    covered = built[21:23] + last_offset_delta.to_bytes(4, "big") + built[27:]
    crc = crc32c.crc32c(covered).to_bytes(4, "big")
    return base_offset.to_bytes(8, "big") + built[8:17] + crc + covered


# The codecs of magic 0 and 1.
OLD_CODECS = [codec for codec in CompressionCodec if codec is not CompressionCodec.ZSTD]
APPENDED_AT = NOW + 5
_LOG_APPEND_TIME_BIT = 0x08


class MessageSetSample(NamedTuple):
    """A message set, and the expected records."""

    data: bytes
    records: list[Record]
    timestamp_type: int


def message_of(record: Record) -> Message:
    """A record without headers in the old formats."""
    return Message(record.offset, record.timestamp, record.key, record.value)


@st.composite
def message_sets(draw: st.DrawFn, magics: tuple[int, ...] = (0, 1)) -> MessageSetSample:
    """Plain messages or a wrapper, with gaps from compaction."""
    magic = draw(st.sampled_from(magics))
    codec = draw(st.sampled_from(OLD_CODECS))
    types = [CREATE_TIME, LOG_APPEND_TIME] if magic else [NO_TIMESTAMP_TYPE]
    timestamp_type = draw(st.sampled_from(types))
    base_offset = draw(st.integers(0, 2**40))
    deltas = draw(st.lists(st.integers(0, 40), min_size=1, max_size=30, unique=True))
    records = [
        Record(
            base_offset + delta,
            NOW + draw(st.integers(-(2**40), 2**40)) if magic else -1,
            draw(payloads()),
            draw(payloads()),
        )
        for delta in sorted(deltas)
    ]
    appended = timestamp_type == LOG_APPEND_TIME
    attributes = _LOG_APPEND_TIME_BIT if appended else 0
    if codec is CompressionCodec.NONE:
        plain = encode_messages(map(message_of, records), magic, attributes)
        return MessageSetSample(plain, records, timestamp_type)
    # Relative offsets may begin above 0: compaction may remove the first messages.
    shift = draw(st.integers(0, records[0].offset)) if magic else 0
    inner = [message_of(record)._replace(offset=record.offset - shift) for record in records]
    data = wrapper_of(inner, magic, codec, records[-1].offset, attributes)
    if appended:
        records = [record._replace(timestamp=APPENDED_AT) for record in records]
    return MessageSetSample(data, records, timestamp_type)


def wrapper_of(
    messages: list[Message], magic: int, codec: CompressionCodec, offset: int, attributes: int = 0
) -> bytes:
    """A wrapper with the broker's own timestamp."""
    packed = wrap_messages(
        encode_messages(messages, magic), Compression(codec), magic, offset, APPENDED_AT
    )
    value = packed[(26 if magic else 18) + 8 :]
    return encode_messages([Message(offset, APPENDED_AT, None, value)], magic, codec | attributes)
