"""Rows to partitions, beside librdkafka itself and beside what is readable."""

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

from kafka_protocol.columnar.encode import RecordColumns, encode_batches
from kafka_protocol.columnar.key_hashes import fnv1a, murmur2
from kafka_protocol.columnar.partitioning import Rows, TaskPartitioner, Topic
from kafka_protocol.partitioners import PARTITIONERS
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


def a_task_s(name: str, batch_bytes: int = 1_000) -> TaskPartitioner:
    return TaskPartitioner(PARTITIONERS[name], batch_bytes)


def rows_of(keys: Sequence[Key], values: Sequence[Key] | None, *counts: int) -> Rows:
    """Rows that go to topics with so many partitions, one to each in turn."""
    return Rows(
        [Topic(f"t{index}", count) for index, count in enumerate(counts)],
        np.arange(len(keys), dtype=np.int32) % len(counts),
        pa.array(keys, pa.binary()),
        pa.array([b""] * len(keys) if values is None else values, pa.binary()),
    )


def chosen(partitioner: TaskPartitioner, keys: Sequence[Key], *counts: int) -> list[int]:
    partitions = partitioner.choose(rows_of(keys, None, *counts))
    assert partitions.dtype == np.int32
    return partitions.tolist()


def counts_for(name: str, key: Key) -> bool:
    """Whether a partitioner goes by a key."""
    if name.endswith("_random") or name == "default":
        return key is not None and (key != b"" or name != "consistent_random")
    return True


@pytest.fixture(scope="module")
def librdkafka() -> ctypes.CDLL:
    """The library that comes with confluent-kafka."""
    folder = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    found = [*folder.glob("librdkafka*")]
    if not found:
        pytest.skip("this build of confluent-kafka has its librdkafka elsewhere")
    return ctypes.CDLL(str(found[0]))


@pytest.mark.parametrize("name", LIBRDKAFKAS)
@given(keys=keys_or_nulls, count=partition_counts)
def test_keys_go_where_librdkafka_sends_them(
    librdkafka: ctypes.CDLL, name: str, keys: list[Key], count: int
) -> None:
    partition_of = librdkafka[f"rd_kafka_msg_partitioner_{name}"]
    partition_of.restype = ctypes.c_int32
    pointer = ctypes.c_void_p
    partition_of.argtypes = [
        pointer, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int32, pointer, pointer
    ]  # fmt: skip
    found = chosen(a_task_s(name), keys, count)
    for key, partition in zip(keys, found, strict=True):
        if counts_for(name, key):  # without a topic librdkafka cannot choose at random
            assert partition == partition_of(None, key, len(key or b""), count, None, None)


@pytest.mark.parametrize("name", BY_KEY)
@given(keys=keys_or_nulls, counts=st.lists(partition_counts, min_size=1, max_size=3))
def test_keys_of_several_topics(name: str, keys: list[Key], counts: list[int]) -> None:
    hash_of = HASHES[name.removesuffix("_random")]
    found = chosen(a_task_s(name), keys, *counts)
    for row, (key, partition) in enumerate(zip(keys, found, strict=True)):
        count = counts[row % len(counts)]
        assert 0 <= partition < count
        if counts_for(name, key):
            assert partition == hash_of(key or b"") % count


@pytest.mark.parametrize("name", ["sticky", "round_robin", "random"])
def test_some_take_no_notice_of_keys(name: str) -> None:
    assert set(chosen(a_task_s(name), [b"k"] * 400, 4)) == {0, 1, 2, 3}


@pytest.mark.parametrize("name", PARTITIONERS)
def test_no_rows(name: str) -> None:
    assert chosen(a_task_s(name), [], 3) == []


@pytest.mark.parametrize("name", PARTITIONERS)
def test_columns_without_any_key(name: str) -> None:
    keys: list[Key] = [None] * 300
    found = chosen(a_task_s(name), keys, 3)
    assert set(found) == ({0, 1, 2} if name not in HASHES or name == "default" else {found[0]})


@pytest.mark.parametrize("name", ["random", "murmur2_random", "consistent_random", "fnv1a_random"])
def test_rows_at_random(name: str) -> None:
    """Evenly, each row for itself, and not in every task alike."""
    found = chosen(a_task_s(name), [None] * 4_000, 4)
    assert all(800 < count < 1_200 for count in Counter(found).values())
    pairs = Counter(pairwise(found))
    assert len(pairs) == 16
    assert found != chosen(a_task_s(name), [None] * 4_000, 4)


