"""Message sets: bytes, truncation and flips at every byte, wrappers, runs of messages."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import CorruptRecordError, KafkaError
from kafka_protocol.records.attributes import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE
from kafka_protocol.records.batch import RecordBatch, check_crc, read_batches
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.records.message import Message, encode_messages
from kafka_protocol.records.record import decode_records
from tests.protocol.records.batches import (
    MESSAGE_0,
    MESSAGE_1,
    overflow,
    plain,
    read,
    wrapped,
    wrapper_with,
)
from tests.protocol.records.strategies import NOW, MessageSetSample, message_sets, wrapper_of


def spans(batches: list[RecordBatch]) -> list[tuple[int, int]]:
    return [(batch.header.base_offset, batch.header.next_offset) for batch in batches]


def refreshed(message: bytes) -> bytes:
    """The message with the right checksum."""
    return message[:12] + zlib.crc32(message[16:]).to_bytes(4, "big") + message[16:]


def test_message_bytes_read() -> None:
    old, newer = read(MESSAGE_0 + MESSAGE_1)
    assert (old.header.magic, old.header.timestamp_type) == (0, NO_TIMESTAMP_TYPE)
    assert decode_records(old) == [(7, -1, b"k", None, ())]
    assert (newer.header.magic, newer.header.timestamp_type) == (1, LOG_APPEND_TIME)
    assert decode_records(newer) == [(8, 1_700_000_000_000, None, b"vv", ())]
    assert not (old.header.is_empty or old.header.is_control or old.header.is_transactional)


def test_a_run_has_no_offset_gaps() -> None:
    assert spans(read(plain(3, 4, 5) + plain(7, 8))) == [(3, 6), (7, 9)]


def test_a_run_ends_at_the_end_of_the_range() -> None:
    assert spans(read(plain(3, 4, 5, 6), until_offset=5)) == [(3, 5), (5, 6), (6, 7)]


def test_a_run_has_one_magic_and_one_timestamp_type() -> None:
    appended = encode_messages([Message(6, NOW, None, None)], 1, 0x08)
    data = plain(3, 4, magic=0) + plain(5) + appended + wrapped(0, 1, at=8) + plain(9)
    batches = read(data)
    assert spans(batches) == [(3, 5), (5, 6), (6, 7), (0, 9), (9, 10)]
    assert [batch.header.timestamp_type for batch in batches] == [
        NO_TIMESTAMP_TYPE,
        CREATE_TIME,
        LOG_APPEND_TIME,
        CREATE_TIME,
        CREATE_TIME,
    ]


def test_a_run_has_about_one_mebibyte_at_most() -> None:
    big = [Message(offset, NOW, None, bytes(300_000)) for offset in range(6)]
    assert spans(read(encode_messages(big, 1))) == [(0, 4), (4, 6)]


@given(samples=st.lists(message_sets(), min_size=1, max_size=3), data=st.data())
def test_fault_29_truncated_at_any_byte(
    samples: list[MessageSetSample], data: st.DataObject
) -> None:
    """Exactly the complete messages are read."""
    complete = b"".join(sample.data for sample in samples)
    end = data.draw(st.integers(0, len(complete)))
    expected = [record for batch in read(complete) for record in decode_records(batch)]
    found = [record for batch in read(complete[:end]) for record in decode_records(batch)]
    assert found == expected[: len(found)]
    assert len(found) < len(expected) or end == len(complete)


@pytest.mark.parametrize("remaining", [*range(20), 60, 61, 1_000])
@pytest.mark.parametrize(
    "make", [plain, lambda *o, magic: wrapped(*o, at=5, magic=magic)], ids=["plain", "wrapped"]
)
def test_fault_29_overflow_behind_down_converted_messages(
    make: Callable[..., bytes], remaining: int
) -> None:
    for magic in (0, 1):
        data = make(4, 5, magic=magic) + overflow(remaining)
        assert [r.offset for b in read(data) for r in decode_records(b)] == [4, 5]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [CompressionCodec.NONE, CompressionCodec.GZIP])
def test_fault_31_every_flipped_byte_is_detected(magic: int, codec: CompressionCodec) -> None:
    """The checksum does not cover offset and size."""
    messages = [Message(0, NOW, b"key", b"value")]
    data = encode_messages(messages, magic)
    if codec:
        data = wrapper_of(messages, magic, codec, 0)
    for pos in range(12, len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[pos] ^= 1 << bit
            with pytest.raises(CorruptRecordError, match=r"CRC-32|magic|is impossible|announced"):
                read(bytes(flipped))


def test_fault_31_names_the_message_and_both_checksums() -> None:
    data = bytearray(plain(4, 5, 6))
    data[-1] ^= 1
    with pytest.raises(CorruptRecordError, match=r"offset 6: the CRC-32 is 0x.* has 0x"):
        read(bytes(data))


def test_fault_31_a_flipped_offset_begins_a_new_message_set() -> None:
    """No checksum covers it; a reader sees an offset outside of its range."""
    one = len(plain(4))
    data = bytearray(plain(4, 5, 6))
    data[one] ^= 0x40
    assert spans(read(bytes(data))) == [(4, 5), (5 | 0x40 << 56, 6 | 0x40 << 56), (6, 7)]


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        (b"\xff" * 8, "at offset -1: .* is impossible"),
        (b"\x7f" + b"\xff" * 7, "at offset 9223372036854775807: .* is impossible"),
        (bytes(8) + b"\xff\xff\xff\xff", "a batch or message of -1 bytes"),
        (bytes(8) + b"\x00\x00\x00\x0d", "a batch or message of 13 bytes"),
    ],
    ids=["offset -1", "highest offset", "size -1", "size 13"],
)
def test_fault_32_impossible_entries(field: bytes, reason: str) -> None:
    with pytest.raises(CorruptRecordError, match=reason):
        read(field + MESSAGE_0[len(field) :])


@pytest.mark.parametrize("length", range(12, 17))
@pytest.mark.parametrize("size", [-1, 0, 13])
def test_fault_32_an_impossible_size_without_a_magic(length: int, size: int) -> None:
    """As in Java, the size is checked as soon as it is there; 14 could be a message."""
    tail = bytes(8) + size.to_bytes(4, "big", signed=True) + bytes(4)
    with pytest.raises(CorruptRecordError, match=f"a batch or message of {size} bytes"):
        read(plain(6) + tail[:length])
    assert spans(read(plain(6) + tail[:11])) == [(6, 7)]
    assert spans(read(plain(6) + bytes(11) + b"\x0e" + tail[12:length])) == [(6, 7)]


def test_fault_32_magic_1_is_larger_by_its_timestamp() -> None:
    with pytest.raises(CorruptRecordError, match="at offset 7: a batch or message of 15 bytes is"):
        read(MESSAGE_0[:16] + b"\x01" + MESSAGE_0[17:])


def test_fault_32_good_messages_before_a_bad_one_are_read() -> None:
    bad = bytearray(MESSAGE_1)
    bad[8:12] = b"\xff\xff\xff\xff"
    batches = read_batches(memoryview(plain(6, 7) + bytes(bad)))
    assert next(batches).header.next_offset == 8
    with pytest.raises(CorruptRecordError, match="at offset 8: a batch or message of -1 bytes"):
        next(batches)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (wrapper_with(None, 1), "a wrapper's value of -1 bytes"),
        (wrapper_with(b"", 1), "has no message"),
        # The length of its key is at byte 26.
        (wrapper_with(b"x", 1)[:26] + b"\xff\xff\xff\xfe" + bytes(5), "key of -2 bytes"),
        (wrapper_with(b"x", 4), "message format 1 has no zstd"),
        (wrapper_with(b"x", 4, magic=0), "message format 0 has no zstd"),
        (wrapper_with(b"x", 5), "codec 5 is not known"),
        (wrapper_with(b"x", 1), "cut short"),
        (wrapped(0, at=9)[:-1] + b"\x01", "does not unpack"),
        (wrapper_of([], 1, CompressionCodec.LZ4, 9), "has no message"),
        (wrapped(2, 1, at=0), "do not fit together"),
        (wrapped(-1, 1, at=0), "do not fit together"),
        (wrapped(2, 1, at=9), "do not fit together"),
        (wrapped(-1, 1, at=9), "do not fit together"),
        (wrapped(8, 10, at=9), "do not fit together"),
        (wrapped(8, 10, at=9, magic=0), "do not fit together"),
        (MESSAGE_0[:-4] + b"\x00\x00\x00\x02", "field of 2 bytes with 0 bytes left"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_fault_32_impossible_wrappers(data: bytes, reason: str) -> None:
    (batch,) = read(refreshed(data))
    stated = batch.header.stated_offset
    with pytest.raises(CorruptRecordError, match=f"at offset {stated}: .*{reason}"):
        decode_records(batch)


def test_fault_32_the_key_of_a_wrapper_is_ignored() -> None:
    value = gzip.compress(plain(0))
    (batch,) = read(encode_messages([Message(9, NOW, b"key", value)], 1, 1))
    assert [record.offset for record in decode_records(batch)] == [9]


@given(data=st.binary(max_size=200), magic=st.sampled_from([0, 1]))
def test_fault_32_garbage_raises_nothing_else(data: bytes, magic: int) -> None:
    garbage = bytes(8) + len(data).to_bytes(4, "big") + bytes(4) + bytes([magic]) + data
    try:
        for batch in read_batches(memoryview(refreshed(garbage + bytes(12)))):
            check_crc(batch)
            decode_records(batch, 10_000)
    except KafkaError:
        pass
