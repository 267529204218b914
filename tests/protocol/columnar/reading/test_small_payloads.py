"""Payloads that are decompressed together are what each of them is alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import lz4.frame
import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.reading.small_payloads import Payloads, decompress_together
from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records.batch import HEADER_BYTES
from kafka_protocol.records.compression import CompressionCodec, compress, decompress

LZ4, ZSTD = CompressionCodec.LZ4, CompressionCodec.ZSTD
MAX_BYTES: Final = 1_000_000

Pack = Callable[[bytes], bytes]


def lz4_frame(**flags: bool) -> Pack:
    return lambda data: lz4.frame.compress(data, **{"store_size": False, **flags})


def zstd_stream(data: bytes) -> bytes:
    """As a stream of Java: without the size of the content."""
    packer = zstandard.ZstdCompressor().compressobj()
    return packer.compress(data) + packer.flush()


def zstd_frame(*, write_content_size: bool = True, write_checksum: bool = False) -> Pack:
    return zstandard.ZstdCompressor(
        write_content_size=write_content_size, write_checksum=write_checksum
    ).compress


# What clients write: Java and librdkafka, and those with checksums and sizes.
USUAL: Final[list[tuple[CompressionCodec, Pack]]] = [
    (LZ4, lambda data: bytes(compress(LZ4, data))),
    (LZ4, lz4_frame(block_linked=True)),
    (LZ4, lz4_frame(content_checksum=True)),
    (LZ4, lz4_frame(store_size=True, content_checksum=True)),
    (LZ4, lz4_frame(block_checksum=True)),
    (ZSTD, lambda data: bytes(compress(ZSTD, data))),
    (ZSTD, zstd_stream),
    (ZSTD, zstd_frame(write_checksum=True)),
    (ZSTD, zstd_frame(write_content_size=False, write_checksum=True)),
]
# Also such of one repeated byte, and of more than 255 bytes: sizes have other lengths then.
CONTENT: Final = st.binary(min_size=1, max_size=60) | st.builds(
    lambda byte, count: byte * count, st.binary(min_size=1, max_size=3), st.integers(1, 900)
)


def together(
    codec: CompressionCodec,
    payloads: Sequence[bytes],
    gaps: Sequence[bytes] = (),
    max_bytes: int = MAX_BYTES,
) -> Payloads | None:
    """The payloads of batches, behind headers; gaps are other batches before some of them."""
    records, begins = b"", []
    for number, payload in enumerate(payloads):
        records += gaps[number] if number < len(gaps) else b""
        records += bytes([number % 256]) * HEADER_BYTES
        begins.append(len(records))
        records += payload
    stops = np.add(begins, [*map(len, payloads)])
    # Behind the last batch there may be a part of another one.
    return decompress_together(
        codec, memoryview(records + b"the next"), np.array(begins), stops, max_bytes
    )


def contents(payloads: Payloads | None) -> list[bytes] | None:
    if payloads is None:
        return None
    bounds = zip(payloads.begins.tolist(), payloads.stops.tolist(), strict=True)
    return [bytes(payloads.data[begin:stop]) for begin, stop in bounds]


def alone(codec: CompressionCodec, payloads: Sequence[bytes]) -> list[bytes] | None:
    """None if one of them is damaged, or too large."""
    try:
        return [bytes(decompress(codec, each, MAX_BYTES)) for each in payloads]
    except CorruptRecordError:
        return None


@pytest.mark.no_cover
@pytest.mark.parametrize(("codec", "pack"), USUAL)
@given(
    values=st.lists(CONTENT, min_size=1, max_size=8),
    gaps=st.lists(st.just(b"") | st.binary(min_size=HEADER_BYTES, max_size=90), max_size=8),
)
def test_usual_frames(
    codec: CompressionCodec, pack: Pack, values: list[bytes], gaps: list[bytes]
) -> None:
    assert contents(together(codec, [*map(pack, values)], gaps)) == values


WORDS: Final[list[bytes | bytearray | memoryview[int]]] = [
    b"%d words" % number for number in range(9_999)
]
DICTIONARY = zstandard.train_dictionary(1_000, WORDS)

UNUSUAL: Final[dict[str, tuple[CompressionCodec, bytes]]] = {
    "no frame": (LZ4, b""),
    "two lz4 frames": (LZ4, lz4_frame()(b"a") * 2),
    "two lz4 blocks": (LZ4, lz4_frame()(bytes(70_000))),
    "a skippable frame behind": (LZ4, lz4_frame()(b"a") + b"\x50\x2a\x4d\x18\x01\x00\x00\x00a"),
    "an empty lz4 frame": (LZ4, lz4_frame()(b"")),
    "lz4, much larger": (LZ4, lz4_frame()(bytes(60_000))),
    "two zstd frames": (ZSTD, zstd_stream(b"a") * 2),
    "two zstd blocks": (ZSTD, zstd_stream(bytes(140_000))),
    "zstd, much larger": (ZSTD, zstd_stream(bytes(120_000))),
    "of a dictionary": (ZSTD, zstandard.ZstdCompressor(dict_data=DICTIONARY).compress(b"3 words")),
    "gzip": (CompressionCodec.GZIP, bytes(compress(CompressionCodec.GZIP, b"a"))),
    "snappy": (CompressionCodec.SNAPPY, bytes(compress(CompressionCodec.SNAPPY, b"a"))),
}


@pytest.mark.parametrize("name", UNUSUAL)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_unusual_frames_are_left_to_the_caller(name: str, place: int) -> None:
    codec, unusual = UNUSUAL[name]
    payloads = [bytes(compress(codec, b"usual"))] * 2
    payloads.insert(place, unusual)
    assert together(codec, payloads) is None


@pytest.mark.parametrize("codec", [LZ4, ZSTD])
def test_fault_33_no_payload_is_larger_than_the_limit(codec: CompressionCodec) -> None:
    payloads = [bytes(compress(codec, bytes(size))) for size in (100, 101, 100)]
    assert together(codec, payloads, max_bytes=101) is not None
    assert together(codec, payloads, max_bytes=100) is None


@pytest.mark.parametrize("codec", [LZ4, ZSTD])
@given(data=st.data(), values=st.lists(CONTENT, min_size=1, max_size=4))
def test_fault_32_changed_bytes(
    codec: CompressionCodec, data: st.DataObject, values: list[bytes]
) -> None:
    """A damaged payload is left to the caller; what is given out is right."""
    payloads = [bytearray(compress(codec, value)) for value in values]
    for _ in range(data.draw(st.integers(1, 3))):
        payload = data.draw(st.sampled_from(payloads))
        at = data.draw(st.integers(0, len(payload) - 1))
        match data.draw(st.sampled_from(["flip", "cut", "add"])):
            case "flip":
                payload[at] ^= data.draw(st.integers(1, 255))
            case "cut" if at:
                del payload[at:]
            case _:
                payload[at:at] = data.draw(st.binary(max_size=3))
    changed = [*map(bytes, payloads)]
    unpacked = contents(together(codec, changed))
    assert unpacked is None or unpacked == alone(codec, changed)


@pytest.mark.parametrize(
    ("codec", "front", "size_of", "end"),
    [
        (LZ4, lz4_frame()(b"")[:7], lambda size: (size | 0x8000_0000).to_bytes(4, "little"), 4),
        (LZ4, lz4_frame()(b"")[:7], lambda size: (size | 0x8000_0000).to_bytes(4, "little"), 0),
        (
            ZSTD,
            zstd_frame(write_content_size=False)(b"")[:6],
            lambda size: (size << 3 | 1).to_bytes(3, "little"),
            0,
        ),
    ],
)
def test_fault_32_a_block_that_continues_in_the_next_frame(
    codec: CompressionCodec, front: bytes, size_of: Callable[[int], bytes], end: int
) -> None:
    """A stored block whose stated size is not that of its bytes."""
    others = [bytes(compress(codec, b"the next one"))] * 3
    for size in range(300):
        payloads = [front + size_of(size) + bytes(range(7, 57)) + bytes(end), *others]
        unpacked = contents(together(codec, payloads))
        assert unpacked is None or unpacked == alone(codec, payloads)
