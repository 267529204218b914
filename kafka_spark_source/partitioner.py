"""Which partition a record goes to, as Java's producer decides: murmur2 of the key.

Two forms of the same hash: `murmur2` to read, `partition_for_keys` for a whole Arrow column at
once; a test compares them. Nothing here knows topics or the cluster. Sources: `Utils.murmur2` and
`BuiltInPartitioner` of Kafka's Java client, KIP-480 (the sticky choice for rows without a key).
"""

from __future__ import annotations

import random
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

NO_KEY: Final = -1

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_U32: Final = 0xFFFFFFFF
_POSITIVE: Final = 0x7FFFFFFF  # Java's Utils.toPositive: clears the sign, keeps the rest

# Fewer keys than this are hashed one by one: a step of numpy's for all of them costs about as much
# as that many steps of the loop in _hash_on (measured with keys of 40 kB).
_FEW_KEYS: Final = 64

_OFFSET_TYPES: Final[dict[pa.DataType, np.dtype[np.int32] | np.dtype[np.int64]]] = {
    pa.binary(): np.dtype(np.int32),
    pa.string(): np.dtype(np.int32),
    pa.large_binary(): np.dtype(np.int64),
    pa.large_string(): np.dtype(np.int64),
}

_Words = npt.NDArray[np.uint32]
_Indices = npt.NDArray[np.int64]


def murmur2(data: bytes) -> int:
    """Hash bytes as Java's `Utils.murmur2` does; the result is signed, as Java's int is."""
    h = _SEED ^ len(data)
    whole = len(data) & ~3
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * _M & _U32
        k = (k ^ k >> 24) * _M & _U32
        h = h * _M & _U32 ^ k
    if tail := data[whole:]:
        h = (h ^ int.from_bytes(tail, "little")) * _M & _U32
    h = (h ^ h >> 13) * _M & _U32
    h ^= h >> 15
    return h - (1 << 32) if h >> 31 else h


def partition_for_keys(keys: pa.Array, num_partitions: int) -> npt.NDArray[np.int32]:
    """The partition of each key: `toPositive(murmur2(key)) % num_partitions`.

    Args:
        keys: Binary or string, of 32 or 64 bit offsets, possibly a slice.
        num_partitions: How many partitions the topic has; at least 1.

    Returns:
        A number for each key, NO_KEY (-1) for a null.

    Raises:
        TypeError: The keys are of another type.
    """
    if keys.type not in _OFFSET_TYPES:
        raise TypeError(f"keys must be binary or string, not {keys.type}")
    if not len(keys):
        return np.empty(0, dtype=np.int32)
    _, offsets_buffer, data_buffer = keys.buffers()
    offset_type = _OFFSET_TYPES[keys.type]
    offsets = np.frombuffer(offsets_buffer, offset_type)[keys.offset : keys.offset + len(keys) + 1]
    starts, lengths = offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
    data = np.frombuffer(b"" if data_buffer is None else data_buffer, dtype=np.uint8)
    is_null = keys.is_null().to_numpy(zero_copy_only=False)
    lengths[is_null] = 0  # whatever lies under a null
    hashes = _murmur2_column(data, starts, lengths)
    partitions = (hashes & np.uint32(_POSITIVE)) % np.uint32(num_partitions)
    return np.where(is_null, NO_KEY, partitions).astype(np.int32)


def sticky_partition(num_partitions: int) -> int:
    """A random partition for all rows of one Arrow batch that have no key.

    One for the batch, not one for each row: fuller record batches, fewer requests (KIP-480).
    """
    return random.randrange(num_partitions)  # noqa: S311 -- spreads load, keeps no secret


def _murmur2_column(data: npt.NDArray[np.uint8], starts: _Indices, lengths: _Indices) -> _Words:
    """Hash many keys together: the first word of each, the second of each that has one, ...

    The longest keys come first, so those that still have words are always a prefix.
    """
    order = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[order], lengths[order]
    shortfalls = -(lengths >> 2)  # of words; negative, because searchsorted wants it ascending
    words = _words_everywhere(data)
    hashes = np.uint32(_SEED) ^ lengths.astype(np.uint32)
    word = 0
    while (count := int(np.searchsorted(shortfalls, -word))) >= _FEW_KEYS:
        mixed = _mix(words[starts[:count] + 4 * word])
        hashes[:count] = hashes[:count] * np.uint32(_M) ^ mixed
        word += 1
    for key in range(count):
        rest = words[starts[key] + 4 * word : starts[key] + (lengths[key] & ~3) : 4]
        hashes[key] = _hash_on(int(hashes[key]), rest)
    for size in (1, 2, 3):
        ends_so = np.flatnonzero(lengths & 3 == size)
        tails = _tails_at(data, starts[ends_so] + (lengths[ends_so] & ~3), size)
        hashes[ends_so] = (hashes[ends_so] ^ tails) * np.uint32(_M)
    hashes ^= hashes >> np.uint32(13)
    hashes *= np.uint32(_M)
    hashes ^= hashes >> np.uint32(15)
    in_row_order: _Words = np.empty_like(hashes)
    in_row_order[order] = hashes
    return in_row_order


def _words_everywhere(data: npt.NDArray[np.uint8]) -> _Words:
    """A view of the bytes with the little-endian word that begins at each of them."""
    words: _Words = np.ndarray((max(len(data) - 3, 0),), "<u4", data, strides=(1,))
    return words


def _tails_at(data: npt.NDArray[np.uint8], positions: _Indices, size: int) -> _Words:
    """The little-endian number of `size` bytes at each position."""
    numbers = data[positions].astype(np.uint32)
    for byte in range(1, size):
        numbers |= data[positions + byte].astype(np.uint32) << np.uint32(8 * byte)
    return numbers


def _mix(words: _Words) -> _Words:
    spread = words * np.uint32(_M)
    mixed: _Words = (spread ^ spread >> np.uint32(24)) * np.uint32(_M)
    return mixed


def _hash_on(h: int, words: _Words) -> int:
    """Take the rest of one key's whole words into its hash; each step needs the one before."""
    for k in _mix(words).tolist():
        h = h * _M & _U32 ^ k
    return h