def test_an_empty_key_is_one_but_to_consistent_random() -> None:
    for name, places in {"murmur2_random": 1, "fnv1a_random": 1, "consistent_random": 4}.items():
        assert len(set(chosen(a_task_s(name), [b""] * 400, 4))) == places


@given(lengths=st.lists(st.integers(0, 20)), count=partition_counts)
def test_round_robin_goes_on_from_batch_to_batch(lengths: list[int], count: int) -> None:
    partitioner = a_task_s("round_robin")
    found = [place for length in lengths for place in chosen(partitioner, [b"k"] * length, count)]
    first = found[0] if found else 0
    assert found == [(first + row) % count for row in range(sum(lengths))]


def test_round_robin_counts_for_each_topic_and_begins_anywhere() -> None:
    found = chosen(a_task_s("round_robin"), [None] * 12, 2, 3)
    assert sorted(found[::2]) == [0, 0, 0, 1, 1, 1]
    assert sorted(found[1::2]) == [0, 0, 1, 1, 2, 2]
    assert {chosen(a_task_s("round_robin"), [None], 3)[0] for _ in range(200)} == {0, 1, 2}


def turns(sizes: Sequence[int], batch_bytes: int) -> list[int]:
    """How often rows have moved on to another partition when each of them comes."""
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
def test_a_batch_s_worth_of_rows_stays_together(
    name: str, batches: list[list[int]], count: int, batch_bytes: int
) -> None:
    partitioner = a_task_s(name, batch_bytes)
    found = []
    for lengths in batches:
        values = [b"v" * length for length in lengths]
        rows = rows_of([None] * len(values), values, count)
        found += partitioner.choose(rows).tolist()
    every_turn = turns([length + 32 for lengths in batches for length in lengths], batch_bytes)
    order = [found[every_turn.index(turn)] for turn in range(len(set(every_turn)))]
    # Each partition has its turn before any has another, and then in the same order.
    assert len(set(order[:count])) == len(order[:count])
    assert found == [order[turn % count] for turn in every_turn]


def test_a_batch_is_filled_to_the_last_byte_by_the_next_rows() -> None:
    partitioner = a_task_s("sticky", 1_000)
    halves = rows_of([None], [b"v" * 468], 100)
    first, second, third = (partitioner.choose(halves)[0] for _ in range(3))
    assert first == second != third


@given(lengths=st.lists(st.none() | st.integers(0, 400), min_size=1), keyed=st.booleans())
def test_what_goes_to_one_partition_together_is_one_full_batch(
    lengths: list[int | None], keyed: bool
) -> None:
    values = [None if length is None else b"v" * length for length in lengths]
    keys = [b"key" if keyed else None] * len(values)
    found = a_task_s("sticky", 1_000).choose(rows_of(keys, values, 100)).tolist()
    start = 0
    for _, together in groupby(found):
        stop = start + len([*together])
        assert batches_of(keys[start:stop], values[start:stop]) == 1
        if stop < len(values):
            assert batches_of(keys[start : stop + 1], values[start : stop + 1]) == 2
        start = stop


def batches_of(keys: Sequence[Key], values: Sequence[Key]) -> int:
    """How many batches of 1,000 bytes the encoder makes."""
    columns = RecordColumns(
        pa.array(keys, pa.binary()), pa.array(values, pa.binary()), np.zeros(len(keys), np.int64)
    )
    return len([*encode_batches(columns, CompressionCodec.NONE, 1_000)])


def test_keyless_rows_among_others_and_of_several_topics() -> None:
    """Only rows without a key take part, and each topic is filled for itself."""
    keys: list[Key] = [None, b"k", None, b"k", None, b"k"] * 20
    values = [b"v" * 68] * 120  # 100 bytes as the encoder counts, and ten to a batch
    found = a_task_s("default").choose(rows_of(keys, values, 50, 60)).tolist()
    assert len(set(found[1::2])) == 1  # topic t1 has the keys
    keyless = found[0::2]
    assert [len([*together]) for _, together in groupby(keyless)] == [10] * 6


def test_tasks_begin_anywhere_and_walk_in_orders_of_their_own() -> None:
    keys: list[Key] = [None] * 5
    orders = {tuple(chosen(a_task_s("default", 1), keys, 5)) for _ in range(200)}
    assert {order[0] for order in orders} == {0, 1, 2, 3, 4}
    assert len(orders) > 50  # of 120
