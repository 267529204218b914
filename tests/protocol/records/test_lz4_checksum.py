"""Kafka's wrong lz4 header checksum."""

from __future__ import annotations

import lz4.frame
import pytest

from kafka_protocol.records.compression import CompressionCodec, compress
from kafka_protocol.records.lz4_checksum import with_right_checksum, with_wrong_checksum, xxh32

FRAME = bytes(compress(CompressionCodec.LZ4, b"some text, some text, some text"))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0x02CC5D05),
        (b"a", 0x550D7456),
        (b"abc", 0x32D153FF),
        (b"abcd", 0xA3643705),
        (b"123456789", 0x937BAD67),
    ],
)
def test_xxh32_of_short_inputs(data: bytes, expected: int) -> None:
    assert xxh32(data) == expected


def test_wrong_checksum_and_back() -> None:
    wrong = bytes(with_wrong_checksum(FRAME))
    assert wrong[6] != FRAME[6]
    assert wrong[:6] + wrong[7:] == FRAME[:6] + FRAME[7:]
    with pytest.raises(RuntimeError):
        lz4.frame.decompress(wrong)
    assert with_right_checksum(wrong) == FRAME


def test_frame_of_kafka_python_for_old_brokers() -> None:
    frame = (
        b"\x04\x22\x4d\x18\x60\x40\x1a"  # the right checksum is 0x82
        b"\x13\x00\x00\x00\x9fsome text\x09\x009P text"
        b"\x00\x00\x00\x00"
    )
    right = with_right_checksum(frame)
    assert right[6] == 0x82
    assert lz4.frame.decompress(right) == b"some text" * 10
    assert with_wrong_checksum(right) == frame


def test_with_the_size_in_the_header() -> None:
    frame = lz4.frame.compress(b"text", store_size=True)
    assert with_right_checksum(with_wrong_checksum(frame)) == frame


@pytest.mark.parametrize(
    "frame",
    [
        FRAME,  # the right checksum
        b"",
        FRAME[:6],
        FRAME[:4] + b"\x61" + FRAME[5:],  # a dictionary id in the header
        FRAME[:4] + b"\x68" + FRAME[5:8],  # a truncated size in the header
        FRAME[:6] + bytes([FRAME[6] ^ 1]) + FRAME[7:],  # neither right nor Kafka's
    ],
)
def test_other_frames_are_not_changed(frame: bytes) -> None:
    assert with_right_checksum(frame) == frame
