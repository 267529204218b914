"""The partitions of rows, compared with librdkafka itself and with simple code."""

from __future__ import annotations

import ctypes
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from pathlib import Path

import confluent_kafka
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.writing.encode import RecordColumns, encode_batches
from kafka_protocol.columnar.writing.key_hashes import fnv1a, murmur2
from kafka_protocol.columnar.writing.partitioning import (
    RowsToPartition,
    TaskPartitioner,
    WrittenTopic,
)
from kafka_protocol.options.partitioners import PARTITIONERS
from kafka_protocol.records.compression import CompressionCodec

LIBRDKAFKAS = [*PARTITIONERS][4:]
HASHES: dict[str, Callable[[bytes], int]] = {
    "default": lambda key: murmur2(key) & 0x7FFFFFFF,
    "murmur2": lambda key: murmur2(key) & 0x7FFFFFFF,
    "consistent": zlib.crc32,
    "fnv1a": fnv1a,
}
BY_KEY = ["default", *LIBRDKAFKAS]

Key = bytes | None
keys_or_nulls = st.lists(st.none() | st.binary(max_size=20), min_size=1, max_size=100)
partition_counts = st.integers(1, 100)


def task_partitioner(name: str, batch_bytes: int = 1_000, seed: int = 1) -> TaskPartitioner:
    return TaskPartitioner(PARTITIONERS[name], batch_bytes, seed)


def rows_for(keys: Sequence[Key], values: Sequence[Key] | None, *counts: int) -> RowsToPartition:
    """Rows for topics with these numbers of partitions; each row is for the next topic."""
    return RowsToPartition(
        [WrittenTopic(f"t{index}", count) for index, count in enumerate(counts)],
        np.arange(len(keys), dtype=np.int32) % len(counts),
        pa.array(keys, pa.binary()),
        pa.array([b""] * len(keys) if values is None else values, pa.binary()),
    )


def chosen(partitioner: TaskPartitioner, keys: Sequence[Key], *counts: int) -> list[int]:
    partitions = partitioner.choose(rows_for(keys, None, *counts))
    assert partitions.dtype == np.int32
    numbers: list[int] = partitions.tolist()
    return numbers


def uses_key(name: str, key: Key) -> bool:
    """Whether a partitioner hashes a key."""
    if name.endswith("_random") or name == "default":
        return key is not None and (key != b"" or name != "consistent_random")
    return True


@pytest.fixture(scope="module")
def librdkafka() -> ctypes.CDLL:
    """The library that comes with confluent-kafka."""
    folder = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    found = [*folder.glob("librdkafka*")]
    if not found:
        pytest.skip("this build of confluent-kafka does not have librdkafka in this folder")
    return ctypes.CDLL(str(found[0]))


@pytest.mark.no_cover
@pytest.mark.parametrize("name", LIBRDKAFKAS)
@given(keys=keys_or_nulls, count=partition_counts)
def test_same_partition_as_librdkafka(
    librdkafka: ctypes.CDLL, name: str, keys: list[Key], count: int
) -> None:
    partition_of = librdkafka[f"rd_kafka_msg_partitioner_{name}"]
    partition_of.restype = ctypes.c_int32
    pointer = ctypes.c_void_p
    partition_of.argtypes = [
        pointer, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int32, pointer, pointer
    ]  # fmt: skip
    found = chosen(task_partitioner(name), keys, count)
    for key, partition in zip(keys, found, strict=True):
        if uses_key(name, key):  # without a topic, librdkafka cannot choose at random
            assert partition == partition_of(None, key, len(key or b""), count, None, None)


@pytest.mark.no_cover
@pytest.mark.many_inputs
@pytest.mark.parametrize("name", BY_KEY)
@given(keys=keys_or_nulls, counts=st.lists(partition_counts, min_size=1, max_size=3))
def test_keys_of_several_topics(name: str, keys: list[Key], counts: list[int]) -> None:
    hash_of = HASHES[name.removesuffix("_random")]
    found = chosen(task_partitioner(name), keys, *counts)
    for row, (key, partition) in enumerate(zip(keys, found, strict=True)):
        count = counts[row % len(counts)]
        assert 0 <= partition < count
        if uses_key(name, key):
            assert partition == hash_of(key or b"") % count


@pytest.mark.parametrize("name", ["sticky", "round_robin", "random"])
def test_partitioners_that_ignore_keys(name: str) -> None:
    assert set(chosen(task_partitioner(name), [b"k"] * 400, 4)) == {0, 1, 2, 3}


@pytest.mark.parametrize("name", PARTITIONERS)
def test_no_rows(name: str) -> None:
    assert chosen(task_partitioner(name), [], 3) == []


@pytest.mark.parametrize("name", PARTITIONERS)
def test_columns_without_any_key(name: str) -> None:
    keys: list[Key] = [None] * 300
    found = chosen(task_partitioner(name), keys, 3)
    assert set(found) == ({0, 1, 2} if name not in HASHES or name == "default" else {found[0]})


