"""One query's micro-batches on the driver, with fake brokers."""

from __future__ import annotations

import pytest

from kafka_protocol.errors import DataLossError, KafkaConfigError, KafkaError
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import START_MS, batch_of
from tests.fakes.micro_batches import (
    EARLIEST,
    T0,
    T1,
    TOLERANT,
    U0,
    Query,
    Ranges,
    append,
    first_end,
    next_end,
    planned,
    run,
    run_first,
    running,
)

# --- The first micro-batch -----------------------------------------------------------------------

# Options, the ranges of the first micro-batch, and those of the second.
ALL: Ranges = [(T0, 0, 5), (T1, 0, 2)]
STARTS = [
    pytest.param({"startingOffsets": "earliest"}, ALL, [], id="earliest"),
    pytest.param({"startingOffsets": '{"t":{"0":3,"1":2}}'}, [(T0, 3, 5)], [], id="offsets"),
    pytest.param({}, [], [], id="latest"),
    pytest.param({"startingOffsets": '{"t":{"0":-1,"1":-2}}'}, [(T1, 0, 2)], [], id="some latest"),
    pytest.param({"startingOffsets": "latest-1"}, [], [(T0, 4, 5), (T1, 1, 2)], id="relative"),
    pytest.param({"startingOffsets": "-999999999d"}, [], ALL, id="ago"),
    pytest.param({"startingOffsets": "group"}, [], [(T0, 4, 5), (T1, 0, 2)], id="group"),
    pytest.param({"startingTimestamp": str(START_MS)}, [], ALL, id="timestamp"),
    pytest.param(
        {"startingTimestamp": str(START_MS + 1), "startingOffsetsByTimestampStrategy": "latest"},
        [],
        [],
        id="timestamp without a match",
    ),
]


@pytest.mark.parametrize(("options", "first", "second"), STARTS)
def test_a_moving_start_is_pinned_by_the_first_micro_batch(
    cluster: FakeCluster, query: Query, options: dict[str, str], first: Ranges, second: Ranges
) -> None:
    cluster.commit("g", {T0: 4})
    batches = query(**options)
    start = batches.start()
    end, ranges = run_first(batches)
    assert ranges == first
    unread = start.keys() - {tp for tp, _, _ in first}
    assert {tp: end[tp] for tp in unread} == {tp: start[tp] for tp in unread}
    assert run(batches, end) == ({T0: 5, T1: 2}, second)


@pytest.mark.parametrize(("options", "first", "second"), STARTS)
def test_the_first_micro_batch_reads_the_same_when_run_again(
    cluster: FakeCluster, query: Query, options: dict[str, str], first: Ranges, second: Ranges
) -> None:
    """After a crash the start is looked up again, and records were added in between."""
    cluster.commit("g", {T0: 4})
    end = first_end(query(**options))
    cluster.commit("g", {T0: 5, T1: 2})
    append(cluster, T0, 3)
    cluster.log(T1).append(batch_of(b"young", timestamp=START_MS + 60_000))
    again = query(**options)
    assert planned(again, again.start(), end) == first
    rest = [*second, (T0, 5, 8), (T1, 2, 3)]
    latest, ranges = run(again, end)
    assert latest == {T0: 8, T1: 3}
    assert offsets_in(ranges) == offsets_in(rest)


def offsets_in(ranges: Ranges) -> list[tuple[TopicPartition, int]]:
    return sorted((tp, offset) for tp, start, until in ranges for offset in range(start, until))


@pytest.mark.parametrize(
    "options",
    [{}, EARLIEST, {"startingOffsets": "latest-1"}],
    ids=["latest", "earliest", "relative"],
)
def test_a_partition_added_between_start_and_first_end_is_read(
    cluster: FakeCluster, query: Query, options: dict[str, str]
) -> None:
    """It is added after the start was looked up and before the end was."""
    batches = query(**options)
    batches.start()
    cluster.add_topic("u")
    append(cluster, U0, 3)
    end = first_end(batches)
    again = query(**options)
    ranges = planned(again, again.start(), end) + run(again, end)[1]
    assert [offset for tp, offset in offsets_in(ranges) if tp == U0] == [0, 1, 2]


