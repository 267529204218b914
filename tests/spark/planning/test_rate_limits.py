from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.rate_limits import (
    Offsets,
    RateLimits,
    within_bytes,
    within_offsets,
)
from tests.config_error import config_error

U0 = TopicPartition("u", 0)
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))

MAX_LONG = 2**63 - 1


# --- By offsets ----------------------------------------------------------------------------------


def test_each_partition_gives_the_same_fraction_of_its_rest() -> None:
    """The vector of `KafkaMicroBatchSourceSuite`: 8/1/1, then 9/1/0."""
    latest = {T0: 101, T1: 11, T2: 1}
    begin = {T0: 0, T1: 0, T2: 0}
    ends = []
    for _ in range(3):
        begin = within_offsets(begin, latest, 10)
        ends.append((*begin.values(),))
    assert ends == [(8, 1, 1), (17, 2, 1), (26, 3, 1)]


@pytest.mark.parametrize(
    ("begin", "latest", "limit", "ends"),
    [
        pytest.param({}, {}, 1, {}, id="no partitions"),
        pytest.param({T0: 7}, {T0: 7}, 1, {T0: 7}, id="nothing new"),
        pytest.param({T0: 0, T1: 5}, {T0: 3, T1: 7}, 6, {T0: 3, T1: 7}, id="less than the limit"),
        # 22 * (15 / 22) is 14.999999999999998.
        pytest.param({T0: 0, T1: 0}, {T0: 15, T1: 7}, 22, {T0: 14, T1: 7}, id="as Java rounds"),
        pytest.param({T0: 0, T1: 0}, {T0: 2, T1: 2}, 1, {T0: 1, T1: 1}, id="a few more"),
        pytest.param({T0: 9, T1: 0}, {T0: 4, T1: 8}, 2, {T0: 4, T1: 2}, id="a log cut back"),
        pytest.param({T0: 9}, {T0: 4}, 2, {T0: 4}, id="nothing but a log cut back"),
        pytest.param({T0: 5, T1: 7}, {T0: 105, T1: 7}, 10, {T0: 15, T1: 7}, id="one is read up"),
    ],
)
def test_an_offset_limit_is_divided_in_proportion(
    begin: Offsets, latest: Offsets, limit: int, ends: Offsets
) -> None:
    assert within_offsets(begin, latest, limit) == ends


@pytest.mark.parametrize(
    ("begin", "latest", "limit", "end"),
    [
        (0, MAX_LONG, MAX_LONG, MAX_LONG),
        (MAX_LONG - 3, MAX_LONG, MAX_LONG, MAX_LONG),
        (MAX_LONG - 3, MAX_LONG, 2, MAX_LONG - 1),
        (0, MAX_LONG, 1, 1),
    ],
)
def test_shares_fit_64_bits(begin: int, latest: int, limit: int, end: int) -> None:
    assert within_offsets({T0: begin}, {T0: latest}, limit) == {T0: end}


# A beginning and how much there is behind it; less than nothing where a log was cut back.
logs = st.tuples(st.integers(0, 10**12), st.integers(-50, 50) | st.integers(0, 10**12)).map(
    lambda log: (log[0], max(0, log[0] + log[1]))
)
many_logs = st.lists(logs, max_size=12)
limits = st.integers(1, 100) | st.integers(1, 10**13)


def named(held: list[tuple[int, int]]) -> tuple[Offsets, ...]:
    begin = {TopicPartition("t", number): log[0] for number, log in enumerate(held)}
    latest = {TopicPartition("t", number): log[1] for number, log in enumerate(held)}
    return begin, latest


@given(many_logs, limits)
def test_each_partition_gets_offsets_within_limit(held: list[tuple[int, int]], limit: int) -> None:
    begin, latest = named(held)
    ends = within_offsets(begin, latest, limit)
    assert ends.keys() == latest.keys()
    for tp, end in ends.items():
        if latest[tp] > begin[tp]:
            assert begin[tp] < end <= latest[tp]
        else:
            assert end == latest[tp]
    read = sum(max(0, end - begin[tp]) for tp, end in ends.items())
    assert read <= limit + len(ends)


