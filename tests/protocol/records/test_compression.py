"""Codecs: round trips, formats of other clients, and the size limit (fault 33)."""

from __future__ import annotations

import gzip
import random
import struct
from itertools import pairwise

import lz4.frame
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records.compression import (
    CompressionCodec,
    compress,
    decompress,
)

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
def test_memoryviews(codec: CompressionCodec) -> None:
    packed = memoryview(bytes(compress(codec, memoryview(TEXT))))
    assert bytes(decompress(codec, packed)) == TEXT


# KIP-390: all levels of Java.
LEVELS = {
    CompressionCodec.GZIP: st.just(-1) | st.integers(1, 9),
    CompressionCodec.LZ4: st.integers(1, 17),
    CompressionCodec.ZSTD: st.integers(-131072, 22),
}


@pytest.mark.parametrize("codec", LEVELS)
@given(data=st.data())
def test_round_trip_at_any_level(codec: CompressionCodec, data: st.DataObject) -> None:
    level = data.draw(st.none() | LEVELS[codec])
    plain = data.draw(st.binary(max_size=2_000)) * data.draw(st.integers(1, 100))
    assert bytes(decompress(codec, compress(codec, plain, level))) == plain


def json_lines(count: int) -> bytes:
    """Realistic text: few frequent words, many rare ones, and unique numbers."""
    chance = random.Random(7)
    words = [f"{chance.choice('bdfgklm')}{chance.choice('aeiou')}{i:x}" for i in range(500)]
    frequencies = [1 / rank for rank in range(1, len(words) + 1)]
    texts = (" ".join(chance.choices(words, frequencies, k=12)) for _ in range(count))
    lines = (f'{{"id": {chance.getrandbits(40)}, "text": "{text}"}}\n' for text in texts)
    return "".join(lines).encode()


@pytest.mark.no_cover
@pytest.mark.many_inputs
@pytest.mark.parametrize(
    ("codec", "levels"),
    [
        (CompressionCodec.GZIP, [1, 3, 6, 9]),
        (CompressionCodec.LZ4, [1, 2, 3, 6, 9, 12, 17]),
        (CompressionCodec.ZSTD, [-131072, -100, -5, 1, 3, 9, 15, 22]),
    ],
)
def test_higher_levels_are_not_larger(codec: CompressionCodec, levels: list[int]) -> None:
    text = json_lines(10_000)
    sizes = [len(compress(codec, text, level)) for level in levels]
    assert all(later <= earlier for earlier, later in pairwise(sizes)), sizes
    assert sizes[-1] < sizes[0]


@pytest.mark.parametrize(
    ("codec", "default"), [(CompressionCodec.GZIP, -1), (CompressionCodec.ZSTD, 3)]
)
def test_no_level_is_the_default_level(codec: CompressionCodec, default: int) -> None:
    text = json_lines(100)
    assert compress(codec, text) == compress(codec, text, None) == compress(codec, text, default)


def test_every_lz4_level_is_smaller_than_the_fast_method() -> None:
    text = json_lines(100)
    fast = compress(CompressionCodec.LZ4, text)
    assert all(len(compress(CompressionCodec.LZ4, text, n)) < len(fast) for n in range(1, 18))


@pytest.mark.parametrize("level", [None, 1, 9, 17])
def test_lz4_frames_have_independent_blocks_and_no_size(level: int | None) -> None:
    info = lz4.frame.get_frame_info(bytes(compress(CompressionCodec.LZ4, TEXT, level)))
    assert not info["block_linked"]
    assert info["content_size"] == 0


@pytest.mark.parametrize("codec", [CompressionCodec.NONE, CompressionCodec.SNAPPY])
def test_codecs_without_levels(codec: CompressionCodec) -> None:
    assert compress(codec, TEXT, 9) == compress(codec, TEXT)


# Formats of other clients that this library does not write.
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
def test_formats_of_other_clients(name: str) -> None:
    codec, packed = FOREIGN[name]
    assert bytes(decompress(codec, packed)) == TEXT


def test_snappy_is_written_in_xerial_blocks() -> None:
    packed = bytes(compress(CompressionCodec.SNAPPY, TEXT))
    assert packed[:16] == b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    size = struct.unpack_from(">i", packed, 16)[0]
    assert pa.decompress(packed[20 : 20 + size], 32 * 1024, "snappy", asbytes=True) == TEXT[:32768]


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
def test_fault_33_bomb_stops_at_the_limit(name: str) -> None:
    codec, packed = BOMBS[name]
    with pytest.raises(CorruptRecordError, match="more than 1048576 bytes"):
        decompress(codec, packed, MIB)


def test_fault_33_zstd_frame_that_states_an_impossible_size() -> None:
    frame = bytearray(zstandard.ZstdCompressor().compress(bytes(100_000)))
    assert int.from_bytes(frame[5:9], "little") == 100_000
    frame[5:9] = (100 * MIB).to_bytes(4, "little")
    with pytest.raises(CorruptRecordError, match="a zstd frame states a size of 104857600"):
        decompress(CompressionCodec.ZSTD, bytes(frame))


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("size", [0, 1, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 2 * MIB])
def test_high_ratios(codec: CompressionCodec, size: int) -> None:
    assert bytes(decompress(codec, compress(codec, bytes(size)), size)) == bytes(size)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_fault_33_limit_is_exact(codec: CompressionCodec) -> None:
    packed = compress(codec, TEXT)
    assert len(decompress(codec, packed, len(TEXT))) == len(TEXT)
    with pytest.raises(CorruptRecordError):
        decompress(codec, packed, len(TEXT) - 1)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_fault_33_stream_truncated_at_every_byte(codec: CompressionCodec) -> None:
    packed = bytes(compress(codec, TEXT[:1000]))
    # Xerial has no number of blocks, so truncation between two blocks cannot be detected.
    undetectable = {16} if codec is CompressionCodec.SNAPPY else set()
    for end in {*range(1, len(packed))} - undetectable:
        with pytest.raises(CorruptRecordError):
            decompress(codec, packed[:end])


@pytest.mark.parametrize("codec", sorted({*COMPRESSED} - {CompressionCodec.SNAPPY}))
def test_fault_33_very_many_compressed_streams(codec: CompressionCodec) -> None:
    """Each takes a step, so their number is limited."""
    one = bytes(compress(codec, b"x"))
    assert len(decompress(codec, one * 1_000)) == 1_000
    with pytest.raises(CorruptRecordError, match="more than 1000 compressed streams"):
        decompress(codec, one * 1_002)


def test_fault_33_zstd_frame_without_its_checksum() -> None:
    frame = zstandard.ZstdCompressor(write_checksum=True).compress(TEXT)
    with pytest.raises(CorruptRecordError, match="cut short"):
        decompress(CompressionCodec.ZSTD, frame[:-3])


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
