"""Hashes of keys, as other producers compute them: murmur2, CRC-32 and FNV-1a.

Each has two forms: a simple one for one key (`murmur2`, `fnv1a` and `zlib.crc32`), and one for a
whole Arrow column (`hash_keys`); a test compares them. No partitions here. Sources:
`Utils.murmur2` of Kafka's Java client; `rdcrc32.c` and `rdfnv1a.c` of librdkafka. Sarama's default
partitioner has the same FNV-1a.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_protocol.columnar.arrays.grouping import stable_order
from kafka_protocol.columnar.arrays.slices import lengths, offsets_of
from kafka_protocol.columnar.reading.rows import at_each_byte
from kafka_protocol.options.partitioners import KeyHash

Hashes: TypeAlias = npt.NDArray[np.uint32]
_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Longs: TypeAlias = npt.NDArray[np.int64]

_U32: Final = 0xFFFFFFFF
_POSITIVE: Final = 0x7FFFFFFF  # Java's Utils.toPositive: clears the sign, keeps the rest

_MURMUR2_SEED: Final = 0x9747B28C
_MURMUR2_M: Final = 0x5BD1E995
_FNV1A_OFFSET: Final = 0x811C9DC5
_FNV1A_PRIME: Final = 0x01000193

# Fewer keys than this are hashed one by one: one numpy step for all of them costs about as much
# as that many steps of a Python loop (measured with murmur2 and keys of 40 kB).
_FEW_KEYS: Final = 64

_KEY_TYPES: Final = (pa.binary(), pa.string(), pa.large_binary(), pa.large_string())


def murmur2(data: bytes) -> int:
    """Hash bytes as Java's `Utils.murmur2` does; the result is signed, as Java's int is."""
    h = _MURMUR2_SEED ^ len(data)
    whole = len(data) & ~3
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * _MURMUR2_M & _U32
        k = (k ^ k >> 24) * _MURMUR2_M & _U32
        h = h * _MURMUR2_M & _U32 ^ k
    if tail := data[whole:]:
        h = (h ^ int.from_bytes(tail, "little")) * _MURMUR2_M & _U32
    h = (h ^ h >> 13) * _MURMUR2_M & _U32
    return _signed(h ^ h >> 15)


def fnv1a(data: bytes) -> int:
    """Hash bytes as librdkafka's `rd_fnv1a` does: FNV-1a as a signed number, without its sign."""
    return abs(_signed(_fnv1a_on(_FNV1A_OFFSET, data)))


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def hash_keys(keys: pa.Array, key_hash: KeyHash) -> Hashes:
    """The hash of each key by `key_hash`, never negative; a null has the hash of the empty key.

    Keys are binary or string, of 32 or 64 bit offsets, possibly a slice.

    Raises:
        TypeError: The keys are of another type.
    """
    if keys.type not in _KEY_TYPES:
        raise TypeError(f"keys must be binary or string, not {keys.type}")
    if not len(keys):
        return np.empty(0, dtype=np.uint32)
    starts = offsets_of(keys)[:-1].astype(np.int64)
    data = np.frombuffer(keys.buffers()[2] or b"", dtype=np.uint8)
    # A null may have bytes.
    return _hash_column(_STEPS[key_hash], data, starts, np.maximum(lengths(keys), 0))


class _Steps(NamedTuple):
    """The functions of a hash that reads keys by little-endian words of four bytes."""

    begin: Callable[[_Longs], Hashes]  # lengths of keys -> their states before the first word
    word: Callable[[Hashes, Hashes], Hashes]  # states, the next word of each -> states
    words: Callable[[int, Hashes], int]  # one key's state, its next words -> its state
    # States, the last one to three bytes of each as a number, their count -> states.
    tail: Callable[[Hashes, Hashes, int], Hashes]
    end: Callable[[Hashes], Hashes]  # states -> hashes


def _hash_column(steps: _Steps, data: _Bytes, starts: _Longs, lengths: _Longs) -> Hashes:
    """Hash many keys together: the first word of each key, then the second, and so on.

    Keys are sorted by length, longest first, so the keys with a further word are always a prefix.
    """
    order = stable_order(lengths.max() - lengths)
    starts, lengths = starts[order], lengths[order]
    minus_word_counts = -(lengths >> 2)  # negative, because searchsorted needs ascending values
    words: Hashes = at_each_byte(data, "<u4")
    states = steps.begin(lengths)
    word = 0
    while (count := int(np.searchsorted(minus_word_counts, -word))) >= _FEW_KEYS:
        states[:count] = steps.word(states[:count], words[starts[:count] + 4 * word])
        word += 1
    for key in range(count):
        rest = words[starts[key] + 4 * word : starts[key] + (lengths[key] & ~3) : 4]
        states[key] = steps.words(int(states[key]), rest)
    for size in (1, 2, 3):
        rows = np.flatnonzero(lengths & 3 == size)
        tails = _tails_at(data, starts[rows] + (lengths[rows] & ~3), size)
        states[rows] = steps.tail(states[rows], tails, size)
    in_row_order: Hashes = np.empty_like(states)
    in_row_order[order] = steps.end(states)
    return in_row_order


