"""Where a new stream starts, with a fake cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.options.read import parse_stream_options
from kafka_spark_source.planning.positions import (
    FROM_EARLIEST,
    TO_LATEST,
    Ago,
    BeforeLatest,
    Committed,
    Everywhere,
    Position,
    SpecificOffsets,
    SpecificTimestamps,
    Timestamp,
)
from kafka_spark_source.reading.assignment import resolve
from kafka_spark_source.streaming.start import Start, check_pinnable, find_start
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import START_MS, batch_of

T0, T1, T2 = TOPIC = [TopicPartition("t", number) for number in range(3)]


@contextmanager
def three_logs() -> Iterator[tuple[FakeCluster, Cluster]]:
    """t-0 holds [2, 5), the last record a second later; t-1 holds [0, 1); t-2 is empty."""
    with FakeCluster(nodes=2) as cluster:
        cluster.add_topic("t", partitions=3)
        cluster.append(T0, b"a", b"b")
        cluster.append(T0, b"c", b"d")
        cluster.log(T0).append(batch_of(b"e", timestamp=START_MS + 1_000))
        cluster.log(T0).delete_before(2)
        cluster.append(T1, b"a")
        client = cluster.client()
        try:
            yield cluster, client
        finally:
            client.close()


def start_of(client: Cluster, **options: str) -> Start:
    given = {"kafka.bootstrap.servers": "b:1", "kafka.group.id": "g"} | options
    if not {"assign", "subscribePattern"} & given.keys():
        given["subscribe"] = "t"
    parsed = parse_stream_options(given)
    deadline = Deadline.after(5_000)
    return find_start(client, resolve(client, parsed.strategy, deadline), parsed, deadline)


def summary(start: Start) -> tuple[list[int], str, str]:
    """The offsets of the partitions, and the numbers of the moving and of the timed ones."""
    moving, timed = (
        "".join(str(tp.partition) for tp in sorted(partitions))
        for partitions in (start.moving, start.timed)
    )
    return [start.offsets[tp] for tp in TOPIC], moving, timed


@pytest.mark.parametrize(
    ("starting", "offsets", "moving"),
    [
        ("earliest", [2, 0, 0], ""),
        ("latest", [5, 1, 0], "012"),
        ('{"t":{"0":3,"1":0,"2":0}}', [3, 0, 0], ""),
        ('{"t":{"0":3,"1":-1,"2":-2}}', [3, 1, 0], "1"),
        ('{"t":"latest"}', [5, 1, 0], "012"),
        ("latest-2", [3, 0, 0], "012"),
        ("latest-100", [2, 0, 0], "012"),
        ("-10m", [5, 1, 0], "012"),
        ("-999999999d", [2, 0, 0], "012"),
        ('{"t":{"0":"latest-1","1":"-1s","2":-2}}', [4, 1, 0], "01"),
    ],
)
def test_offsets_that_may_differ_are_moving(starting: str, offsets: list[int], moving: str) -> None:
    with three_logs() as (_, client):
        assert summary(start_of(client, startingOffsets=starting)) == (offsets, moving, "")


@pytest.mark.parametrize(
    ("ms", "offsets", "moving", "timed"),
    [
        (0, [2, 0, 0], "2", "01"),
        (START_MS, [2, 0, 0], "2", "01"),
        (START_MS + 1, [4, 1, 0], "12", "0"),
        (START_MS + 1_001, [5, 1, 0], "012", ""),
    ],
)
def test_a_timestamp_without_a_record_is_moving(
    ms: int, offsets: list[int], moving: str, timed: str
) -> None:
    by_partition = f'{{"t":{{"0":{ms},"1":{ms},"2":{ms}}}}}'
    with three_logs() as (_, client):
        for option in (
            {"startingTimestamp": str(ms)},
            {"startingOffsetsByTimestamp": by_partition},
        ):
            start = start_of(client, startingOffsetsByTimestampStrategy="latest", **option)
            assert summary(start) == (offsets, moving, timed)
            assert start.refusal is None


def test_a_timestamp_without_a_record_refuses_a_new_query() -> None:
    """In a restarted query the records may have been deleted since."""
    with three_logs() as (_, client):
        start = start_of(client, startingTimestamp=str(START_MS))
        assert summary(start) == ([2, 0, 0], "2", "01")
        assert isinstance(start.refusal, KafkaConfigError)
        assert f"topic-partition t-2 and timestamp {START_MS}: all records" in str(start.refusal)


def test_ten_minutes_are_counted_back_from_now() -> None:
    with three_logs() as (cluster, client):
        for minutes in (11, 9, 0):
            cluster.log(T1).append(batch_of(b"x", timestamp=now_ms() - minutes * 60_000))
        assert start_of(client, startingOffsets="-10m").offsets[T1] == 2


# --- Groups --------------------------------------------------------------------------------------


def test_a_group_starts_at_its_offsets_or_at_the_beginning() -> None:
    with three_logs() as (cluster, client):
        cluster.commit("g", {T0: 4, T2: 0})
        assert summary(start_of(client, startingOffsets="group")) == ([4, 0, 0], "012", "")


def test_an_unknown_group_starts_at_the_beginning() -> None:
    with three_logs() as (_, client):
        assert summary(start_of(client, startingOffsets="group")) == ([2, 0, 0], "012", "")


def test_group_offsets_are_requested_only_where_needed() -> None:
    with three_logs() as (cluster, client):
        cluster.commit("g", {T0: 4, T1: 0})
        start = start_of(client, startingOffsets='{"t":{"0":"group","1":-1,"2":0}}')
        assert summary(start) == ([4, 1, 0], "01", "")
        start_of(client, startingOffsets="earliest")
        assert len(cluster.asked(OffsetFetchRequest)) == 1


# --- Which partitions ----------------------------------------------------------------------------


def test_partitions_that_do_not_exist_have_no_start() -> None:
    with three_logs() as (_, client):
        start = start_of(client, assign='{"t":[1,7]}', startingOffsets='{"t":{"1":0,"7":3}}')
        assert start == Start({T1: 0}, frozenset(), frozenset())


def test_a_pattern_without_topics_has_no_start() -> None:
    with three_logs() as (cluster, client):
        start = start_of(client, subscribePattern="none")
        assert start == Start({}, frozenset(), frozenset())
        assert cluster.asked(ListOffsetsRequest) == []


@pytest.mark.parametrize(
    ("options", "offsets", "condition"),
    [
        (
            {"startingOffsets": '{"t":{"0":3,"1":0}}'},
            {T0: 3, T1: 0},
            "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED",
        ),
        (
            {"startingOffsets": '{"t":{"0":3,"1":0,"2":0,"3":0}}'},
            {T0: 3, T1: 0, T2: 0},
            "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED",
        ),
        (
            {"startingOffsets": '{"t":"earliest","u":"earliest"}'},
            {T0: 2, T1: 0, T2: 0},
            "KAFKA_TOPIC_OFFSET_DOES_NOT_MATCH_ASSIGNED",
        ),
        (
            {"startingOffsetsByTimestamp": '{"t":{"1":7}}'},
            {T1: 0},
            "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED",
        ),
    ],
    ids=["missing partitions", "unknown partition", "unknown topic", "missing timestamps"],
)
def test_a_map_for_other_partitions_refuses_a_new_query(
    options: dict[str, str], offsets: dict[TopicPartition, int], condition: str
) -> None:
    """In a restarted query partitions may have been added since; the others start as before."""
    with three_logs() as (_, client):
        start = start_of(client, **options)
        assert start.offsets == offsets
        assert isinstance(start.refusal, KafkaConfigError)
        assert condition in str(start.refusal)


# --- The first micro-batch again -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "end", "kind", "before"),
    [
        pytest.param(3, 9, "exact", 3, id="an offset"),
        pytest.param(9, 5, "exact", 9, id="an offset after the end: planning reports it"),
        pytest.param(9, 5, "moving", 5, id="moved forward: pinned at the end"),
        pytest.param(5, 5, "moving", 5, id="not moved: pinned at the end"),
        pytest.param(3, 5, "moving", 5, id="moved back, as a group can: pinned at the end"),
        pytest.param(9, 5, "timed", 5, id="its record was deleted: at the end"),
        pytest.param(3, 9, "timed", 3, id="its record exists"),
    ],
)
def test_where_a_repeated_micro_batch_starts(offset: int, end: int, kind: str, before: int) -> None:
    moving, timed = (frozenset({T0} if kind == each else ()) for each in ("moving", "timed"))
    assert Start({T0: offset}, moving, timed).before({T0: end}) == {T0: before}


def test_added_partitions_are_left_to_the_next_micro_batch() -> None:
    start = Start({T0: 3, T1: 0, T2: 7}, moving=frozenset({T2}), timed=frozenset({T1}))
    assert start.before({T0: 5}) == {T0: 3}


# --- Where the first micro-batch may be the only one ---------------------------------------------


@pytest.mark.parametrize(
    "bound", [Ago(600_000), BeforeLatest(0), Committed()], ids=lambda bound: type(bound).__name__
)
def test_a_relative_start_needs_a_second_micro_batch(bound: Ago | BeforeLatest | Committed) -> None:
    for starting in (Everywhere(bound), SpecificOffsets({T0: 3, T1: bound})):
        with pytest.raises(KafkaConfigError, match=r"Trigger\.Once") as caught:
            check_pinnable(starting)
        assert "startingTimestamp" in str(caught.value)


@pytest.mark.parametrize(
    "starting",
    [
        FROM_EARLIEST,
        TO_LATEST,
        SpecificOffsets({T0: 3, "u": -1}),
        SpecificOffsets({}),
        Everywhere(Timestamp(0)),
        SpecificTimestamps({T0: Timestamp(0)}),
    ],
    ids=str,
)
def test_any_other_start_does_not(starting: Position) -> None:
    check_pinnable(starting)
