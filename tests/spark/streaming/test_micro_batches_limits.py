"""The limits of a micro-batch, and the minimum that it waits for."""

from __future__ import annotations

from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.streaming.micro_batches import MicroBatches
from tests.fakes.cluster import FakeCluster
from tests.fakes.micro_batches import (
    EARLIEST,
    T0,
    T1,
    TOLERANT,
    U0,
    Query,
    append,
    first_end,
    next_end,
    run,
    run_first,
    running,
)
from tests.fakes.skipping_time import sleeps_take_no_time

METADATA_SECONDS = 301


def ends_of_all(batches: MicroBatches, end: Offsets) -> list[int]:
    """The ends of this and all later micro-batches in t-0."""
    ends = [end[T0]]
    while (following := run(batches, end)[0]) != end:
        ends.append(following[T0])
        end = following
    return ends


def test_15_records_are_three_micro_batches_of_5(cluster: FakeCluster, query: Query) -> None:
    append(cluster, T0, 10)
    options = {"maxOffsetsPerTrigger": "5", "assign": '{"t":[0]}', **EARLIEST}
    limited, once = query(**options), query(**options)
    assert ends_of_all(limited, running(limited)) == [5, 10, 15]
    assert first_end(once, once=True) == {T0: 15}


def test_the_limit_by_bytes_is_approximate_and_always_advances(
    cluster: FakeCluster, query: Query
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


def test_both_limits_apply(cluster: FakeCluster, query: Query) -> None:
    batches = query(maxOffsetsPerTrigger="2", maxBytesPerTrigger="1000000", **EARLIEST)
    assert run_first(batches) == ({T0: 1, T1: 1}, [(T0, 0, 1), (T1, 0, 1)])


def test_sizes_are_requested_only_for_new_records(cluster: FakeCluster, query: Query) -> None:
    batches = query(maxBytesPerTrigger="1000000")
    end = running(batches)
    run(batches, end)
    assert cluster.asked(FetchRequest) == []
    append(cluster, T1, 1)
    run(batches, end)
    assert len(cluster.asked(FetchRequest)) == 1


def test_fault_27_deleted_records_do_not_break_the_limit_by_bytes(
    cluster: FakeCluster, query: Query
) -> None:
    """The task reports the loss, or continues after it."""
    batches = query(maxBytesPerTrigger="1000", **TOLERANT)
    cluster.log(T0).delete_before(3)
    end, ranges = run(batches, {T0: 1, T1: 2})
    assert end[T0] > 1
    assert ranges == [(T0, 1, end[T0])]


def test_all_but_the_first_micro_batch_wait_for_min_offsets(
    cluster: FakeCluster, query: Query
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


def test_each_topic_waits_for_its_own_offsets(cluster: FakeCluster, query: Query) -> None:
    with sleeps_take_no_time() as time:
        cluster.add_topic("u", partitions=1)
        append(cluster, U0, 1)
        options = {"subscribe": "t,u", "minOffsetsPerTopic": "4", "maxTriggerDelay": "5m"}
        batches = query(**options, **EARLIEST)
        end = running(batches)
        assert end == {T0: 5, T1: 2, U0: 1}
        append(cluster, U0, 3)
        assert next_end(batches, end) == end
        append(cluster, T0, 2)
        append(cluster, T1, 2)
        end, ranges = run(batches, end)
        assert (end, ranges) == ({T0: 7, T1: 4, U0: 1}, [(T0, 5, 7), (T1, 2, 4)])
        time(301)
        append(cluster, T1, 4)
        assert run(batches, end)[1] == [(T1, 4, 8), (U0, 1, 4)]


def test_a_new_partition_of_a_topic_that_waits_keeps_its_beginning(
    cluster: FakeCluster, query: Query
) -> None:
    options = {"minOffsetsPerTopic": "10", "maxTriggerDelay": "1h", **EARLIEST}
    with sleeps_take_no_time() as time:
        batches = query(**options)
        end = running(batches)
        new = TopicPartition("t", 2)
        cluster.add_partitions("t", 3)
        append(cluster, new, 3)
        time(METADATA_SECONDS)
        end, ranges = run(batches, end)
        assert (end, ranges) == ({T0: 5, T1: 2, new: 0}, [])
        assert next_end(batches, end) == end
        append(cluster, new, 7)
        assert run(batches, end)[1] == [(new, 0, 10)]


def test_a_loss_in_a_topic_does_not_wait(cluster: FakeCluster, query: Query) -> None:
    options = {"minOffsetsPerTopic": "10", "maxTriggerDelay": "1h", **EARLIEST, **TOLERANT}
    batches = query(**options)
    end = running(batches)
    cluster.log(T1).truncate(1)
    append(cluster, T0, 1)
    assert run(batches, end) == ({T0: 6, T1: 1}, [(T0, 5, 6)])


def test_a_loss_is_reported_without_waiting_for_min_offsets(
    cluster: FakeCluster, query: Query
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


def test_the_delay_follows_an_empty_micro_batch(cluster: FakeCluster, query: Query) -> None:
    batches = query(minOffsetsPerTrigger="10", maxTriggerDelay="1h")
    end = running(batches)
    append(cluster, T0, 4)
    assert next_end(batches, end) == end
    append(cluster, T0, 6)
    assert next_end(batches, end) == {T0: 15, T1: 2}


def test_a_micro_batch_waits_for_max_trigger_delay(cluster: FakeCluster, query: Query) -> None:
    with sleeps_take_no_time() as time:
        batches = query(minOffsetsPerTrigger="10", maxTriggerDelay="5m", **EARLIEST)
        end = running(batches)
        append(cluster, T0, 1)
        assert next_end(batches, end) == end
        time(301)
        assert next_end(batches, end) == {T0: 6, T1: 2}


def test_once_and_available_now_ignore_min_offsets(cluster: FakeCluster, query: Query) -> None:
    options = {"minOffsetsPerTrigger": "3", "maxOffsetsPerTrigger": "3", **EARLIEST}
    now = query(**options, assign='{"t":[0]}')
    now.stop_at_available_now()
    assert ends_of_all(now, running(now)) == [3, 5]
    once = query(**options)
    assert first_end(once, once=True) == {T0: 5, T1: 2}
    append(cluster, T0, 1)
    assert next_end(once, {T0: 5, T1: 2}, once=True) == {T0: 6, T1: 2}
