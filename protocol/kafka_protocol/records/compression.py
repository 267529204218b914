"""The codecs of record batches: none, gzip, snappy, lz4, zstd. The output size is always limited.

A few hundred bytes can decompress to gigabytes, and a broker does not check them, so no function
here returns or allocates more than its limit. Two formats are not the defaults of the libraries,
but the formats of the Java client: snappy has the blocks of snappy-java ("xerial"), and lz4 frames
have independent blocks.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import lz4.frame

from kafka_protocol.errors import CorruptRecordError

if TYPE_CHECKING:
    import zstandard

Buffer: TypeAlias = "bytes | bytearray | memoryview"

# The default limit for one batch. Brokers accept batches of 1 MiB by default; a ratio of 100 is
# rare in real data.
DEFAULT_MAX_DECOMPRESSED_BYTES: Final = 128 * 1024 * 1024


class CompressionCodec(IntEnum):
    """The low three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class Compression(NamedTuple):
    """The arguments of `compress`, without the data."""

    codec: CompressionCodec
    level: int | None = None


def decompress(codec: int, data: Buffer, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES) -> Buffer:
    """Decompress the payload of a batch, to `max_bytes` at most, by a number of `CompressionCodec`.

    Raises:
        CorruptRecordError: The codec is unknown, the data is damaged or incomplete, other bytes
            follow it, or it decompresses to more than `max_bytes`.
    """
    functions = _CODECS.get(codec)
    if functions is None:
        raise CorruptRecordError(f"compression codec {codec} is not known")
    try:
        return functions.decompress(data, max_bytes)
    except CorruptRecordError:
        raise
    except Exception as error:  # the libraries may raise anything on invalid bytes
        name = CompressionCodec(codec).name.lower()
        raise CorruptRecordError(f"the {name} payload does not unpack: {error}") from error


def compress(codec: CompressionCodec, data: Buffer, level: int | None = None) -> Buffer:
    """Compress the payload of a batch, in the formats of the Java client.

    A higher level is smaller and slower: 1 to 9 for gzip, 1 to 17 for lz4, -131072 to 22 for zstd
    (KIP-390). None is the fast method of lz4, and the default level of gzip and zstd. The other
    codecs have no levels.
    """
    return _CODECS[codec].compress(data, level)


def _too_large(max_bytes: int) -> CorruptRecordError:
    return CorruptRecordError(
        f"the batch unpacks to more than {max_bytes} bytes; if this is expected, increase the "
        "option kafka.max.decompressed.batch.bytes"
    )


def _none(data: Buffer, max_bytes: int) -> Buffer:
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return data


# The most streams in one payload. Each one copies the bytes after it, and no client writes more
# than one.
_MAX_MEMBERS: Final = 1_000


def _too_many() -> CorruptRecordError:
    return CorruptRecordError(f"the payload is more than {_MAX_MEMBERS} compressed streams")


# --- gzip ----------------------------------------------------------------------------------------


def _gzip_decompress(data: Buffer, max_bytes: int) -> Buffer:
    """Decompress all concatenated members."""
    parts: list[bytes] = []
    total = 0
    rest: Buffer = data
    while rest:
        decompressor = zlib.decompressobj(wbits=31)
        part = decompressor.decompress(rest, max_bytes - total + 1)
        total += len(part)
        if total > max_bytes:
            raise _too_large(max_bytes)
        if not decompressor.eof:
            raise CorruptRecordError("the compressed payload is cut short")
        parts.append(part)
        if len(parts) > _MAX_MEMBERS:
            raise _too_many()
        rest = decompressor.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _gzip_compress(data: Buffer, level: int | None) -> Buffer:
    packer = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION if level is None else level, wbits=31)
    return packer.compress(data) + packer.flush()


# --- lz4 -----------------------------------------------------------------------------------------

# The library allocates all of its limit, so it gets a low one first. A higher ratio is rare.
_LZ4_USUAL_RATIO: Final = 8
_LZ4_MIN_BYTES: Final = 4 * 1024

