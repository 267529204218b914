"""One query's micro-batches on the driver, planned from what scripted brokers say."""

from __future__ import annotations

import pytest

from kafka_protocol.errors import (
    DataLossError,
    KafkaConfigError,
    KafkaError,
)
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes.cluster import Partition, ScriptedCluster
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

# Options; what the first micro-batch reads then, and what the second.
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
        {
            "startingTimestamp": str(START_MS + 1),
            "startingOffsetsByTimestampStrategy": "latest",
        },
        [],
        [],
        id="timestamp without a match",
    ),
]


@pytest.mark.parametrize(("options", "first", "second"), STARTS)
def test_a_start_that_cannot_be_found_again_is_pinned_by_a_first_micro_batch_without_it(
    cluster: ScriptedCluster, query: Query, options: dict[str, str], first: Ranges, second: Ranges
) -> None:
    cluster.committed["g"] = {T0: 4}
    batches = query(**options)
    start = batches.start()
    end, ranges = run_first(batches)
    assert ranges == first
    unread = start.keys() - {tp for tp, _, _ in first}
    assert {tp: end[tp] for tp in unread} == {tp: start[tp] for tp in unread}
    assert run(batches, end) == ({T0: 5, T1: 2}, second)


@pytest.mark.parametrize(("options", "first", "second"), STARTS)
def test_the_first_micro_batch_run_again_reads_the_same(
    cluster: ScriptedCluster, query: Query, options: dict[str, str], first: Ranges, second: Ranges
) -> None:
    """After a crash, when the start is looked up again, and records came in between."""
    cluster.committed["g"] = {T0: 4}
    end = first_end(query(**options))
    cluster.committed["g"] = {T0: 5, T1: 2}
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


@pytest.mark.parametrize("options", [{}, EARLIEST, {"startingOffsets": "latest-1"}])
def test_a_partition_that_comes_with_the_first_micro_batch_is_read_when_that_is_run_again(
    cluster: ScriptedCluster, query: Query, options: dict[str, str]
) -> None:
    """It came after the start was looked up, and before the end was."""
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
def test_the_first_micro_batch_is_run_again_though_its_start_does_not_name_what_came_since(
    cluster: ScriptedCluster, query: Query, options: dict[str, str]
) -> None:
    end, ranges = run_first(query(**options))
    cluster.topics["t"].partitions[2] = Partition(leader=1)
    again = query(**options)
    assert planned(again, again.start(), end) == ranges


@pytest.mark.usefixtures("soon_believed")
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
)
def test_what_refuses_a_start_is_told_to_new_queries_only(
    query: Query, options: dict[str, str], reason: str, ranges: Ranges
) -> None:
    """Spark asks for the start of an old one, too, whose first micro-batch runs again."""
    new, old = query(**options), query(**options)
    start = new.start()
    with pytest.raises(KafkaError, match=reason):
        first_end(new)
    old.start()
    assert planned(old, start, {T0: 5, T1: 2}) == ranges
    assert next_end(old, {T0: 5, T1: 2}) == {T0: 5, T1: 2}


def test_a_first_micro_batch_that_was_done_and_not_committed_is_not_made_again(
    cluster: ScriptedCluster, query: Query
) -> None:
    """Spark asks for the start then, too, and goes on behind it."""
    batches = query(commitOffsetsToGroup="true")
    batches.start()
    append(cluster, T0, 1)
    assert run(batches, {T0: 4, T1: 2}) == ({T0: 6, T1: 2}, [(T0, 4, 6)])
    assert cluster.committed == {"g": {T0: 4, T1: 2}}


def test_a_start_is_looked_up_once(cluster: ScriptedCluster, query: Query) -> None:
    batches = query()
    start = batches.start()
    append(cluster, T0, 1)
    assert batches.start() is start


@pytest.mark.parametrize(
    ("options", "ranges"),
    [
        (EARLIEST, ALL),
        ({}, []),
        ({"startingTimestamp": str(START_MS)}, ALL),
    ],
)
def test_a_first_micro_batch_that_may_be_the_only_one_reads_what_can_be_found_again(
    cluster: ScriptedCluster, query: Query, options: dict[str, str], ranges: Ranges
) -> None:
    batches = query(**options)
    end, first = run_first(batches, once=True)
    assert first == ranges
    append(cluster, T0, 1)
    again = query(**options)
    assert planned(again, again.start(), end) == ranges


@pytest.mark.parametrize("starting", ["-10m", "latest-1", "group", '{"t":{"0":0,"1":"group"}}'])
def test_a_relative_start_is_refused_where_a_run_may_read_nothing(
    query: Query, starting: str
) -> None:
    batches = query(startingOffsets=starting)
    with pytest.raises(KafkaConfigError, match=r"Trigger\.Once"):
        first_end(batches, once=True)


def test_a_relative_start_is_no_matter_to_a_query_that_goes_on(query: Query) -> None:
    batches = query(startingOffsets="-10m")
    assert next_end(batches, {T0: 4, T1: 2}, once=True) == {T0: 5, T1: 2}


