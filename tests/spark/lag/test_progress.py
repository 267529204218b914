"""Lag from the texts of progress reports: the arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.lag.progress import PartitionLag, lag_between, parse_offsets, worst_of

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
LONG = 2**63 - 1

topic_partitions = st.builds(TopicPartition, st.text(max_size=5), st.integers(0, 2**31 - 1))
offset_maps = st.dictionaries(topic_partitions, st.integers(0, LONG), max_size=8)


def test_offsets_of_spark_s_own_connector_are_read() -> None:
    text = '{"t":{"1":9,"0":4},"u":{"0":0}}'
    assert parse_offsets(text) == {T0: 4, T1: 9, U0: 0}


@pytest.mark.parametrize(
    "text",
    [
        *("None", "null", "", "5", '{"logOffset":3}', '{"t":{"0":-1}}', '{"t":{"0":1}'),
        '{"t":{"0":' + "9" * 5_000 + "}}",
        "[" * 100_000,
        '{"t":' * 100_000,
    ],
    ids=lambda text: text[:30],
)
def test_other_texts_are_not_offsets(text: str) -> None:
    assert parse_offsets(text) is None


@given(st.text())
def test_no_text_raises(text: str) -> None:
    for each in (text, "{" + text, '{"t":{"0":' + text):
        parse_offsets(each)


def test_a_partition_without_consumed_offset_counts_from_0() -> None:
    assert lag_between({T0: 4}, {T0: 9, T1: 3}) == [
        PartitionLag("t", 0, 4, 9),
        PartitionLag("t", 1, 0, 3),
    ]


def test_a_partition_without_a_latest_offset_has_no_lag() -> None:
    assert lag_between({T0: 4, T1: 3}, {T0: 4}) == [PartitionLag("t", 0, 4, 4)]


@pytest.mark.parametrize(
    ("consumed", "latest", "records"), [(4, 9, 5), (9, 9, 0), (9, 4, 0), (0, LONG, LONG)]
)
def test_lag_in_records(consumed: int, latest: int, records: int) -> None:
    assert PartitionLag("t", 0, consumed, latest).records == records


@given(offset_maps, offset_maps)
def test_lag_holds_for_all_offsets(
    consumed: dict[TopicPartition, int], latest: dict[TopicPartition, int]
) -> None:
    lags = lag_between(consumed, latest)
    assert [TopicPartition(lag.topic, lag.partition) for lag in lags] == sorted(latest)
    for lag in lags:
        start = consumed.get(TopicPartition(lag.topic, lag.partition), 0)
        assert lag.records >= 0
        assert lag.records == lag.latest_offset - start or start > lag.latest_offset
    assert worst_of(lags) == tuple(lags)


@given(st.lists(offset_maps, max_size=3), offset_maps)
def test_the_slower_of_two_reads_of_a_partition_counts(
    reads: list[dict[TopicPartition, int]], latest: dict[TopicPartition, int]
) -> None:
    worst = worst_of(lag for consumed in reads for lag in lag_between(consumed, latest))
    assert [TopicPartition(lag.topic, lag.partition) for lag in worst] == (
        sorted(latest) if reads else []
    )
    for lag in worst:
        key = TopicPartition(lag.topic, lag.partition)
        slowest = min(consumed.get(key, 0) for consumed in reads)
        assert lag.records == max(0, latest[key] - slowest)