# A new one costs more than decompressing a small batch. Removed while in use: no thread shares it.
_idle_lz4: Final[list[Any]] = []


def _lz4_decompress(data: Buffer, max_bytes: int) -> Buffer:
    """Decompress all concatenated frames."""
    try:
        context = _idle_lz4.pop()
    except IndexError:
        context = lz4.frame.create_decompression_context()
    parts: list[bytes] = []
    total = frames = 0
    while data:
        usual = max(_LZ4_MIN_BYTES, _LZ4_USUAL_RATIO * len(data))
        part, consumed, is_whole = lz4.frame.decompress_chunk(
            context, data, min(usual, max_bytes - total + 1)
        )
        parts.append(part)
        total += len(part)
        frames += is_whole
        if total > max_bytes:
            raise _too_large(max_bytes)
        if frames > _MAX_MEMBERS:
            raise _too_many()
        is_last = consumed == len(data)
        if not is_whole and (is_last or not (part or consumed)):
            raise CorruptRecordError("the compressed payload is cut short")
        if is_last:
            break
        data = memoryview(data)[consumed:]
    _idle_lz4.append(context)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _lz4_compress(data: Buffer, level: int | None) -> Buffer:
    # All levels of Java are of the slow method (LZ4HC); 0 to 2 of this library are of the fast one.
    lz4_level = 0 if level is None else max(level, lz4.frame.COMPRESSIONLEVEL_MINHC)
    # Java rejects linked blocks, and brokers before 2.x reject the size in the frame's header.
    packed: bytes = lz4.frame.compress(
        data, compression_level=lz4_level, block_linked=False, store_size=False
    )
    return packed


# --- zstd --------------------------------------------------------------------------------------


def _zstandard() -> Any:
    # Imported with the first zstd batch: it takes 10 ms, and planning reads no records.
    import zstandard  # noqa: PLC0415

    return zstandard


# A new one costs as much as decompressing 20 kB. Removed while in use: no thread shares it.
_idle_zstd: Final[list[zstandard.ZstdDecompressor]] = []

_ZSTD_BLOCK_BYTES: Final = 128 * 1024  # the largest decompressed size of a block
_ZSTD_RLE: Final = 1
_ZSTD_COMPRESSED: Final = 2


def _zstd_decompress(data: Buffer, max_bytes: int) -> Buffer:
    try:
        unpacker = _idle_zstd.pop()
    except IndexError:
        unpacker = _zstandard().ZstdDecompressor()
    parts: list[bytes] = []
    total = 0
    rest = memoryview(data)
    # At least one frame; the format and zstd-jni allow several.
    while rest or not parts:
        size, max_content = _zstd_frame(rest)
        left = max_bytes - total
        # If a frame states its content size, the library ignores any other limit.
        stated = _zstandard().frame_content_size(rest)
        if stated > left:  # point: zstd-size
            raise _too_large(max_bytes)
        if stated > max_content:
            raise CorruptRecordError(
                f"a zstd frame states a size of {stated} bytes, possible are {max_content}"
            )
        part = _zstd_part(unpacker, rest[:size], max(1, min(max_content, left)), max_bytes)
        parts.append(part)
        total += len(part)
        rest = rest[size:]
        if len(parts) > _MAX_MEMBERS:
            raise _too_many()
    _idle_zstd.append(unpacker)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _zstd_part(
    unpacker: zstandard.ZstdDecompressor, frame: memoryview, max_output: int, max_bytes: int
) -> bytes:
    try:
        return unpacker.decompress(frame, max_output_size=max_output, allow_extra_data=False)
    except _zstandard().ZstdError as error:
        # The library raises the same error for damage and for the limit.
        raise CorruptRecordError(
            f"the zstd payload is damaged, or unpacks to more than {max_bytes} bytes "
            f"(kafka.max.decompressed.batch.bytes): {error}"
        ) from error


