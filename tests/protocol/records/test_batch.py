"""Record batches: the bytes of the header, truncation at every byte, flips of every byte."""

from __future__ import annotations

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import CorruptRecordError, KafkaError
from kafka_protocol.records.attributes import LOG_APPEND_TIME
from kafka_protocol.records.batch import (
    BatchContents,
    BatchHeader,
    Producer,
    build_batch,
    read_batches,
)
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.records.record import Header, Record, decode_records, encode_records
from tests.protocol.records.batches import ONE, TWO, read

# One record at 1 700 000 000 000 ms: key "k", value "v", header ("h", null).
RECORD = (
    b"\x16"  # 11 bytes follow
    b"\x00"  # attributes
    b"\x00"  # timestamp delta
    b"\x00"  # offset delta
    b"\x02k"
    b"\x02v"
    b"\x02"  # one header
    b"\x02h"
    b"\x01"  # null
)
COVERED = (
    b"\x00\x13"  # attributes: lz4, transactional
    b"\x00\x00\x00\x00"  # last offset delta
    b"\x00\x00\x01\x8b\xcf\xe5\x68\x00"  # base timestamp
    b"\x00\x00\x01\x8b\xcf\xe5\x68\x01"  # max timestamp
    b"\x00\x00\x00\x00\x00\x00\x00\x07"  # producer id
    b"\x00\x08"  # producer epoch
    b"\x00\x00\x00\x09"  # base sequence
    b"\x00\x00\x00\x01"  # records count
) + RECORD
BATCH = (
    (
        b"\x00\x00\x00\x00\x00\x00\x00\x00"  # base offset
        b"\x00\x00\x00\x3d"  # 61 bytes follow
        b"\xff\xff\xff\xff"  # partition leader epoch: the leader sets it
        b"\x02"  # magic
    )
    + crc32c.crc32c(COVERED).to_bytes(4, "big")
    + COVERED
)


def refreshed(data: bytes) -> bytes:
    """The batch with the right checksum."""
    return data[:17] + crc32c.crc32c(data[21:]).to_bytes(4, "big") + data[21:]


def test_record_bytes() -> None:
    record = Record(0, 1_700_000_000_000, b"k", b"v", (Header(b"h", None),))
    assert encode_records([record], 0, 1_700_000_000_000) == RECORD


def test_batch_bytes_written() -> None:
    contents = BatchContents(
        payload=RECORD,
        codec=CompressionCodec.LZ4,
        records_count=1,
        base_timestamp=1_700_000_000_000,
        max_timestamp=1_700_000_000_001,
        producer=Producer(7, 8, 9, is_transactional=True),
    )
    assert build_batch(contents) == BATCH


def test_batch_bytes_read() -> None:
    (batch,) = read(BATCH)
    header = batch.header
    assert isinstance(header, BatchHeader)
    assert (header.base_offset, header.batch_length, header.partition_leader_epoch) == (0, 61, -1)
    assert (header.base_timestamp, header.max_timestamp) == (1_700_000_000_000, 1_700_000_000_001)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 8, 9)
    assert (header.codec, header.is_transactional, header.is_control) == (3, True, False)
    assert header.next_offset == 1
    assert batch.payload == RECORD


def test_attribute_bits() -> None:
    data = bytearray(BATCH)
    data[22] = 0x28
    (batch,) = read(bytes(data), check_crcs=False)
    assert batch.header.timestamp_type == LOG_APPEND_TIME
    assert batch.header.is_control
    assert not batch.header.is_transactional


def test_several_batches_in_order() -> None:
    offsets = [record.offset for batch in read(ONE + TWO) for record in decode_records(batch)]
    assert offsets == [10, 11, 12]


def test_fault_29_incomplete_last_batch_is_dropped() -> None:
    for end in range(len(ONE), len(ONE + TWO)):
        assert [batch.header.base_offset for batch in read((ONE + TWO)[:end])] == [10]
    for end in range(len(ONE)):
        assert read(ONE[:end]) == []


def test_fault_31_every_flipped_byte_is_detected() -> None:
    """The checksum does not cover base offset, length and leader epoch."""
    for pos in range(16, len(TWO)):
        data = bytearray(TWO)
        data[pos] ^= 0x01
        with pytest.raises(KafkaError, match=r"CRC-32C|magic|message format|announced|delta"):
            read(bytes(data))


def test_fault_31_names_offset_and_both_checksums() -> None:
    data = bytearray(TWO)
    data[-1] ^= 0xFF
    with pytest.raises(CorruptRecordError, match=r"offset 11: the CRC-32C is 0x.*records 11 to 12"):
        read(bytes(data))


def test_read_batches_compares_no_checksums() -> None:
    data = bytearray(TWO)
    data[17] ^= 0xFF
    assert len(read(bytes(data), check_crcs=False)) == 1


def with_field(data: bytes, pos: int, field: bytes) -> bytes:
    return refreshed(data[:pos] + field + data[pos + len(field) :])


@pytest.mark.parametrize(
    ("pos", "field", "reason"),
    [
        (0, b"\xff" * 8, "base offset is -1"),
        (0, b"\x7f" + b"\xff" * 7, "base offset is 9223372036854775807"),
        (8, b"\x00\x00\x00\x30", "a batch or message of 48 bytes is impossible"),
        (8, b"\xff\xff\xff\xff", "a batch or message of -1 bytes is impossible"),
        (16, b"\x03", "magic is 3"),
        (23, b"\xff\xff\xff\xff", "last offset delta is -1"),
        (57, b"\xff\xff\xff\xff", "-1 records are announced"),
        (57, b"\x00\x00\x00\x03", "3 records are announced for 2 offsets"),
        (23, b"\x7f\xff\xff\xff" + TWO[27:57] + b"\x7f\xff\xff\xff", "records are announced in"),
    ],
)
def test_fault_32_impossible_headers(pos: int, field: bytes, reason: str) -> None:
    with pytest.raises(CorruptRecordError, match=reason):
        read(with_field(TWO, pos, field))


def test_fault_34_empty_batch_keeps_its_offsets() -> None:
    data = with_field(TWO[:61], 57, bytes(4))
    (batch,) = read(refreshed(data[:8] + (49).to_bytes(4, "big") + data[12:]))
    assert decode_records(batch) == []
    assert batch.header.next_offset == 13


def test_fault_34_compaction_may_remove_the_last_records() -> None:
    (batch,) = read(with_field(TWO, 23, (9).to_bytes(4, "big")))
    assert [record.offset for record in decode_records(batch)] == [11, 12]
    assert batch.header.next_offset == 21


def test_read_batches_is_lazy() -> None:
    broken = with_field(TWO, 57, b"\xff" * 4)
    batches = read_batches(memoryview(ONE + broken))
    assert next(batches).header.base_offset == 10
    with pytest.raises(CorruptRecordError):
        next(batches)


@given(data=st.binary(max_size=300))
def test_garbage_raises_nothing_else(data: bytes) -> None:
    try:
        batches = read(data)
    except KafkaError:
        return
    assert len(batches) <= len(data) // 61
