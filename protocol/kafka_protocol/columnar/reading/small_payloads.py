"""The compressed payloads of many small batches, decompressed by one call of Arrow.

A call of a library takes some microseconds, more than a small payload needs, and threads of one
process wait for each other between the calls. Arrow decompresses all frames of a stream in one
call, but does not show where the content of one ends. So in a copy of the response a frame with a
random mark replaces the header of each batch, and skippable frames replace what is between the
batches. The output then has the mark before each payload.

This needs payloads that are one whole frame of one block, as clients write small ones. Then no
payload can continue in the next frame. For all others the result is None: the caller decompresses
each payload alone, and names the damaged one.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafka_protocol.columnar.arrays.varints import Bytes, Longs
from kafka_protocol.columnar.reading.rows import at_each_byte
from kafka_protocol.records.batch import HEADER_BYTES
from kafka_protocol.records.compression import CompressionCodec

# For a larger mean size, one call for each payload is as fast.
MAX_MEAN_BYTES: Final = 1024

# The output of a call may have so many times the bytes of its input, and so many for each payload.
_USUAL_RATIO: Final = 8
_MIN_OUTPUT_BYTES: Final = 4 * 1024

# The same for lz4 and zstd, before the number of bytes to skip.
_SKIPPABLE_MAGIC: Final = 0x184D_2A50
_SKIPPABLE_HEADER_BYTES: Final = 8


class Payloads(NamedTuple):
    """Decompressed payloads: that of each batch is in `data`, from `begins` to `stops`."""

    data: memoryview
    begins: Longs
    stops: Longs


def decompress_together(
    codec: int, records: memoryview, begins: Longs, stops: Longs, max_bytes: int
) -> Payloads | None:
    """Decompress the payloads of batches of magic 2, each after its header in `records`.

    Args:
        codec: A number of `CompressionCodec`.
        records: A part of a Fetch response. It is copied.
        begins: Where each payload begins; ascending.
        stops: Where it stops.
        max_bytes: The largest decompressed size of a payload.

    Returns:
        None if the codec is neither lz4 nor zstd, or if a payload is damaged, or unusual: several
        frames or blocks, much larger when it is decompressed.
    """
    frames = _FRAMES.get(codec)
    if frames is None or (frames.end(records, begins) != stops).any():
        return None
    mark = os.urandom(frames.mark_bytes)
    packed = _with_marks(frames, mark, records, begins, stops)
    limit = _USUAL_RATIO * len(packed) + (_MIN_OUTPUT_BYTES + len(mark)) * len(begins)
    try:
        with pa.CompressedInputStream(pa.py_buffer(packed), frames.name) as stream:
            unpacked = stream.read_buffer(limit + 1)
    except (OSError, pa.ArrowException):
        return None
    marks = _positions(unpacked, mark)
    if len(unpacked) > limit or len(marks) != len(begins):
        return None
    unpacked_begins, unpacked_stops = marks + len(mark), np.append(marks[1:], len(unpacked))
    if (unpacked_stops - unpacked_begins).max() > max_bytes:
        return None
    return Payloads(memoryview(unpacked), unpacked_begins, unpacked_stops)


def _with_marks(
    frames: _Frames, mark: bytes, records: memoryview, begins: Longs, stops: Longs
) -> bytearray:
    """A stream of frames: a mark and a payload, for each batch."""
    first = begins[0] - HEADER_BYTES
    packed = bytearray(records[first : stops[-1]])
    frame = frames.before_mark + mark + frames.after_mark
    at_each_byte(packed, f"V{HEADER_BYTES}")[begins - HEADER_BYTES - first] = np.void(frame)
    gap_bytes = begins[1:] - HEADER_BYTES - stops[:-1]
    gaps = np.flatnonzero(gap_bytes)
    words, at = at_each_byte(packed, "<u4"), stops[gaps] - first
    words[at] = _SKIPPABLE_MAGIC
    words[at + 4] = gap_bytes[gaps] - _SKIPPABLE_HEADER_BYTES
    return packed


def _positions(unpacked: pa.Buffer, mark: bytes) -> Longs:
    """The positions at which the mark begins."""
    words = at_each_byte(unpacked, "<u8")
    likely = np.flatnonzero(np.frombuffer(unpacked, np.uint8, len(words)) == mark[0])
    # These bytes are random: no payload can contain them on purpose.
    positions: Longs = likely[words[likely] == int.from_bytes(mark[:8], "little")]
    return positions


# --- Frames --------------------------------------------------------------------------------------


class _Frames(NamedTuple):
    """Frames of a codec.

    Attributes:
        name: The codec's name in Arrow.
        before_mark: The beginning of the frame of a mark, whose block is stored as it is.
        after_mark: Its end.
        end: The end of a frame of one block, for each position of a frame; any other number if it
            is not one.
    """

    name: str
    before_mark: bytes
    after_mark: bytes
    end: Callable[[memoryview, Longs], Longs]

    @property
    def mark_bytes(self) -> int:
        """The length of a mark whose frame is as long as a batch's header."""
        return HEADER_BYTES - len(self.before_mark) - len(self.after_mark)