@pytest.mark.parametrize("name", ["random", "murmur2_random", "consistent_random", "fnv1a_random"])
def test_rows_at_random(name: str) -> None:
    """The distribution is even, and rows and tasks are independent."""
    found = chosen(task_partitioner(name), [None] * 4_000, 4)
    assert all(800 < count < 1_200 for count in Counter(found).values())
    pairs = Counter(pairwise(found))
    assert len(pairs) == 16
    assert found != chosen(task_partitioner(name, seed=2), [None] * 4_000, 4)


def test_only_consistent_random_ignores_empty_keys() -> None:
    for name, used in {"murmur2_random": 1, "fnv1a_random": 1, "consistent_random": 4}.items():
        assert len(set(chosen(task_partitioner(name), [b""] * 400, 4))) == used


@given(lengths=st.lists(st.integers(0, 20)), count=partition_counts)
def test_round_robin_continues_in_the_next_batch(lengths: list[int], count: int) -> None:
    partitioner = task_partitioner("round_robin")
    found = [number for length in lengths for number in chosen(partitioner, [b"k"] * length, count)]
    first = found[0] if found else 0
    assert found == [(first + row) % count for row in range(sum(lengths))]


def test_round_robin_by_topic_from_a_random_start() -> None:
    found = chosen(task_partitioner("round_robin"), [None] * 12, 2, 3)
    assert sorted(found[::2]) == [0, 0, 0, 1, 1, 1]
    assert sorted(found[1::2]) == [0, 0, 1, 1, 2, 2]
    starts = {
        chosen(task_partitioner("round_robin", seed=seed), [None], 3)[0] for seed in range(200)
    }
    assert starts == {0, 1, 2}


def turns(sizes: Sequence[int], batch_bytes: int) -> list[int]:
    """The number of changes to another partition before each row."""
    turn = filled = 0
    found = []
    for size in sizes:
        if filled and filled + size > batch_bytes:
            turn, filled = turn + 1, 0
        filled += size
        found.append(turn)
    return found


BATCHES_OF_VALUES = st.lists(st.lists(st.integers(0, 700), max_size=30), max_size=5)


@pytest.mark.parametrize("name", ["default", "sticky"])
@given(batches=BATCHES_OF_VALUES, count=st.integers(1, 7), batch_bytes=st.integers(1, 1_000))
def test_sticky_rows_of_one_batch_share_a_partition(
    name: str, batches: list[list[int]], count: int, batch_bytes: int
) -> None:
    partitioner = task_partitioner(name, batch_bytes)
    found = []
    for lengths in batches:
        values = [b"v" * length for length in lengths]
        rows = rows_for([None] * len(values), values, count)
        found += partitioner.choose(rows).tolist()
    every_turn = turns([length + 32 for lengths in batches for length in lengths], batch_bytes)
    order = [found[every_turn.index(turn)] for turn in range(len(set(every_turn)))]
    # All partitions are used once, and then again in the same order.
    assert len(set(order[:count])) == len(order[:count])
    assert found == [order[turn % count] for turn in every_turn]


def test_sticky_fills_a_batch_to_the_last_byte() -> None:
    partitioner = task_partitioner("sticky", 1_000)
    halves = rows_for([None], [b"v" * 468], 100)
    first, second, third = (partitioner.choose(halves)[0] for _ in range(3))
    assert first == second != third


@given(lengths=st.lists(st.none() | st.integers(0, 400), min_size=1), keyed=st.booleans())
def test_sticky_rows_of_one_partition_are_one_full_batch(
    lengths: list[int | None], keyed: bool
) -> None:
    values = [None if length is None else b"v" * length for length in lengths]
    keys = [b"key" if keyed else None] * len(values)
    found = task_partitioner("sticky", 1_000).choose(rows_for(keys, values, 100)).tolist()
    start = 0
    for _, together in groupby(found):
        stop = start + len([*together])
        assert batches_of(keys[start:stop], values[start:stop]) == 1
        if stop < len(values):
            assert batches_of(keys[start : stop + 1], values[start : stop + 1]) == 2
        start = stop


def batches_of(keys: Sequence[Key], values: Sequence[Key]) -> int:
    """The number of batches of at most 1,000 bytes that the encoder makes."""
    columns = RecordColumns(
        pa.array(keys, pa.binary()), pa.array(values, pa.binary()), np.zeros(len(keys), np.int64)
    )
    return len([*encode_batches(columns, CompressionCodec.NONE, 1_000)])


def test_sticky_with_keys_and_several_topics() -> None:
    """Rows with a key do not fill batches, and each topic has its own."""
    keys: list[Key] = [None, b"k", None, b"k", None, b"k"] * 20
    values = [b"v" * 68] * 120  # the encoder counts 100 bytes, so a batch has ten
    found = task_partitioner("default").choose(rows_for(keys, values, 50, 60)).tolist()
    assert len(set(found[1::2])) == 1  # topic t1 has the keys
    keyless = found[0::2]
    assert [len([*together]) for _, together in groupby(keyless)] == [10] * 6


def test_each_task_has_its_own_random_order() -> None:
    keys: list[Key] = [None] * 5
    orders = {tuple(chosen(task_partitioner("default", 1, seed), keys, 5)) for seed in range(200)}
    assert {order[0] for order in orders} == {0, 1, 2, 3, 4}
    assert len(orders) > 50  # of 120
