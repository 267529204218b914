"""One query's micro-batches on the driver, planned from what scripted brokers say."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config import ClientConfig
from kafka_protocol.errors import (
    BrokerConnectionError,
    BrokerError,
    DataLossError,
    ErrorCode,
    KafkaConfigError,
    KafkaError,
)
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source import micro_batches, stream_logs
from kafka_spark_source.admission import Offsets
from kafka_spark_source.micro_batches import MicroBatches
from kafka_spark_source.options import parse_stream_options
from kafka_spark_source.stream_planning import AvailableNowError
from tests.fakes import faults
from tests.fakes.cluster import Partition, ScriptedCluster
from tests.fakes.log import START_MS, batch_of

T0, T1, U0 = (TopicPartition(t, p) for t, p in [("t", 0), ("t", 1), ("u", 0)])

Query: TypeAlias = Callable[..., MicroBatches]
Ranges: TypeAlias = list[tuple[TopicPartition, int, int]]

EARLIEST = {"startingOffsets": "earliest"}
TOLERANT = {"failOnDataLoss": "false"}


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """t-0 with five records, t-1 with two."""
    with ScriptedCluster(nodes=2) as cluster:
        cluster.add_topic("t", partitions=2)
        append(cluster, T0, 5)
        append(cluster, T1, 2)
        yield cluster


@pytest.fixture
def query(cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Query]:
    """Begins queries, or begins them again, that look for partitions at each trigger."""
    monkeypatch.setattr(stream_logs, "_PARTITIONS_ARE_FRESH_MS", 0)
    begun = []

    def begin(**options: str) -> MicroBatches:
        given = {
            "kafka.bootstrap.servers": ",".join(map(str, cluster.bootstrap_servers)),
            "kafka.retry.backoff.ms": "1",
            "kafka.retry.backoff.max.ms": "10",
            "kafka.socket.connection.setup.timeout.ms": "1000",
            "kafka.topic.metadata.propagation.max.ms": "100",
            "kafka.group.id": "g",
            **({} if {"subscribe", "assign"} & options.keys() else {"subscribePattern": "."}),
        }
        parsed = parse_stream_options(given | options)
        begun.append(MicroBatches(parsed, ClientConfig.from_options(parsed.kafka)))
        return begun[-1]

    yield begin
    for batches in begun:
        batches.close()


def append(cluster: ScriptedCluster, partition: TopicPartition, count: int) -> None:
    for _ in range(count):
        cluster.append(partition, b"a")


def first_end(batches: MicroBatches, *, once: bool = False) -> Offsets:
    """Where the first micro-batch of a new query ends."""
    start = batches.start()
    return batches.next_end(start, is_new=True, is_limited=not once, may_be_only_one=once)


def next_end(batches: MicroBatches, start: Offsets, *, once: bool = False) -> Offsets:
    return batches.next_end(start, is_new=False, is_limited=not once, may_be_only_one=once)


def planned(batches: MicroBatches, start: Offsets, end: Offsets) -> Ranges:
    return [(*each.wanted,) for each in batches.plan(start, end)]


def run_first(batches: MicroBatches, *, once: bool = False) -> tuple[Offsets, Ranges]:
    """The first micro-batch of a new query: its end, and what it reads."""
    end = first_end(batches, once=once)
    return end, planned(batches, batches.start(), end)


def run(batches: MicroBatches, start: Offsets) -> tuple[Offsets, Ranges]:
    """Another micro-batch."""
    end = next_end(batches, start)
    return end, planned(batches, start, end)


def running(batches: MicroBatches) -> Offsets:
    """Run the first micro-batch; where it ends."""
    return run_first(batches)[0]


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


# --- Limits --------------------------------------------------------------------------------------


def ends_of_all(batches: MicroBatches, end: Offsets) -> list[int]:
    """Where this and each later micro-batch ends in t-0, until there is nothing more to read."""
    ends = [end[T0]]
    while (following := run(batches, end)[0]) != end:
        ends.append(following[T0])
        end = following
    return ends


def test_fifteen_records_are_three_micro_batches_of_five(
    cluster: ScriptedCluster, query: Query
) -> None:
    append(cluster, T0, 10)
    options = {"maxOffsetsPerTrigger": "5", "assign": '{"t":[0]}', **EARLIEST}
    limited, once = query(**options), query(**options)
    assert ends_of_all(limited, running(limited)) == [5, 10, 15]
    assert first_end(once, once=True) == {T0: 15}


def test_bytes_are_kept_to_about_and_each_micro_batch_gets_on(
    cluster: ScriptedCluster, query: Query
) -> None:
    cluster.add_topic("t")
    for _ in range(20):
        cluster.append(T0, b"x" * 1_000)
    batches = query(maxBytesPerTrigger="5500", **EARLIEST)
    ends = ends_of_all(batches, running(batches))
    assert ends[:3] == [5, 10, 15]
    assert ends[-1] == 20
    tiny = query(maxBytesPerTrigger="1", **EARLIEST)
    assert ends_of_all(tiny, {T0: 15}) == [15, 16, 17, 18, 19, 20]


def test_both_limits_count(cluster: ScriptedCluster, query: Query) -> None:
    batches = query(maxOffsetsPerTrigger="2", maxBytesPerTrigger="1000000", **EARLIEST)
    assert run_first(batches) == ({T0: 1, T1: 1}, [(T0, 0, 1), (T1, 0, 1)])


def test_bytes_are_looked_at_only_where_there_is_something_to_read(
    cluster: ScriptedCluster, query: Query
) -> None:
    batches = query(maxBytesPerTrigger="1000000")
    end = running(batches)
    run(batches, end)
    assert cluster.asked(FetchRequest) == []
    append(cluster, T1, 1)
    run(batches, end)
    assert len(cluster.asked(FetchRequest)) == 1


def test_bytes_are_kept_to_while_a_quota_is_exceeded(
    cluster: ScriptedCluster, query: Query
) -> None:
    """Brokers hand out nothing then (KIP-219), which says nothing about how much there is."""

    def throttle(response: FetchResponse) -> None:
        response.throttle_time_ms = 1
        response.responses = []

    cluster.add_topic("t")
    for _ in range(20):
        cluster.append(T0, b"x" * 1_000)
    cluster.spoil(FetchRequest, faults.only(2, faults.changed(throttle)))
    batches = query(maxBytesPerTrigger="5500", **EARLIEST)
    assert first_end(batches)[T0] < 10


def test_fault_27_bytes_of_records_that_aged_out_are_no_reason_to_fail(
    cluster: ScriptedCluster, query: Query
) -> None:
    """The task tells what is lost, or goes on behind it."""
    batches = query(maxBytesPerTrigger="1000", **TOLERANT)
    cluster.log(T0).delete_before(3)
    end, ranges = run(batches, {T0: 1, T1: 2})
    assert end[T0] > 1
    assert ranges == [(T0, 1, end[T0])]


def test_a_micro_batch_waits_for_enough_but_for_the_first_of_a_run(
    cluster: ScriptedCluster, query: Query
) -> None:
    options = {"minOffsetsPerTrigger": "10", "maxTriggerDelay": "1h", **EARLIEST}
    batches = query(**options)
    end = running(batches)
    assert end == {T0: 5, T1: 2}
    append(cluster, T0, 9)
    assert next_end(batches, end) == end
    append(cluster, T1, 1)
    assert run(batches, end) == ({T0: 14, T1: 3}, [(T0, 5, 14), (T1, 2, 3)])
    append(cluster, T1, 1)
    assert next_end(batches, {T0: 14, T1: 3}) == {T0: 14, T1: 3}
    again = query(**options)
    assert next_end(again, {T0: 14, T1: 3}) == {T0: 14, T1: 4}


def test_what_is_lost_is_told_without_waiting_for_enough(
    cluster: ScriptedCluster, query: Query
) -> None:
    options = {"minOffsetsPerTrigger": "10", "maxTriggerDelay": "1h", **EARLIEST, **TOLERANT}
    shorter, another = query(**options), query(**options)
    end = running(shorter)
    running(another)
    cluster.log(T1).truncate(1)
    assert run(shorter, end) == ({T0: 5, T1: 1}, [])
    cluster.add_topic("t", partitions=2)
    append(cluster, T0, 6)
    append(cluster, T1, 2)
    assert run(another, end) == ({T0: 0, T1: 0}, [])


def test_a_first_micro_batch_that_reads_nothing_is_waited_after_as_well(
    cluster: ScriptedCluster, query: Query
) -> None:
    batches = query(minOffsetsPerTrigger="10", maxTriggerDelay="1h")
    end = running(batches)
    append(cluster, T0, 4)
    assert next_end(batches, end) == end
    append(cluster, T0, 6)
    assert next_end(batches, end) == {T0: 15, T1: 2}


def test_a_micro_batch_waits_so_long_at_the_most(cluster: ScriptedCluster, query: Query) -> None:
    batches = query(minOffsetsPerTrigger="10", maxTriggerDelay="300ms", **EARLIEST)
    end = running(batches)
    append(cluster, T0, 1)
    deadline = Deadline.after(10_000)
    while next_end(batches, end) == end:
        assert not deadline.has_passed


def test_once_and_available_now_wait_for_nothing(cluster: ScriptedCluster, query: Query) -> None:
    options = {"minOffsetsPerTrigger": "3", "maxOffsetsPerTrigger": "3", **EARLIEST}
    now = query(**options, assign='{"t":[0]}')
    now.stop_at_what_is_there()
    assert ends_of_all(now, running(now)) == [3, 5]
    once = query(**options)
    assert first_end(once, once=True) == {T0: 5, T1: 2}
    append(cluster, T0, 1)
    assert next_end(once, {T0: 5, T1: 2}, once=True) == {T0: 6, T1: 2}


# --- Logs that are not what they were ------------------------------------------------------------


def test_fault_28_a_log_that_ends_before_what_was_read(
    cluster: ScriptedCluster, query: Query, caplog: pytest.LogCaptureFixture
) -> None:
    strict, tolerant = query(), query(**TOLERANT)
    end = running(strict)
    running(tolerant)
    cluster.log(T0).truncate(3)
    with pytest.raises(DataLossError, match=r"t-0 offset was changed from 5 to 3\."):
        next_end(strict, end)
    assert run(tolerant, end) == ({T0: 3, T1: 2}, [])
    assert "t-0 offset was changed from 5 to 3." in caplog.text
    append(cluster, T0, 1)
    assert run(tolerant, {T0: 3, T1: 2}) == ({T0: 4, T1: 2}, [(T0, 3, 4)])


def test_fault_28_a_leader_that_is_behind_for_a_moment_has_lost_nothing(
    cluster: ScriptedCluster, query: Query
) -> None:
    def fall_behind(response: ListOffsetsResponse) -> None:
        for topic in response.topics:
            for row in topic.partitions:
                row.offset = 1

    batches = query()
    end = running(batches)
    cluster.spoil(ListOffsetsRequest, faults.only(2, faults.changed(fall_behind)), node=1)
    assert run(batches, end) == (end, [])


@pytest.fixture
def two_topics(cluster: ScriptedCluster) -> None:
    cluster.add_topic("u")
    append(cluster, U0, 3)


@pytest.fixture
def soon_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """That a topic which is named does not exist."""
    monkeypatch.setattr("kafka_protocol.client.cluster.TOPIC_GRACE_MS", 20)


@pytest.mark.usefixtures("two_topics")
def test_fault_23_a_topic_of_a_pattern_that_is_deleted(
    cluster: ScriptedCluster, query: Query, caplog: pytest.LogCaptureFixture
) -> None:
    strict, tolerant = query(), query(**TOLERANT)
    end = running(strict)
    running(tolerant)
    del cluster.topics["u"]
    append(cluster, T0, 1)
    with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*Partitions u-0 have been"):
        next_end(strict, end)
    after = {T0: 6, T1: 2}
    assert run(tolerant, end) == (after, [(T0, 5, 6)])
    assert "Partitions u-0 have been deleted." in caplog.text
    assert run(tolerant, after) == (after, [])


@pytest.mark.usefixtures("two_topics", "soon_believed")
@pytest.mark.parametrize(
    "named",
    [{"subscribe": "t,u"}, {"assign": '{"t":[0,1],"u":[0]}'}],
    ids=lambda named: next(iter(named)),
)
def test_fault_23_a_topic_that_is_named_and_deleted(
    cluster: ScriptedCluster,
    query: Query,
    caplog: pytest.LogCaptureFixture,
    named: dict[str, str],
) -> None:
    soon = {"kafka.default.api.timeout.ms": "2000"}
    strict, tolerant = query(**named, **soon), query(**named, **soon, **TOLERANT)
    end = running(strict)
    running(tolerant)
    del cluster.topics["u"]
    with pytest.raises(DataLossError, match="Partitions u-0 have been deleted"):
        next_end(strict, end)
    after = {T0: 5, T1: 2}
    assert run(tolerant, end) == (after, [])
    assert "Partitions u-0 have been deleted." in caplog.text
    assert run(tolerant, after) == (after, [])
    append(cluster, T0, 1)
    assert run(tolerant, after)[1] == [(T0, 5, 6)]


@pytest.mark.usefixtures("soon_believed")
@pytest.mark.parametrize("named", [{}, {"subscribe": "t"}, {"assign": '{"t":[0,1]}'}])
def test_fault_23_where_all_is_deleted_there_is_nothing_to_read(
    cluster: ScriptedCluster,
    query: Query,
    caplog: pytest.LogCaptureFixture,
    named: dict[str, str],
) -> None:
    soon = {"kafka.default.api.timeout.ms": "2000"}
    strict, tolerant = query(**named, **soon), query(**named, **soon, **TOLERANT)
    end = running(strict)
    running(tolerant)
    cluster.topics.clear()
    with pytest.raises(DataLossError, match="Partitions t-0, t-1 have been deleted"):
        next_end(strict, end)
    for _ in range(3):
        assert run(tolerant, end) == (end, [])
    assert caplog.text.count("Partitions t-0, t-1 have been deleted.") == 1


def test_fault_23_what_is_gone_is_waited_for_once(cluster: ScriptedCluster, query: Query) -> None:
    batches = query(**TOLERANT)
    end = running(batches)
    cluster.topics.clear()
    run(batches, end)
    before = len(cluster.asked(MetadataRequest))
    run(batches, end)
    assert len(cluster.asked(MetadataRequest)) == before + 1


def test_fault_24_a_topic_that_is_re_created_is_read_from_its_beginning(
    cluster: ScriptedCluster, query: Query, caplog: pytest.LogCaptureFixture
) -> None:
    """However many records it holds; its offsets tell nothing about the ones before."""
    strict, tolerant = query(), query(**TOLERANT)
    end = running(strict)
    running(tolerant)
    cluster.add_topic("t", partitions=2)
    append(cluster, T0, 9)
    with pytest.raises(DataLossError, match=r"t-0, t-1 have been deleted, and their topics re-cre"):
        next_end(strict, end)
    begun, ranges = run(tolerant, end)
    assert (begun, ranges) == ({T0: 0, T1: 0}, [])
    assert "and their topics re-created." in caplog.text
    assert run(tolerant, begun) == ({T0: 9, T1: 0}, [(T0, 0, 9)])


def test_fault_24_a_log_that_seems_shorter_is_no_reason_to_believe_old_ids(
    cluster: ScriptedCluster, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_logs, "_PARTITIONS_ARE_FRESH_MS", 60_000)
    batches = query(**TOLERANT)
    end = running(batches)
    cluster.add_topic("t", partitions=2)
    append(cluster, T0, 1)
    assert run(batches, end) == ({T0: 0, T1: 0}, [])


def test_fault_22_a_partition_that_comes_back_goes_on_where_it_stood(
    cluster: ScriptedCluster, query: Query
) -> None:
    batches = query(**TOLERANT)
    end = running(batches)
    away = cluster.topics.pop("t")
    assert run(batches, end) == (end, [])
    cluster.topics["t"] = away
    append(cluster, T0, 1)
    assert run(batches, end) == ({T0: 6, T1: 2}, [(T0, 5, 6)])


def test_fault_24_a_topic_that_was_away_for_a_while_is_another_one(
    cluster: ScriptedCluster, query: Query
) -> None:
    batches = query(**TOLERANT)
    end = running(batches)
    cluster.topics.clear()
    assert run(batches, end) == (end, [])
    cluster.add_topic("t", partitions=2)
    append(cluster, T0, 9)
    begun, ranges = run(batches, end)
    assert (begun, ranges) == ({T0: 0, T1: 0}, [])
    assert run(batches, begun) == ({T0: 9, T1: 0}, [(T0, 0, 9)])


# --- Trigger.AvailableNow ------------------------------------------------------------------------


@pytest.fixture(params=["true", "false"])
def now(query: Query, request: pytest.FixtureRequest) -> MicroBatches:
    """A run that reads what is there in micro-batches of about four, whatever failOnDataLoss."""
    batches = query(maxOffsetsPerTrigger="4", failOnDataLoss=request.param, **EARLIEST)
    batches.stop_at_what_is_there()
    return batches


def last_end(batches: MicroBatches, start: Offsets) -> Offsets:
    """Where a run ends."""
    while (end := run(batches, start)[0]) != start:
        start = end
    return end


def test_a_run_ends_where_the_logs_ended_at_its_first_look(
    cluster: ScriptedCluster, now: MicroBatches
) -> None:
    now.start()
    append(cluster, T0, 1)
    cluster.add_topic("u")
    append(cluster, U0, 3)
    end = running(now)
    append(cluster, T0, 10)
    cluster.add_topic("v")
    assert last_end(now, end) == {T0: 6, T1: 2, U0: 3}


def test_a_pinned_run_reads_all_that_was_there_after_its_first_micro_batch(query: Query) -> None:
    batches = query(startingOffsets="latest-1")
    batches.stop_at_what_is_there()
    assert run(batches, running(batches)) == ({T0: 5, T1: 2}, [(T0, 4, 5), (T1, 1, 2)])


def test_a_run_over_nothing_ends_at_once(cluster: ScriptedCluster, now: MicroBatches) -> None:
    cluster.topics.clear()
    assert run_first(now) == ({}, [])
    assert run(now, {}) == ({}, [])


def test_what_a_run_has_to_read_is_gone(cluster: ScriptedCluster, now: MicroBatches) -> None:
    end = running(now)
    cluster.topics.clear()
    with pytest.raises(AvailableNowError, match=r"LOST_TOPIC_PARTITIONS_IN_END_OFFSET.*t-0, t-1"):
        next_end(now, end)


def test_what_a_run_has_to_read_is_another_topic(
    cluster: ScriptedCluster, now: MicroBatches
) -> None:
    end = running(now)
    cluster.add_topic("t", partitions=2)
    append(cluster, T0, 9)
    append(cluster, T1, 9)
    with pytest.raises(AvailableNowError, match=r"t-0, t-1 were deleted and re-created"):
        next_end(now, end)


def test_what_a_run_has_to_read_is_cut_off(cluster: ScriptedCluster, now: MicroBatches) -> None:
    end = running(now)
    cluster.log(T0).truncate(1)
    with pytest.raises(AvailableNowError, match=r"PARTITION_THAN_LATEST.*t-0 .* and ends at 1\."):
        next_end(now, end)


def test_what_was_lost_before_a_run_is_a_matter_of_fail_on_data_loss(query: Query) -> None:
    strict, tolerant = query(), query(**TOLERANT)
    for batches in (strict, tolerant):
        batches.stop_at_what_is_there()
    with pytest.raises(DataLossError, match=r"t-0 offset was changed from 70 to 5\."):
        next_end(strict, {T0: 70, T1: 0})
    assert run(tolerant, {T0: 70, T1: 0}) == ({T0: 5, T1: 2}, [(T1, 0, 2)])


def test_what_a_run_has_read_may_go(cluster: ScriptedCluster, now: MicroBatches) -> None:
    end = last_end(now, running(now))
    cluster.add_topic("t", partitions=2)
    assert run(now, end) == (end, [])
    cluster.topics.clear()
    assert run(now, end) == (end, [])


def test_a_micro_batch_of_the_run_before_is_not_checked(
    cluster: ScriptedCluster, now: MicroBatches
) -> None:
    cluster.log(T0).truncate(1)
    assert planned(now, {T0: 0, T1: 0}, {T0: 5, T1: 0}) == [(T0, 0, 5)]


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


# --- Brokers that fail ---------------------------------------------------------------------------


@pytest.fixture
def repaired(cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What happens between two tries: another broker takes over. And how long each wait was."""
    waits = []

    def repair(ms: float) -> None:
        waits.append(ms)
        cluster.move_leader(T0, 2)

    monkeypatch.setattr(micro_batches, "pause", repair)
    return waits


