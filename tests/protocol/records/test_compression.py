"""Codecs: round trips, other clients' framings, and a cap that holds (faults 33)."""

from __future__ import annotations

import gzip
import struct

import lz4.frame
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records.compression import CompressionCodec, compress, decompress

CODECS = list(CompressionCodec)
COMPRESSED = [codec for codec in CODECS if codec]
TEXT = b"the same words again and again, " * 5000
MIB = 1024 * 1024


@pytest.mark.parametrize("codec", CODECS)
@given(data=st.binary(max_size=200_000))
def test_round_trip(codec: CompressionCodec, data: bytes) -> None:
    assert bytes(decompress(codec, compress(codec, data))) == data


@pytest.mark.parametrize("codec", COMPRESSED)
def test_compresses(codec: CompressionCodec) -> None:
    assert len(compress(codec, TEXT)) < len(TEXT) / 10


@pytest.mark.parametrize("codec", CODECS)
def test_takes_and_reads_views(codec: CompressionCodec) -> None:
    packed = memoryview(bytes(compress(codec, memoryview(TEXT))))
    assert bytes(decompress(codec, packed)) == TEXT


# What other clients write, and we do not.
FOREIGN = {
    "zstd without its size (Java)": (
        CompressionCodec.ZSTD,
        zstandard.ZstdCompressor(write_content_size=False).compress(TEXT),
    ),
    "raw snappy (librdkafka)": (
        CompressionCodec.SNAPPY,
        pa.compress(TEXT, codec="snappy", asbytes=True),
    ),
    "linked lz4 blocks with size and checksum": (
        CompressionCodec.LZ4,
        lz4.frame.compress(TEXT, block_linked=True, store_size=True, content_checksum=True),
    ),
    "two gzip members": (
        CompressionCodec.GZIP,
        gzip.compress(TEXT[:1000]) + gzip.compress(TEXT[1000:]),
    ),
    "three zstd frames": (
        CompressionCodec.ZSTD,
        zstandard.ZstdCompressor(write_checksum=True).compress(TEXT[:1000])
        + zstandard.ZstdCompressor(write_content_size=False).compress(b"")
        + zstandard.ZstdCompressor(write_content_size=False).compress(TEXT[1000:]),
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_reads_what_other_clients_write(name: str) -> None:
    codec, packed = FOREIGN[name]
    assert bytes(decompress(codec, packed)) == TEXT


def test_snappy_is_written_in_xerial_blocks() -> None:
    packed = bytes(compress(CompressionCodec.SNAPPY, TEXT))
    assert packed[:16] == b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    size = struct.unpack_from(">i", packed, 16)[0]
    assert pa.decompress(packed[20 : 20 + size], 32 * 1024, "snappy", asbytes=True) == TEXT[:32768]


def test_lz4_frames_have_independent_blocks_and_no_size() -> None:
    info = lz4.frame.get_frame_info(bytes(compress(CompressionCodec.LZ4, TEXT)))
    assert not info["block_linked"]
    assert info["content_size"] == 0


BOMBS = {
    "gzip": (CompressionCodec.GZIP, gzip.compress(bytes(32 * MIB))),
    "snappy raw": (
        CompressionCodec.SNAPPY,
        pa.compress(bytes(32 * MIB), codec="snappy", asbytes=True),
    ),
    "snappy xerial": (CompressionCodec.SNAPPY, compress(CompressionCodec.SNAPPY, bytes(32 * MIB))),
    "snappy that claims 4 GiB": (CompressionCodec.SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(20)),
    "lz4": (CompressionCodec.LZ4, lz4.frame.compress(bytes(32 * MIB))),
    "zstd with its size": (
        CompressionCodec.ZSTD,
        zstandard.ZstdCompressor().compress(bytes(32 * MIB)),
    ),
    "zstd without its size": (
        CompressionCodec.ZSTD,
        zstandard.ZstdCompressor(write_content_size=False).compress(bytes(32 * MIB)),
    ),
    "none": (CompressionCodec.NONE, bytes(32 * MIB)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_fault_33_bomb_stops_at_the_cap(name: str) -> None:
    codec, packed = BOMBS[name]
    with pytest.raises(CorruptRecordError, match="more than 1048576 bytes"):
        decompress(codec, packed, MIB)


def test_fault_33_zstd_frame_that_announces_more_than_it_can_hold() -> None:
    """Nothing is allocated on its word."""
    frame = bytearray(zstandard.ZstdCompressor().compress(bytes(100_000)))
    at = 5
    assert int.from_bytes(frame[at : at + 4], "little") == 100_000
    frame[at : at + 4] = (100 * MIB).to_bytes(4, "little")
    with pytest.raises(CorruptRecordError, match="at the most announce to be 104857600"):
        decompress(CompressionCodec.ZSTD, bytes(frame))


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("size", [0, 1, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 2 * MIB])
def test_high_ratios(codec: CompressionCodec, size: int) -> None:
    assert bytes(decompress(codec, compress(codec, bytes(size)), size)) == bytes(size)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_fault_33_cap_is_exact(codec: CompressionCodec) -> None:
    packed = compress(codec, TEXT)
    assert len(decompress(codec, packed, len(TEXT))) == len(TEXT)
    with pytest.raises(CorruptRecordError):
        decompress(codec, packed, len(TEXT) - 1)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_fault_33_stream_cut_at_every_byte(codec: CompressionCodec) -> None:
    packed = bytes(compress(codec, TEXT[:1000]))
    # Xerial's blocks end where they end: cut between two, nothing tells that there were more.
    whole = {16} if codec is CompressionCodec.SNAPPY else set()
    for end in range(1, len(packed)):
        if end in whole:
            continue
        with pytest.raises(CorruptRecordError):
            decompress(codec, packed[:end])


@pytest.mark.parametrize("codec", COMPRESSED)
def test_fault_33_trailing_bytes(codec: CompressionCodec) -> None:
    with pytest.raises(CorruptRecordError):
        decompress(codec, bytes(compress(codec, TEXT)) + b"trailing")


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_fault_33_unknown_codec(codec: int) -> None:
    with pytest.raises(CorruptRecordError, match=f"codec {codec} is not known"):
        decompress(codec, b"x")


@pytest.mark.parametrize("codec", COMPRESSED)
@given(data=st.binary(max_size=300))
def test_fault_33_garbage_raises_nothing_else(codec: CompressionCodec, data: bytes) -> None:
    try:
        unpacked = decompress(codec, data, 10_000)
    except CorruptRecordError:
        return
    assert len(unpacked) <= 10_000
