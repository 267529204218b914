from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as kafka_pythons_murmur2

from kafka_spark_source.partitioner import NO_KEY, murmur2, partition_for_keys, sticky_partition

KEY_TYPES = [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()]

keys_or_nulls = st.lists(st.none() | st.binary(max_size=40), max_size=200)


def expected_partitions(keys: list[bytes | None], num_partitions: int) -> list[int]:
    return [NO_KEY if key is None else (murmur2(key) & 0x7FFFFFFF) % num_partitions for key in keys]


@pytest.mark.parametrize(
    ("data", "expected"),
    [  # from the Java client's own tests, UtilsTest.testMurmur2
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_of_known_keys(data: bytes, expected: int) -> None:
    assert murmur2(data) == expected


@given(st.binary(max_size=200))
def test_murmur2_is_kafka_pythons(data: bytes) -> None:
    assert murmur2(data) & 0xFFFFFFFF == kafka_pythons_murmur2(data)


def test_the_empty_key_goes_to_partition_2_of_7() -> None:
    assert partition_for_keys(pa.array([b""]), 7).tolist() == [2]


@given(keys_or_nulls, st.integers(1, 2**31 - 1))
def test_a_column_is_hashed_as_its_keys_are(keys: list[bytes | None], num_partitions: int) -> None:
    partitions = partition_for_keys(pa.array(keys, pa.binary()), num_partitions)
    assert partitions.dtype == np.int32
    assert partitions.tolist() == expected_partitions(keys, num_partitions)


@given(keys_or_nulls, st.data())
def test_a_slice_is_hashed_as_its_keys_are(keys: list[bytes | None], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(keys)))
    length = data.draw(st.integers(0, len(keys) - start))
    part = pa.array(keys, pa.binary()).slice(start, length)
    expected = expected_partitions(keys[start : start + length], 1000)
    assert partition_for_keys(part, 1000).tolist() == expected


@pytest.mark.parametrize("count", [1, 63, 64, 65, 300])
@pytest.mark.parametrize("longest", [0, 3, 4, 7, 1_000])
def test_columns_of_few_and_many_and_long_keys(count: int, longest: int) -> None:
    """With few keys of a length, and with many, the hash is computed in different ways."""
    random = np.random.default_rng(count)
    keys: list[bytes | None] = [
        random.bytes(int(random.integers(longest + 1))) for _ in range(count)
    ]
    keys += [random.bytes(100_003), None, b""]
    assert partition_for_keys(pa.array(keys), 12).tolist() == expected_partitions(keys, 12)


@pytest.mark.parametrize("key_type", KEY_TYPES, ids=str)
def test_text_is_hashed_as_utf8(key_type: pa.DataType) -> None:
    keys = ["", "k", None, "schl\u00fcssel", "\U0001f511" * 9]
    column = pa.array(keys, pa.string()).cast(key_type)
    encoded = [None if key is None else key.encode() for key in keys]
    assert partition_for_keys(column, 5).tolist() == expected_partitions(encoded, 5)


@pytest.mark.parametrize("key_type", KEY_TYPES, ids=str)
def test_columns_without_keys(key_type: pa.DataType) -> None:
    assert partition_for_keys(pa.array([], key_type), 3).tolist() == []
    assert partition_for_keys(pa.nulls(2, key_type), 3).tolist() == [NO_KEY, NO_KEY]


def test_what_lies_under_a_null_does_not_count() -> None:
    validity = pa.py_buffer(bytes([0b101]))
    offsets = pa.py_buffer(np.array([0, 1, 9, 10], dtype=np.int32))
    column = pa.Array.from_buffers(pa.binary(), 3, [validity, offsets, pa.py_buffer(b"a12345678b")])
    assert partition_for_keys(column, 9).tolist() == expected_partitions([b"a", None, b"b"], 9)


def test_other_columns_are_refused() -> None:
    with pytest.raises(TypeError, match="keys must be binary or string, not int64"):
        partition_for_keys(pa.array([1]), 3)


def test_rows_without_keys_get_any_partition_there_is() -> None:
    assert {sticky_partition(3) for _ in range(200)} == {0, 1, 2}