QUICK = {"kafka.socket.connection.setup.timeout.ms": "200", "fetchOffset.retryIntervalMs": "7"}


def test_a_new_query_tells_soon_what_is_wrong(
    cluster: ScriptedCluster, query: Query, repaired: list[float]
) -> None:
    cluster.stop(1)
    with pytest.raises(BrokerConnectionError):
        query(**QUICK).start()
    assert repaired == []


def test_a_new_query_tries_as_often_as_it_is_told(
    cluster: ScriptedCluster, query: Query, repaired: list[float]
) -> None:
    cluster.stop(1)
    assert query(**QUICK, **{"fetchOffset.numRetries": "2"}).start() == {T0: 5, T1: 2}
    assert repaired == [7]
    cluster.stop(2)
    with pytest.raises(BrokerConnectionError):
        query(**QUICK, **{"fetchOffset.numRetries": "3"}).start()
    assert repaired == [7, 7, 7]


def test_a_try_that_failed_is_no_micro_batch_to_wait_after(
    cluster: ScriptedCluster, query: Query, repaired: list[float]
) -> None:
    limits = {"minOffsetsPerTrigger": "10", "maxBytesPerTrigger": "1000000"}
    batches = query(**QUICK, **EARLIEST, **limits, **{"fetchOffset.numRetries": "2"})
    batches.start()
    cluster.spoil(FetchRequest, faults.closing, node=1)
    assert first_end(batches) == {T0: 5, T1: 2}
    assert repaired == [7]