def _bits(byte: Bytes, shift: int, mask: int = 1) -> Longs:
    return (byte >> shift & mask).astype(np.int64)


class _Fields:
    """Little-endian fields of frames. A position after the end reads the last one in the buffer."""

    def __init__(self, records: memoryview) -> None:
        self._bytes = np.frombuffer(records, np.uint8)
        self._words = at_each_byte(records, "<u4")

    def byte(self, at: Longs) -> Bytes:
        """One byte at each position."""
        return self._bytes.take(at, mode="clip")

    def word(self, at: Longs) -> Longs:
        """Four bytes at each position."""
        # Not `take`, which copies an array with such strides first.
        return self._words[np.minimum(at, len(self._words) - 1)].astype(np.int64)


# LZ4 Frame Format Description, 1.6.1.
_LZ4_MAGIC: Final = 0x184D_2204
_LZ4_STORED: Final = 0x8000_0000
_LZ4_MARK_BYTES: Final = 46


def _lz4_end(records: memoryview, begins: Longs) -> Longs:
    fields = _Fields(records)
    flags = fields.byte(begins + 4)
    block_at = begins + 7 + 8 * _bits(flags, 3) + 4 * _bits(flags, 0)
    end_mark_at = block_at + 4 + (fields.word(block_at) & (_LZ4_STORED - 1)) + 4 * _bits(flags, 4)
    is_whole = (fields.word(begins) == _LZ4_MAGIC) & (fields.word(end_mark_at) == 0)
    return np.where(is_whole, end_mark_at + 4 + 4 * _bits(flags, 2), -1)


# RFC 8878, section 3.1.1.
_ZSTD_MAGIC: Final = 0xFD2F_B528
_ZSTD_RLE: Final = 1
_ZSTD_MARK_BYTES: Final = 52
_ZSTD_DICTIONARY_ID_BYTES: Final = np.array([0, 1, 2, 4])
_ZSTD_CONTENT_SIZE_BYTES: Final = np.array([0, 2, 4, 8])


def _zstd_end(records: memoryview, begins: Longs) -> Longs:
    fields = _Fields(records)
    descriptor = fields.byte(begins + 4)
    is_single, size_flag = _bits(descriptor, 5), _bits(descriptor, 6, 3)
    block_at = (
        begins
        + 6  # with the window, or the content size of one byte of a single segment
        + _ZSTD_DICTIONARY_ID_BYTES[_bits(descriptor, 0, 3)]
        + _ZSTD_CONTENT_SIZE_BYTES[size_flag]
        - (is_single & (size_flag > 0))
    )
    block = fields.word(block_at)
    size = np.where(block >> 1 & 3 == _ZSTD_RLE, 1, block >> 3 & 0x1F_FFFF)
    is_whole = (fields.word(begins) == _ZSTD_MAGIC) & (block & 1 == 1)
    return np.where(is_whole, block_at + 3 + size + 4 * _bits(descriptor, 2), -1)


_FRAMES: Final[dict[int, _Frames]] = {
    CompressionCodec.LZ4: _Frames(
        "lz4",
        # Version 1, independent blocks of 64 KiB at most, and the checksum of these two bytes.
        struct.pack("<IBBBI", _LZ4_MAGIC, 0x60, 0x40, 0x82, _LZ4_STORED | _LZ4_MARK_BYTES),
        bytes(4),
        _lz4_end,
    ),
    CompressionCodec.ZSTD: _Frames(
        "zstd",
        # A single segment, its content size in one byte, and one block, the last.
        struct.pack("<IBBHB", _ZSTD_MAGIC, 0x20, _ZSTD_MARK_BYTES, _ZSTD_MARK_BYTES << 3 | 1, 0),
        b"",
        _zstd_end,
    ),
}