def _tails_at(data: _Bytes, positions: _Longs, size: int) -> Hashes:
    """The little-endian number of `size` bytes at each position."""
    numbers = data[positions].astype(np.uint32)
    for byte in range(1, size):
        numbers |= data[positions + byte].astype(np.uint32) << np.uint32(8 * byte)
    return numbers


def _bytes_of(words: Hashes, size: int) -> list[Hashes]:
    """The first byte of each word, the second byte of each word, and so on."""
    return [words >> np.uint32(8 * byte) & np.uint32(0xFF) for byte in range(size)]


def _murmur2_mix(words: Hashes) -> Hashes:
    spread = words * np.uint32(_MURMUR2_M)
    mixed: Hashes = (spread ^ spread >> np.uint32(24)) * np.uint32(_MURMUR2_M)
    return mixed


def _murmur2_on(h: int, words: Hashes) -> int:
    for k in _murmur2_mix(words).tolist():  # each step needs the one before
        h = h * _MURMUR2_M & _U32 ^ k
    return h


def _murmur2_end(states: Hashes) -> Hashes:
    states = (states ^ states >> np.uint32(13)) * np.uint32(_MURMUR2_M)
    states = (states ^ states >> np.uint32(15)) & np.uint32(_POSITIVE)
    return states


def _crc32_tables() -> npt.NDArray[np.uint32]:
    """The change of a CRC-32 by each byte of a word, by its index in the word and its value."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0xEDB88320), table >> 1)
    tables = [table]
    for _ in range(3):
        tables.append(tables[-1] >> np.uint32(8) ^ table[tables[-1] & np.uint32(0xFF)])
    return np.array(tables[::-1])


_CRC32_TABLES: Final = _crc32_tables()


def _crc32_word(states: Hashes, words: Hashes) -> Hashes:
    first, second, third, fourth = _bytes_of(states ^ words, 4)
    tables = _CRC32_TABLES
    crcs: Hashes = tables[0][first] ^ tables[1][second] ^ tables[2][third] ^ tables[3][fourth]
    return crcs


def _crc32_tail(states: Hashes, tails: Hashes, size: int) -> Hashes:
    for byte in _bytes_of(tails, size):
        states = _CRC32_TABLES[3][(states ^ byte) & np.uint32(0xFF)] ^ states >> np.uint32(8)
    return states


def _fnv1a_on(h: int, data: bytes) -> int:
    for byte in data:
        h = (h ^ byte) * _FNV1A_PRIME & _U32
    return h


def _fnv1a_tail(states: Hashes, tails: Hashes, size: int) -> Hashes:
    for byte in _bytes_of(tails, size):
        states = (states ^ byte) * np.uint32(_FNV1A_PRIME)
    return states


_STEPS: Final[Mapping[KeyHash, _Steps]] = {
    KeyHash.MURMUR2: _Steps(
        begin=lambda lengths: np.uint32(_MURMUR2_SEED) ^ lengths.astype(np.uint32),
        word=lambda states, words: states * np.uint32(_MURMUR2_M) ^ _murmur2_mix(words),
        words=_murmur2_on,
        tail=lambda states, tails, _size: (states ^ tails) * np.uint32(_MURMUR2_M),
        end=_murmur2_end,
    ),
    KeyHash.CRC32: _Steps(
        begin=lambda lengths: np.full(len(lengths), _U32, dtype=np.uint32),
        word=_crc32_word,
        words=lambda state, words: zlib.crc32(words.tobytes(), state ^ _U32) ^ _U32,
        tail=_crc32_tail,
        end=np.invert,
    ),
    KeyHash.FNV1A: _Steps(
        begin=lambda lengths: np.full(len(lengths), _FNV1A_OFFSET, dtype=np.uint32),
        word=lambda states, words: _fnv1a_tail(states, words, 4),
        words=lambda state, words: _fnv1a_on(state, words.tobytes()),
        tail=_fnv1a_tail,
        end=lambda states: np.abs(states.view(np.int32)).view(np.uint32),
    ),
}
