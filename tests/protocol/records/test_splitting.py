"""Batches that are split: the same records, in their order, in every format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.records.batch import (
    BatchContents,
    Producer,
    build_batch,
    check_crc,
    contents_of,
    header_of,
    read_batches,
    sequence_after,
)
from kafka_protocol.records.compression import Compression, CompressionCodec, compress
from kafka_protocol.records.message import Message, encode_messages, wrap_messages
from kafka_protocol.records.record import Header, Record, decode_records, encode_records
from kafka_protocol.records.splitting import split_batch

texts = st.none() | st.binary(max_size=20)
headers = st.lists(st.builds(Header, st.binary(max_size=3), texts), max_size=2).map(tuple)
record_lists = st.lists(
    st.builds(Record, st.just(0), st.integers(0, 2**40), texts, texts, headers),
    min_size=1,
    max_size=9,
)
codecs = st.sampled_from([CompressionCodec.NONE, CompressionCodec.GZIP, CompressionCodec.LZ4])


def built(records: list[Record], codec: CompressionCodec) -> bytes:
    placed = [record._replace(offset=number) for number, record in enumerate(records)]
    return build_batch(
        BatchContents(
            payload=compress(codec, encode_records(placed, 0, records[0].timestamp)),
            codec=codec,
            records_count=len(records),
            base_timestamp=records[0].timestamp,
            max_timestamp=max(record.timestamp for record in records),
        )
    )


def read(batch: bytes) -> list[Record]:
    (found,) = read_batches(memoryview(batch))
    check_crc(found)
    return decode_records(found)


@given(record_lists, codecs)
def test_halves_have_the_records_of_the_batch(
    records: list[Record], codec: CompressionCodec
) -> None:
    halves = split_batch(built(records, codec))
    assert len(halves) == min(2, len(records))
    found = [record for half in halves for record in read(half)]
    assert [record[1:] for record in found] == [record[1:] for record in records]
    for half in halves:
        header = header_of(half)
        assert [record.offset for record in read(half)] == [*range(header.records_count)]
        assert header.codec == codec
        assert header.max_timestamp == max(record.timestamp for record in read(half))


@pytest.mark.parametrize("codec", [CompressionCodec.GZIP, CompressionCodec.LZ4])
def test_halves_are_compressed_with_the_level(codec: CompressionCodec) -> None:
    value = b"".join(b"%d, " % (number**2) for number in range(5_000))
    batch = built([Record(number, 0, None, value) for number in range(2)], codec)
    fast, small = (sum(map(len, split_batch(batch, level))) for level in (1, 9))
    assert small < fast


@pytest.mark.parametrize("magic", [0, 1])
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=9), codecs)
def test_halves_of_old_formats(
    magic: int, pairs: list[tuple[bytes | None, bytes | None]], codec: CompressionCodec
) -> None:
    timestamp = 5 if magic else -1
    messages = [Message(number, timestamp, *pair) for number, pair in enumerate(pairs)]
    batch = encode_messages(messages, magic)
    if codec is not CompressionCodec.NONE:
        batch = wrap_messages(batch, Compression(codec), magic, len(messages) - 1, timestamp)
    halves = split_batch(batch)
    assert len(halves) == min(2, len(pairs))
    assert [(r.key, r.value) for half in halves for r in read(half)] == pairs


@given(record_lists, codecs, st.integers(0, 2**31 - 1))
def test_another_producer_changes_nothing_else(
    records: list[Record], codec: CompressionCodec, sequence: int
) -> None:
    batch = built(records, codec)
    stamped = build_batch(contents_of(batch)._replace(producer=Producer(7, 8, sequence)))
    assert read(stamped) == read(batch)
    header = header_of(stamped)
    assert header[9:12] == (7, 8, sequence)
    assert not header.is_transactional
    changed = {"crc": 0, "producer_id": 0, "producer_epoch": 0, "base_sequence": 0}
    assert header._replace(**changed) == header_of(batch)._replace(**changed)


def test_fault_45_sequences_wrap_to_zero() -> None:
    assert sequence_after(2**31 - 2, 1) == 2**31 - 1
    assert sequence_after(2**31 - 1, 1) == 0
    assert sequence_after(2**31 - 3, 10) == 7