# --- By bytes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "ends"),
    [
        (1_000, {T0: 50, T1: 5}),  # half of each
        (2_001, {T0: 100, T1: 10}),
        (10**9, {T0: 100, T1: 10}),
        (30, {T0: 1, T1: 1}),
    ],
)
def test_a_byte_limit_is_divided_in_proportion(limit: int, ends: Offsets) -> None:
    """A thousand bytes in each partition: many small records, or a few large ones."""
    sizes = {T0: 10.0, T1: 100.0}
    assert within_bytes({T0: 0, T1: 0}, {T0: 100, T1: 10}, sizes, limit) == ends


def test_a_record_larger_than_the_limit_is_read_alone() -> None:
    assert within_bytes({T0: 3}, {T0: 9}, {T0: 1e9}, 1) == {T0: 4}


def test_partitions_without_a_size_are_not_limited() -> None:
    assert within_bytes({T0: 3}, {T0: 9}, {T0: 0.0}, 1) == {T0: 9}


def test_only_partitions_with_new_records_need_a_size() -> None:
    ends = within_bytes({T0: 3, T1: 9, T2: 0}, {T0: 3, T1: 4, T2: 8}, {T2: 1.0}, 2)
    assert ends == {T0: 3, T1: 4, T2: 2}


@given(many_logs, st.lists(st.floats(0.0, 1e7), min_size=12, max_size=12), limits)
def test_the_byte_limit_allows_one_extra_record_per_partition(
    held: list[tuple[int, int]], sizes: list[float], limit: int
) -> None:
    begin, latest = named(held)
    bytes_per_offset = dict(zip(begin, sizes, strict=False))
    ends = within_bytes(begin, latest, bytes_per_offset, limit)
    assert ends.keys() == latest.keys()
    for tp, end in ends.items():
        if latest[tp] > begin[tp]:
            assert begin[tp] < end <= latest[tp], "some progress, and none beyond the end"
        else:
            assert end == latest[tp]
    read = sum(max(0, end - begin[tp]) * bytes_per_offset[tp] for tp, end in ends.items())
    one_of_each = sum(bytes_per_offset.values())
    assert read <= (limit + one_of_each) * (1 + 1e-9)


# --- Waiting -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "latest", "is_too_little"),
    [
        ({T0: 0}, {T0: 9}, True),
        ({T0: 0}, {T0: 10}, False),
        ({T0: 5, T1: 5}, {T0: 10, T1: 10}, False),
        ({T0: 5}, {T0: 10, T1: 5}, False),  # a new partition counts from 0
        ({}, {}, True),
    ],
)
def test_a_micro_batch_waits_for_a_number_of_offsets(
    start: Offsets, latest: Offsets, is_too_little: bool
) -> None:
    assert RateLimits(min_offsets=10).is_too_little(start, latest) is is_too_little
    assert not RateLimits().is_too_little(start, latest)


@pytest.mark.parametrize(
    ("begin", "latest", "small"),
    [
        ({T0: 5, T1: 5, U0: 0}, {T0: 9, T1: 10, U0: 10}, {"t"}),
        ({T0: 5, T1: 5, U0: 0}, {T0: 10, T1: 10, U0: 9}, {"u"}),
        ({T0: 5, U0: 3}, {T0: 5, U0: 4}, {"t", "u"}),
        ({T0: 5, T1: 5, U0: 3}, {T0: 4, T1: 6, U0: 2}, set()),  # shorter logs are losses
        ({}, {}, set()),
    ],
)
def test_each_topic_waits_for_a_number_of_offsets(
    begin: Offsets, latest: Offsets, small: set[str]
) -> None:
    assert RateLimits(min_offsets_per_topic=10).small_topics(begin, latest) == small
    assert RateLimits(min_offsets=10).small_topics(begin, latest) == set()


def test_waiting_for_more_than_a_micro_batch_may_hold_is_refused() -> None:
    assert config_error(RateLimits(min_offsets=20, max_offsets=15).check) == (
        "The value of minOffsetPerTrigger(20) is higher than the maxOffsetsPerTrigger(15): lower "
        "minOffsetsPerTrigger."
    )


@pytest.mark.parametrize(
    "limits",
    [
        RateLimits(),
        RateLimits(max_offsets=15, min_offsets=15),
        RateLimits(min_offsets=20),
        RateLimits(max_bytes=1),
    ],
    ids=["none", "equal", "minimum", "bytes"],
)
def test_other_limits_pass(limits: RateLimits) -> None:
    limits.check()
