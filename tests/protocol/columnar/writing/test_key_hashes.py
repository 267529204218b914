"""Hashes of keys: known values from the tests of other clients, and whole columns."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as kafka_pythons_murmur2

from kafka_protocol.columnar.writing.key_hashes import fnv1a, hash_keys, murmur2
from kafka_protocol.options.partitioners import KeyHash

KEY_TYPES = [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()]

READABLE: dict[KeyHash, Callable[[bytes], int]] = {
    KeyHash.MURMUR2: lambda key: murmur2(key) & 0x7FFFFFFF,
    KeyHash.CRC32: zlib.crc32,
    KeyHash.FNV1A: fnv1a,
}
each_hash = pytest.mark.parametrize("key_hash", KeyHash)
keys_or_nulls = st.lists(st.none() | st.binary(max_size=40), max_size=200)


def expected(keys: list[bytes | None], key_hash: KeyHash) -> list[int]:
    return [READABLE[key_hash](key or b"") for key in keys]


@given(st.binary(max_size=200))
def test_murmur2_equals_kafka_pythons(data: bytes) -> None:
    assert murmur2(data) & 0xFFFFFFFF == kafka_pythons_murmur2(data)


@each_hash
@given(keys=keys_or_nulls, data=st.data())
def test_hashes_of_a_slice(
    keys: list[bytes | None], data: st.DataObject, key_hash: KeyHash
) -> None:
    start = data.draw(st.integers(0, len(keys)))
    length = data.draw(st.integers(0, len(keys) - start))
    part = pa.array(keys, pa.binary()).slice(start, length)
    hashes = hash_keys(part, key_hash)
    assert hashes.dtype == np.uint32
    assert hashes.tolist() == expected(keys[start : start + length], key_hash)


@pytest.mark.many_inputs
@each_hash
@pytest.mark.parametrize("count", [1, 63, 64, 65, 300])
@pytest.mark.parametrize("longest", [0, 3, 4, 7, 1_000])
def test_columns_of_few_many_and_long_keys(count: int, longest: int, key_hash: KeyHash) -> None:
    """The code for few keys of a length is different from that for many."""
    random = np.random.default_rng(count)
    keys: list[bytes | None] = [
        random.bytes(int(random.integers(longest + 1))) for _ in range(count)
    ]
    keys += [random.bytes(20_003), None, b""]
    assert hash_keys(pa.array(keys), key_hash).tolist() == expected(keys, key_hash)


@each_hash
@pytest.mark.parametrize("key_type", KEY_TYPES, ids=str)
def test_text_is_hashed_as_utf8(key_type: pa.DataType, key_hash: KeyHash) -> None:
    keys = ["", "k", None, "schl\u00fcssel", "\U0001f511" * 9]
    column = pa.array(keys, pa.string()).cast(key_type)
    encoded = [None if key is None else key.encode() for key in keys]
    assert hash_keys(column, key_hash).tolist() == expected(encoded, key_hash)


@each_hash
@pytest.mark.parametrize("key_type", KEY_TYPES, ids=str)
def test_columns_without_keys(key_type: pa.DataType, key_hash: KeyHash) -> None:
    assert hash_keys(pa.array([], key_type), key_hash).tolist() == []
    assert hash_keys(pa.nulls(2, key_type), key_hash).tolist() == expected([None] * 2, key_hash)


@each_hash
def test_bytes_of_a_null_do_not_count(key_hash: KeyHash) -> None:
    validity = pa.py_buffer(bytes([0b101]))
    offsets = pa.py_buffer(np.array([0, 1, 9, 10], dtype=np.int32))
    column = pa.Array.from_buffers(pa.binary(), 3, [validity, offsets, pa.py_buffer(b"a12345678b")])
    assert hash_keys(column, key_hash).tolist() == expected([b"a", None, b"b"], key_hash)


def test_other_types_are_rejected() -> None:
    with pytest.raises(TypeError, match="keys must be binary or string, not int64"):
        hash_keys(pa.array([1]), KeyHash.MURMUR2)
