"""The reference codec of messages: bytes, offsets and timestamps in wrappers, damage."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest
from hypothesis import given

from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records.batch import read_batches
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.records.message import Message, encode_messages
from kafka_protocol.records.record import decode_records
from tests.protocol.kafka_jar import CURRENT, KafkaJar
from tests.protocol.records.batches import (
    MESSAGE_0,
    MESSAGE_1,
    overflow,
    plain,
    read,
    wrapped,
    wrapper_with,
)
from tests.protocol.records.strategies import (
    NOW,
    OLD_CODECS,
    MessageSetSample,
    message_sets,
    wrapper_of,
)


def test_message_bytes_written() -> None:
    assert encode_messages([Message(7, NOW, b"k", None)], 0) == MESSAGE_0
    message = Message(8, 1_700_000_000_000, None, b"vv")
    assert encode_messages([message], 1, 0x08) == MESSAGE_1


def both_magics(magic: int, attributes: int) -> bytes:
    inner = plain(0, magic=0) + plain(1, magic=1)
    return encode_messages([Message(1, NOW + 5, None, gzip.compress(inner))], magic, 1 | attributes)


AS_JAVA = (
    *(wrapped(0, 1, 2, at=0, magic=magic) for magic in (0, 1)),
    *(wrapped(3, 5, 3, 5, at=5, magic=magic) for magic in (0, 1)),
    wrapped(1, 0, 1, 1, at=9),
    wrapped(2, 3, 7, at=107),
    wrapped(8, 10, at=9),
    *(both_magics(magic, attributes) for magic in (0, 1) for attributes in (0, 8)),
    plain(4, 5) + overflow(12),
    plain(4, 5) + overflow(100),
    plain(6) + bytes(11),
    plain(6) + bytes(11) + b"\x0d",
)


@pytest.mark.no_cover
def test_fault_37_java_reads_the_same(kafka_jar: Callable[[str], KafkaJar]) -> None:
    found = kafka_jar(CURRENT).run("RecordsOracle.java", *(data.hex() for data in AS_JAVA))
    for data, line in zip(AS_JAVA, found.splitlines(), strict=True):
        offsets_and_times, error = [], []
        try:
            for batch in read_batches(memoryview(data)):
                offsets_and_times += [f"{r.offset}@{r.timestamp}" for r in decode_records(batch)]
        except CorruptRecordError:
            error = ["error"]
        assert [*offsets_and_times, *error] == line.split()


def test_fault_37_log_append_time_of_a_wrapper() -> None:
    messages = [Message(0, NOW, None, b"a"), Message(1, NOW + 1, None, b"b")]
    appended, created = (
        wrapper_of(messages, 1, CompressionCodec.SNAPPY, 1, attributes) for attributes in (8, 0)
    )
    assert [r.timestamp for r in decode_records(read(appended)[0])] == [NOW + 5, NOW + 5]
    assert [r.timestamp for r in decode_records(read(created)[0])] == [NOW, NOW + 1]


@pytest.mark.no_cover
@given(sample=message_sets())
def test_reads_what_was_written(sample: MessageSetSample) -> None:
    batches = read(sample.data)
    assert [record for batch in batches for record in decode_records(batch)] == sample.records
    assert {batch.header.timestamp_type for batch in batches} == {sample.timestamp_type}


@pytest.mark.parametrize(
    ("inner", "reason"),
    [
        (plain(0)[:16] + b"\x02" + plain(0)[17:], "a message of magic 2 in a message set"),
        (wrapped(0, at=0), "is compressed again"),
        (plain(0)[:-1], "bytes left"),
        (plain(0) + b"\x00", "1 bytes follow the last message"),
        (plain(0)[:8] + b"\xff\xff\xff\xff" + plain(0)[12:], "a message of -1 bytes"),
        (plain(0)[:8] + b"\x7f\xff\xff\xff" + plain(0)[12:], "a message of 2147483647 bytes"),
        (plain(0)[:26] + b"\xff\xff\xff\xfe" + plain(0)[30:], "a field of -2 bytes"),
        (plain(0)[:26] + b"\x7f\xff\xff\xff" + plain(0)[30:], "a field of 2147483647 bytes"),
        (plain(0)[:31] + b"\x00\x00\x00\x00" + plain(0)[35:], "1 bytes longer than its fields"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_fault_32_impossible_messages_in_a_wrapper(inner: bytes, reason: str) -> None:
    (batch,) = read(wrapper_with(gzip.compress(inner), 1))
    with pytest.raises(CorruptRecordError, match=f"at offset 9: .*{reason}"):
        decode_records(batch)


@pytest.mark.parametrize("codec", [codec for codec in OLD_CODECS if codec])
def test_fault_33_bomb_in_a_wrapper(codec: CompressionCodec) -> None:
    messages = [Message(0, NOW, None, bytes(2_000_000))]
    (batch,) = read(wrapper_of(messages, 1, codec, 40))
    assert len(decode_records(batch)) == 1
    with pytest.raises(CorruptRecordError, match=r"at offset 40: .*more than 100000 bytes"):
        decode_records(batch, 100_000)