def _zstd_frame(data: memoryview) -> tuple[int, int]:
    """The size of a frame, and the upper limit of its decompressed size, both in bytes.

    Needed because Java's frames do not state their size, and the library allocates all of its
    limit.

    Source: RFC 8878, "Zstandard Frames" and "Blocks".
    """
    zstd = _zstandard()
    pos = zstd.frame_header_size(data)
    max_content = 0
    is_last = 0
    while not is_last:
        block = int.from_bytes(data[pos : pos + 3], "little")
        is_last, kind, size = block & 1, block >> 1 & 3, block >> 3
        max_content += _ZSTD_BLOCK_BYTES if kind == _ZSTD_COMPRESSED else size
        pos += 3 + (1 if kind == _ZSTD_RLE else size)
        if pos > len(data):
            raise CorruptRecordError("the compressed payload is cut short")
    pos += 4 if zstd.get_frame_parameters(data).has_checksum else 0
    if pos > len(data):
        raise CorruptRecordError("the compressed payload is cut short")
    return pos, max_content


_ZSTD_DEFAULT_LEVEL: Final = 3


def _zstd_compress(data: Buffer, level: int | None) -> Buffer:
    packer = _zstandard().ZstdCompressor(level=_ZSTD_DEFAULT_LEVEL if level is None else level)
    packed: bytes = packer.compress(data)
    return packed


# --- snappy ------------------------------------------------------------------------------------

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)  # version, lowest compatible one
_XERIAL_BLOCK_BYTES: Final = 32 * 1024  # snappy-java's own block size
_SIZE: Final = struct.Struct(">i")


def _snappy() -> Any:
    # pyarrow contains raw snappy. Imported late: it takes 100 ms and more.
    # point: snappy-import
    import pyarrow as pa  # noqa: PLC0415

    return pa.Codec("snappy")


def _snappy_decompress(data: Buffer, max_bytes: int) -> Buffer:
    codec = _snappy()
    view = memoryview(data)
    # librdkafka writes raw snappy, the Java client xerial's blocks; every client reads both.
    blocks = _xerial_blocks(view) if bytes(view[:8]) == _XERIAL_MAGIC else [view]
    parts = []
    total = 0
    for block in blocks:
        size = _snappy_size(block)
        total += size
        if total > max_bytes:
            raise _too_large(max_bytes)
        parts.append(codec.decompress(block, decompressed_size=size, asbytes=True))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _xerial_blocks(view: memoryview) -> list[memoryview]:
    blocks = []
    pos = len(_XERIAL_HEADER)
    if len(view) < pos:
        raise CorruptRecordError("the snappy header is cut short")
    while pos < len(view):
        if pos + 4 > len(view):
            raise CorruptRecordError("a snappy block's size is cut short")
        size = _SIZE.unpack_from(view, pos)[0]
        pos += 4
        if not 0 < size <= len(view) - pos:
            raise CorruptRecordError(
                f"a snappy block of {size} bytes with {len(view) - pos} bytes left"
            )
        blocks.append(view[pos : pos + size])
        pos += size
    return blocks


def _snappy_size(block: memoryview) -> int:
    """The decompressed size, a varint at the start of each raw block."""
    size = 0
    for i, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return size
    raise CorruptRecordError("a snappy block has no size")


def _snappy_compress(data: Buffer, _level: int | None) -> Buffer:
    codec = _snappy()
    view = memoryview(data).cast("B")
    parts: list[bytes] = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = codec.compress(view[start : start + _XERIAL_BLOCK_BYTES], asbytes=True)
        parts += (_SIZE.pack(len(block)), block)
    return b"".join(parts)


class _Functions(NamedTuple):
    compress: Callable[[Buffer, int | None], Buffer]
    decompress: Callable[[Buffer, int], Buffer]


_CODECS: Final[dict[int, _Functions]] = {
    CompressionCodec.NONE: _Functions(lambda data, _level: data, _none),
    CompressionCodec.GZIP: _Functions(_gzip_compress, _gzip_decompress),
    CompressionCodec.SNAPPY: _Functions(_snappy_compress, _snappy_decompress),
    CompressionCodec.LZ4: _Functions(_lz4_compress, _lz4_decompress),
    CompressionCodec.ZSTD: _Functions(_zstd_compress, _zstd_decompress),
}