def test_a_first_look_that_has_to_be_taken_twice_is_one_look(
    cluster: ScriptedCluster, query: Query, repaired: list[float]
) -> None:
    batches = query(**QUICK, **EARLIEST, maxBytesPerTrigger="1", **{"fetchOffset.numRetries": "2"})
    batches.stop_at_what_is_there()
    batches.start()
    cluster.add_topic("u")
    append(cluster, U0, 1)
    cluster.move_leader(U0, 2)
    cluster.spoil(FetchRequest, faults.closing, node=1)
    end = first_end(batches)
    assert repaired == [7]
    cluster.add_topic("v")
    assert last_end(batches, end) == {T0: 5, T1: 2, U0: 1}


def test_fault_19_a_query_that_runs_outlasts_the_loss_of_a_broker(
    cluster: ScriptedCluster,
    query: Query,
    repaired: list[float],
    caplog: pytest.LogCaptureFixture,
) -> None:
    batches = query(**QUICK)
    end = running(batches)
    cluster.stop(1)
    with caplog.at_level(logging.WARNING):
        assert run(batches, end) == (end, [])
    assert repaired == [7]
    assert "The next micro-batch cannot be planned yet: " in caplog.text


def test_fault_26_what_cannot_pass_is_told_at_once(
    cluster: ScriptedCluster, query: Query, repaired: list[float]
) -> None:
    batches = query(**QUICK)
    end = running(batches)
    cluster.spoil(ListOffsetsRequest, faults.refusing(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
        next_end(batches, end)
    assert repaired == []


def test_an_idle_trigger_asks_each_leader_once_and_nobody_else(
    cluster: ScriptedCluster, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_logs, "_PARTITIONS_ARE_FRESH_MS", 60_000)
    batches = query()
    end = running(batches)
    before = [len(cluster.asked(kind)) for kind in (ListOffsetsRequest, MetadataRequest)]
    for _ in range(5):
        next_end(batches, end)
    after = [len(cluster.asked(kind)) for kind in (ListOffsetsRequest, MetadataRequest)]
    assert after == [before[0] + 5 * 2, before[1]]


def test_connections_are_opened_again(query: Query) -> None:
    batches = query()
    end = running(batches)
    batches.close()
    assert next_end(batches, end) == end