@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsets": '{"t":{"0":1,"1":2}}'},
        {"startingOffsetsByTimestamp": f'{{"t":{{"0":{START_MS},"1":{START_MS}}}}}'},
    ],
    ids=lambda options: next(iter(options)),
)
def test_the_first_micro_batch_runs_again_with_added_partitions(
    cluster: FakeCluster, query: Query, options: dict[str, str]
) -> None:
    end, ranges = run_first(query(**options))
    cluster.add_partitions("t", 3)
    again = query(**options)
    assert planned(again, again.start(), end) == ranges


@pytest.mark.usefixtures("short_metadata_grace")
@pytest.mark.parametrize(
    ("options", "reason", "ranges"),
    [
        ({"subscribe": "t,nowhere"}, "Cannot read topic 'nowhere' of the option 'subscribe'", []),
        (
            {"startingOffsets": '{"t":{"0":1,"1":1,"2":1}}'},
            "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED",
            [(T0, 1, 5), (T1, 1, 2)],
        ),
        ({"startingTimestamp": str(START_MS + 1)}, "No offset matched from request", []),
    ],
    ids=["unknown topic", "unknown partition", "no such timestamp"],
)
def test_a_refused_start_is_an_error_for_new_queries_only(
    query: Query, options: dict[str, str], reason: str, ranges: Ranges
) -> None:
    """Spark also requests the start of an old query whose first micro-batch runs again."""
    new, old = query(**options), query(**options)
    start = new.start()
    with pytest.raises(KafkaError, match=reason):
        first_end(new)
    old.start()
    assert planned(old, start, {T0: 5, T1: 2}) == ranges
    assert next_end(old, {T0: 5, T1: 2}) == {T0: 5, T1: 2}


def test_a_first_micro_batch_with_a_lost_commit_is_not_repeated(
    cluster: FakeCluster, query: Query
) -> None:
    """Spark requests the start then, too, and continues after the first micro-batch."""
    batches = query(commitOffsetsToGroup="true")
    batches.start()
    append(cluster, T0, 1)
    assert run(batches, {T0: 4, T1: 2}) == ({T0: 6, T1: 2}, [(T0, 4, 6)])
    assert cluster.committed == {"g": {T0: 4, T1: 2}}


def test_a_start_is_looked_up_once(cluster: FakeCluster, query: Query) -> None:
    batches = query()
    start = batches.start()
    append(cluster, T0, 1)
    assert batches.start() is start


@pytest.mark.parametrize(
    ("options", "ranges"),
    [(EARLIEST, ALL), ({}, []), ({"startingTimestamp": str(START_MS)}, ALL)],
    ids=["earliest", "latest", "timestamp"],
)
def test_a_single_batch_run_reads_unless_the_start_is_latest(
    cluster: FakeCluster, query: Query, options: dict[str, str], ranges: Ranges
) -> None:
    batches = query(**options)
    end, first = run_first(batches, once=True)
    assert first == ranges
    append(cluster, T0, 1)
    again = query(**options)
    assert planned(again, again.start(), end) == ranges


@pytest.mark.parametrize("starting", ["-10m", "latest-1", "group", '{"t":{"0":0,"1":"group"}}'])
def test_a_relative_start_is_refused_in_a_single_batch_run(query: Query, starting: str) -> None:
    batches = query(startingOffsets=starting)
    with pytest.raises(KafkaConfigError, match=r"Trigger\.Once"):
        first_end(batches, once=True)


def test_a_relative_start_is_ignored_by_a_restarted_query(query: Query) -> None:
    batches = query(startingOffsets="-10m")
    assert next_end(batches, {T0: 4, T1: 2}, once=True) == {T0: 5, T1: 2}


def test_a_start_beyond_the_end(query: Query, caplog: pytest.LogCaptureFixture) -> None:
    beyond = {"startingOffsets": '{"t":{"0":70,"1":2}}'}
    strict, tolerant = query(**beyond), query(**beyond, **TOLERANT)
    with pytest.raises(DataLossError, match=r"t-0 offset was changed from 70 to 5\."):
        first_end(strict)
    assert run_first(tolerant) == ({T0: 5, T1: 2}, [])
    assert "t-0 offset was changed from 70 to 5." in caplog.text


