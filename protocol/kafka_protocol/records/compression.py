"""The codecs of record batches: none, gzip, snappy, lz4, zstd. Output is capped, always.

A few hundred bytes can unpack to gigabytes, and a broker hands on what a producer wrote, so no
function here returns, or allocates, more than it was allowed to. Framing differs from the codecs'
own defaults in two places, as the Java client reads and writes it: snappy comes in the blocks of
snappy-java ("xerial"), lz4 frames have independent blocks.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import lz4.frame
import zstandard

from kafka_protocol.errors import CorruptRecordError

Buffer: TypeAlias = "bytes | bytearray | memoryview"

# As much as one batch may unpack to where nothing else is said. Brokers take batches of 1 MiB by
# default; a hundredfold ratio is rare in honest data.
DEFAULT_MAX_DECOMPRESSED_BYTES: Final = 128 * 1024 * 1024


class CompressionCodec(IntEnum):
    """The low three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def decompress(codec: int, data: Buffer, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES) -> Buffer:
    """Unpack the payload of a batch.

    Args:
        codec: A number of `CompressionCodec`.
        data: The payload.
        max_bytes: The most that may come out.

    Raises:
        CorruptRecordError: The codec is unknown, the data is damaged or cut short, something
            follows it, or more than `max_bytes` would come out.
    """
    functions = _CODECS.get(codec)
    if functions is None:
        raise CorruptRecordError(f"compression codec {codec} is not known")
    try:
        return functions.decompress(data, max_bytes)
    except CorruptRecordError:
        raise
    except Exception as error:  # the libraries raise whatever they like on hostile bytes
        name = CompressionCodec(codec).name.lower()
        raise CorruptRecordError(f"the {name} payload does not unpack: {error}") from error


def compress(codec: CompressionCodec, data: Buffer) -> Buffer:
    """Pack the payload of a batch, as the Java client can unpack it."""
    return _CODECS[codec].compress(data)


def _too_large(max_bytes: int) -> CorruptRecordError:
    return CorruptRecordError(
        f"the batch unpacks to more than {max_bytes} bytes; if that is meant, raise the option "
        "kafka.max.decompressed.batch.bytes"
    )


def _none(data: Buffer, max_bytes: int) -> Buffer:
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return data


# --- gzip, lz4: decompressors that stop at a length and tell what is left -----------------------


# Each costs a copy of what follows it, and no client writes more than one.
_MAX_MEMBERS: Final = 1_000


class _Decompressor(Protocol):
    """What zlib's and lz4's decompressor objects have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes | None: ...

    def decompress(self, data: Any, max_length: int, /) -> bytes: ...


def _members(new: Callable[[], _Decompressor], data: Buffer, max_bytes: int) -> Buffer:
    """Unpack one member after another: both formats allow to concatenate them."""
    parts: list[bytes] = []
    total = 0
    rest: Buffer | None = data
    while rest:
        decompressor = new()
        part = decompressor.decompress(rest, max_bytes - total + 1)
        total += len(part)
        if total > max_bytes:
            raise _too_large(max_bytes)
        if not decompressor.eof:
            raise CorruptRecordError("the compressed payload is cut short")
        parts.append(part)
        if len(parts) > _MAX_MEMBERS:
            raise CorruptRecordError(f"the payload is more than {_MAX_MEMBERS} compressed streams")
        rest = decompressor.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _gzip_decompress(data: Buffer, max_bytes: int) -> Buffer:
    return _members(lambda: zlib.decompressobj(wbits=31), data, max_bytes)


def _gzip_compress(data: Buffer) -> Buffer:
    packer = zlib.compressobj(wbits=31)
    return packer.compress(data) + packer.flush()


def _lz4_decompress(data: Buffer, max_bytes: int) -> Buffer:
    return _members(lz4.frame.LZ4FrameDecompressor, data, max_bytes)


def _lz4_compress(data: Buffer) -> Buffer:
    # Java refuses linked blocks, and brokers before 2.x the size in the frame's header.
    packed: bytes = lz4.frame.compress(data, block_linked=False, store_size=False)
    return packed


# --- zstd --------------------------------------------------------------------------------------


def _zstd_decompress(data: Buffer, max_bytes: int) -> Buffer:
    # Where a frame states its size, the library believes it and ignores any other cap. Java's
    # frames state none; then the cap holds, and reaching it looks like the end of the data.
    if zstandard.frame_content_size(data) > max_bytes:
        raise _too_large(max_bytes)
    unpacker = zstandard.ZstdDecompressor()
    try:
        return unpacker.decompress(data, max_output_size=max_bytes, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise CorruptRecordError(
            f"the zstd payload is damaged, or unpacks to more than {max_bytes} bytes "
            f"(kafka.max.decompressed.batch.bytes): {error}"
        ) from error


def _zstd_compress(data: Buffer) -> Buffer:
    return zstandard.ZstdCompressor().compress(data)


# --- snappy ------------------------------------------------------------------------------------

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)  # version, lowest compatible one
_XERIAL_BLOCK_BYTES: Final = 32 * 1024  # snappy-java's own block size
_SIZE: Final = struct.Struct(">i")


def _snappy() -> Any:
    # Raw snappy comes with pyarrow. Imported here, since nothing else in this half of the
    # package needs it and its import costs 100 ms and more.
    import pyarrow as pa  # noqa: PLC0415

    return pa.Codec("snappy")


def _snappy_decompress(data: Buffer, max_bytes: int) -> Buffer:
    codec = _snappy()
    view = memoryview(data)
    # librdkafka writes raw snappy, the Java client xerial's blocks; both are read everywhere.
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
    """The unpacked size, which stands in front of each raw block as a varint."""
    size = 0
    for i, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return size
    raise CorruptRecordError("a snappy block has no size")


def _snappy_compress(data: Buffer) -> Buffer:
    codec = _snappy()
    view = memoryview(data).cast("B")
    parts: list[bytes] = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = codec.compress(view[start : start + _XERIAL_BLOCK_BYTES], asbytes=True)
        parts += (_SIZE.pack(len(block)), block)
    return b"".join(parts)


class _Functions(NamedTuple):
    compress: Callable[[Buffer], Buffer]
    decompress: Callable[[Buffer, int], Buffer]


_CODECS: Final[dict[int, _Functions]] = {
    CompressionCodec.NONE: _Functions(lambda data: data, _none),
    CompressionCodec.GZIP: _Functions(_gzip_compress, _gzip_decompress),
    CompressionCodec.SNAPPY: _Functions(_snappy_compress, _snappy_decompress),
    CompressionCodec.LZ4: _Functions(_lz4_compress, _lz4_decompress),
    CompressionCodec.ZSTD: _Functions(_zstd_compress, _zstd_decompress),
}