def test_a_start_beyond_the_end(query: Query, caplog: pytest.LogCaptureFixture) -> None:
    beyond = {"startingOffsets": '{"t":{"0":70,"1":2}}'}
    strict, tolerant = query(**beyond), query(**beyond, **TOLERANT)
    with pytest.raises(DataLossError, match=r"t-0 offset was changed from 70 to 5\."):
        first_end(strict)
    assert run_first(tolerant) == ({T0: 5, T1: 2}, [])
    assert "t-0 offset was changed from 70 to 5." in caplog.text


def test_partitions_that_are_assigned_and_do_not_exist(
    cluster: ScriptedCluster, query: Query, caplog: pytest.LogCaptureFixture
) -> None:
    del cluster.topics["t"].partitions[1]
    assigned = {"assign": '{"t":[0,1]}', **EARLIEST}
    with pytest.raises(KafkaConfigError, match="Partition t-1 does not exist"):
        running(query(**assigned))
    assert running(query(**assigned, **TOLERANT)) == {T0: 5}
    assert "Partition t-1 does not exist: skipped" in caplog.text


# --- A query that goes on ------------------------------------------------------------------------


def test_each_micro_batch_goes_on_where_the_one_before_ended(
    cluster: ScriptedCluster, query: Query
) -> None:
    batches = query(**EARLIEST)
    end = running(batches)
    assert run(batches, end) == (end, [])
    append(cluster, T1, 2)
    assert run(batches, end) == ({T0: 5, T1: 4}, [(T1, 2, 4)])
    assert batches.latest == {T0: 5, T1: 4}


def test_any_other_micro_batch_that_is_run_again_goes_by_its_offsets_alone(
    cluster: ScriptedCluster, query: Query
) -> None:
    again = query()
    assert planned(again, {T0: 1, T1: 0}, {T0: 3, T1: 0}) == [(T0, 1, 3)]
    assert run(again, {T0: 3, T1: 0}) == ({T0: 5, T1: 2}, [(T0, 3, 5), (T1, 0, 2)])


def test_a_range_knows_its_topic_and_is_split(cluster: ScriptedCluster, query: Query) -> None:
    topic_id = cluster.topics["t"].topic_id
    for options, count in (
        ({}, 2),
        ({"minPartitions": "4"}, 4),
        ({"maxRecordsPerPartition": "1"}, 7),
    ):
        ranges = query(**options).plan({T0: 0, T1: 0}, {T0: 5, T1: 2})
        assert [each.topic_id for each in ranges] == [topic_id] * count


def test_a_new_partition_is_read_from_its_beginning(cluster: ScriptedCluster, query: Query) -> None:
    batches = query()
    end = running(batches)
    cluster.add_topic("u", partitions=2)
    append(cluster, U0, 3)
    end, ranges = run(batches, end)
    assert end == {T0: 5, T1: 2, U0: 3, TopicPartition("u", 1): 0}
    assert ranges == [(U0, 0, 3)]
    again = query()
    assert planned(again, {T0: 5, T1: 2}, end) == [(U0, 0, 3)]


def test_fault_25_a_new_partition_that_does_not_begin_at_0(
    cluster: ScriptedCluster, query: Query, caplog: pytest.LogCaptureFixture
) -> None:
    strict, tolerant = query(), query(**TOLERANT)
    end = running(strict)
    running(tolerant)
    cluster.add_topic("u")
    append(cluster, U0, 3)
    cluster.log(U0).delete_before(1)
    with pytest.raises(DataLossError, match=r"do not start from offset 0: u-0 starts from 1\."):
        next_end(strict, end)
    assert run(tolerant, end)[1] == [(U0, 1, 3)]
    assert "u-0 starts from 1." in caplog.text


def test_nothing_at_all_is_an_empty_start_and_what_comes_is_read_from_its_beginning(
    cluster: ScriptedCluster, query: Query
) -> None:
    batches = query(subscribePattern="^u")
    assert batches.start() == {}
    assert run_first(batches) == ({}, [])
    cluster.add_topic("u")
    append(cluster, U0, 3)
    assert run(batches, {}) == ({U0: 3}, [(U0, 0, 3)])


# --- Commits to a group --------------------------------------------------------------------------


def test_what_was_processed_is_committed_when_the_next_micro_batch_is_made(
    cluster: ScriptedCluster, query: Query
) -> None:
    batches = query(commitOffsetsToGroup="true", **EARLIEST)
    end = running(batches)
    assert cluster.committed == {}, "nothing was processed yet"
    append(cluster, T0, 1)
    run(batches, end)
    assert cluster.committed == {"g": {T0: 5, T1: 2}}
    batches.processed({T0: 6, T1: 2})
    assert cluster.committed == {"g": {T0: 6, T1: 2}}


def test_a_first_micro_batch_that_is_run_again_was_not_processed(
    cluster: ScriptedCluster, query: Query
) -> None:
    again = query(commitOffsetsToGroup="true", **EARLIEST)
    planned(again, again.start(), {T0: 5, T1: 2})
    assert cluster.committed == {}
    next_end(again, {T0: 5, T1: 2})
    assert cluster.committed == {"g": {T0: 5, T1: 2}}


def test_nothing_is_committed_where_nobody_asks_for_it(
    cluster: ScriptedCluster, query: Query
) -> None:
    for options in ({}, {"startingOffsets": "group"}):
        batches = query(**options)
        run(batches, running(batches))
        batches.processed({T0: 5})
    assert cluster.committed == {}