def test_assigned_partitions_that_do_not_exist(
    cluster: FakeCluster, query: Query, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.add_topic("t")
    append(cluster, T0, 5)
    assigned = {"assign": '{"t":[0,1]}', **EARLIEST}
    with pytest.raises(KafkaConfigError, match="Partition t-1 does not exist"):
        running(query(**assigned))
    assert running(query(**assigned, **TOLERANT)) == {T0: 5}
    assert "Partition t-1 does not exist. The read continues without them" in caplog.text


# --- Later micro-batches -------------------------------------------------------------------------


def test_a_micro_batch_starts_where_the_last_ended(cluster: FakeCluster, query: Query) -> None:
    batches = query(**EARLIEST)
    end = running(batches)
    assert run(batches, end) == (end, [])
    append(cluster, T1, 2)
    assert run(batches, end) == ({T0: 5, T1: 4}, [(T1, 2, 4)])
    assert batches.latest is not None
    assert batches.latest.ends == {T0: 5, T1: 4}


def test_a_later_micro_batch_reads_the_same_again(cluster: FakeCluster, query: Query) -> None:
    again = query()
    assert planned(again, {T0: 1, T1: 0}, {T0: 3, T1: 0}) == [(T0, 1, 3)]
    assert run(again, {T0: 3, T1: 0}) == ({T0: 5, T1: 2}, [(T0, 3, 5), (T1, 0, 2)])


def test_ranges_are_split_and_carry_the_topic_id(cluster: FakeCluster, query: Query) -> None:
    topic_id = cluster.topics["t"].topic_id
    for options, expected in (
        ({}, [[topic_id] * 2]),
        ({"coalescePartitions": "false"}, [[topic_id]] * 2),
        ({"minPartitions": "4"}, [[topic_id]] * 4),
        ({"maxRecordsPerPartition": "1"}, [[topic_id]] * 7),
    ):
        tasks = query(**options).plan({T0: 0, T1: 0}, {T0: 5, T1: 2})
        assert [[each.topic_id for each in task] for task in tasks] == expected


def test_a_new_partition_is_read_from_its_beginning(cluster: FakeCluster, query: Query) -> None:
    batches = query()
    end = running(batches)
    cluster.add_topic("u", partitions=2)
    append(cluster, U0, 3)
    end, ranges = run(batches, end)
    assert end == {T0: 5, T1: 2, U0: 3, TopicPartition("u", 1): 0}
    assert ranges == [(U0, 0, 3)]
    again = query()
    assert planned(again, {T0: 5, T1: 2}, end) == [(U0, 0, 3)]


def test_a_query_may_start_before_its_first_topic(cluster: FakeCluster, query: Query) -> None:
    batches = query(subscribePattern="^u")
    assert batches.start() == {}
    assert run_first(batches) == ({}, [])
    cluster.add_topic("u")
    append(cluster, U0, 3)
    assert run(batches, {}) == ({U0: 3}, [(U0, 0, 3)])


def test_available_now_without_partitions_reads_no_topic_that_comes_later(
    cluster: FakeCluster, query: Query
) -> None:
    batches = query(subscribePattern="^u")
    batches.stop_at_available_now()
    assert run_first(batches) == ({}, [])
    cluster.add_topic("u")
    append(cluster, U0, 3)
    assert run(batches, {}) == ({}, [])
    assert run(query(subscribePattern="^u"), {}) == ({U0: 3}, [(U0, 0, 3)])


# --- Commits to a group --------------------------------------------------------------------------


def test_finished_offsets_are_committed_by_the_next_micro_batch(
    cluster: FakeCluster, query: Query
) -> None:
    batches = query(commitOffsetsToGroup="true", **EARLIEST)
    end = running(batches)
    assert cluster.committed == {}, "nothing was processed yet"
    append(cluster, T0, 1)
    run(batches, end)
    assert cluster.committed == {"g": {T0: 5, T1: 2}}
    batches.processed({T0: 6, T1: 2})
    assert cluster.committed == {"g": {T0: 6, T1: 2}}


def test_a_micro_batch_that_runs_again_is_not_committed_yet(
    cluster: FakeCluster, query: Query
) -> None:
    again = query(commitOffsetsToGroup="true", **EARLIEST)
    planned(again, again.start(), {T0: 5, T1: 2})
    assert cluster.committed == {}
    next_end(again, {T0: 5, T1: 2})
    assert cluster.committed == {"g": {T0: 5, T1: 2}}


def test_nothing_is_committed_without_commit_offsets_to_group(
    cluster: FakeCluster, query: Query
) -> None:
    for options in ({}, {"startingOffsets": "group"}):
        batches = query(**options)
        run(batches, running(batches))
        batches.processed({T0: 5})
    assert cluster.committed == {}
