"""One query's micro-batches while logs, topics and partitions are lost."""

from __future__ import annotations

import pytest

from kafka_protocol.errors import DataLossError
from kafka_protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.planning.stream import AvailableNowError
from kafka_spark_source.streaming.micro_batches import MicroBatches
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.micro_batches import (
    EARLIEST,
    T0,
    T1,
    TOLERANT,
    U0,
    Query,
    append,
    last_end,
    next_end,
    planned,
    run,
    run_first,
    running,
)
from tests.fakes.skipping_time import sleeps_take_no_time

# --- Truncated logs, deleted and re-created topics -----------------------------------------------


def test_fault_28_a_leader_is_behind_for_a_moment(cluster: FakeCluster, query: Query) -> None:
    def fall_behind(response: ListOffsetsResponse) -> None:
        for topic in response.topics:
            for row in topic.partitions:
                row.offset = 1

    batches = query()
    end = running(batches)
    cluster.add_fault(ListOffsetsRequest, faults.changed(fall_behind), node=1, count=2)
    assert run(batches, end) == (end, [])


SOON = {"kafka.default.api.timeout.ms": "2000"}


def two_running(query: Query, **options: str) -> tuple[MicroBatches, MicroBatches, Offsets]:
    """Two running queries, the second one with failOnDataLoss=false, and their end."""
    strict, tolerant = query(**options), query(**options, **TOLERANT)
    running(tolerant)
    return strict, tolerant, running(strict)


@pytest.fixture
def two_topics(cluster: FakeCluster) -> None:
    cluster.add_topic("u")
    append(cluster, U0, 3)


@pytest.mark.usefixtures("two_topics", "short_metadata_grace")
@pytest.mark.parametrize(
    ("named", "new"),
    [({}, 1), ({}, 0), ({"subscribe": "t,u"}, 0), ({"assign": '{"t":[0,1],"u":[0]}'}, 0)],
    ids=["pattern and a new record", "pattern", "names", "partitions"],
)
def test_fault_23_one_of_two_topics_is_deleted(
    cluster: FakeCluster,
    query: Query,
    caplog: pytest.LogCaptureFixture,
    named: dict[str, str],
    new: int,
) -> None:
    strict, tolerant, end = two_running(query, **named, **SOON)
    cluster.delete_topic("u")
    append(cluster, T0, new)
    with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*Partitions u-0 have been"):
        next_end(strict, end)
    after = {T0: 5 + new, T1: 2}
    assert run(tolerant, end) == (after, [(T0, 5, 6)] * new)
    assert "Partitions u-0 have been deleted." in caplog.text
    assert run(tolerant, after) == (after, [])
    append(cluster, T0, 1)
    assert run(tolerant, after)[1] == [(T0, 5 + new, 6 + new)]


@pytest.mark.usefixtures("two_topics")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"subscribe": "t,u"}, {"subscribe": "t"}),
        ({}, {"subscribePattern": "^t$"}),
        ({"assign": '{"t":[0,1],"u":[0]}'}, {"assign": '{"t":[0,1]}'}),
    ],
    ids=["names", "pattern", "partitions"],
)
def test_a_topic_that_is_no_longer_selected(
    cluster: FakeCluster,
    query: Query,
    caplog: pytest.LogCaptureFixture,
    before: dict[str, str],
    after: dict[str, str],
) -> None:
    """It was not deleted, and nothing waits for it."""
    end = running(query(**before))
    with sleeps_take_no_time(lambda ms: pytest.fail(f"it waits for {ms} ms")):
        with pytest.raises(DataLossError, match=r"NOT_SELECTED.* u-0, and the query no longer"):
            next_end(query(**after), end)
        tolerant = query(**after, **TOLERANT)
        assert run(tolerant, end) == ({T0: 5, T1: 2}, [])
    assert caplog.text.count("no longer selects them by subscribe") == 1
    append(cluster, T0, 1)
    assert run(tolerant, {T0: 5, T1: 2})[1] == [(T0, 5, 6)]


@pytest.mark.usefixtures("short_metadata_grace")
@pytest.mark.parametrize(
    "named",
    [{}, {"subscribe": "t"}, {"assign": '{"t":[0,1]}'}],
    ids=["pattern", "names", "partitions"],
)
def test_fault_23_all_topics_are_deleted(
    cluster: FakeCluster, query: Query, caplog: pytest.LogCaptureFixture, named: dict[str, str]
) -> None:
    strict, tolerant, end = two_running(query, **named, **SOON)
    cluster.delete_topic()
    with pytest.raises(DataLossError, match="Partitions t-0, t-1 have been deleted"):
        next_end(strict, end)
    for _ in range(3):
        assert run(tolerant, end) == (end, [])
    assert caplog.text.count("Partitions t-0, t-1 have been deleted.") == 1


def test_fault_23_one_wait_for_a_deleted_topic(cluster: FakeCluster, query: Query) -> None:
    batches = query(**TOLERANT)
    end = running(batches)
    cluster.delete_topic()
    run(batches, end)
    before = len(cluster.asked(MetadataRequest))
    run(batches, end)
    assert len(cluster.asked(MetadataRequest)) == before + 1


def test_fault_24_a_recreated_topic_is_read_from_its_beginning(
    cluster: FakeCluster, query: Query, caplog: pytest.LogCaptureFixture
) -> None:
    """However many records it has: its offsets say nothing about the old topic."""
    strict, tolerant, end = two_running(query)
    cluster.add_topic("t", partitions=2)
    append(cluster, T0, 9)
    with pytest.raises(DataLossError, match=r"t-0, t-1 have been deleted, and their topics re-cre"):
        next_end(strict, end)
    begun = {T0: 0, T1: 0}
    assert run(tolerant, end) == (begun, [])
    assert "and their topics re-created." in caplog.text
    assert run(tolerant, begun) == ({T0: 9, T1: 0}, [(T0, 0, 9)])


def test_fault_24_a_topic_is_recreated_while_the_query_is_down(
    cluster: FakeCluster, query: Query, caplog: pytest.LogCaptureFixture
) -> None:
    """Its checkpoint has no id, so a shorter log may also have been truncated."""
    end = running(query())
    cluster.add_topic("t", partitions=2)
    append(cluster, T0, 3)
    with pytest.raises(DataLossError, match=r"t-0 offset was changed from 5 to 3\."):
        next_end(query(), end)
    restarted = query(**TOLERANT)
    shorter = {T0: 3, T1: 0}
    assert run(restarted, end) == (shorter, [])
    assert "t-0 offset was changed from 5 to 3." in caplog.text
    append(cluster, T0, 1)
    assert run(restarted, shorter) == ({T0: 4, T1: 0}, [(T0, 3, 4)])


def test_fault_24_a_shorter_log_refreshes_the_topic_ids(
    cluster: FakeCluster, query: Query, partitions_stay_fresh: None
) -> None:
    batches = query(**TOLERANT)
    end = running(batches)
    cluster.add_topic("t", partitions=2)
    append(cluster, T0, 1)
    assert run(batches, end) == ({T0: 0, T1: 0}, [])


def test_fault_22_a_partition_that_comes_back_is_read_further(
    cluster: FakeCluster, query: Query
) -> None:
    batches = query(**TOLERANT)
    end = running(batches)
    topic = cluster.topics["t"]
    images = [broker.image for broker in cluster.simulated.brokers.values()]
    for image in images:
        image.set_topic("t", None)
    assert run(batches, end) == (end, [])
    for image in images:
        image.set_topic("t", topic)
    append(cluster, T0, 1)
    assert run(batches, end) == ({T0: 6, T1: 2}, [(T0, 5, 6)])


def test_fault_24_a_missing_topic_is_recreated(cluster: FakeCluster, query: Query) -> None:
    batches = query(**TOLERANT)
    end = running(batches)
    cluster.delete_topic()
    assert run(batches, end) == (end, [])
    cluster.add_topic("t", partitions=2)
    append(cluster, T0, 9)
    begun = {T0: 0, T1: 0}
    assert run(batches, end) == (begun, [])
    assert run(batches, begun) == ({T0: 9, T1: 0}, [(T0, 0, 9)])


# --- Trigger.AvailableNow ------------------------------------------------------------------------


@pytest.fixture(params=["true", "false"])
def now(query: Query, request: pytest.FixtureRequest) -> MicroBatches:
    """A run with Trigger.AvailableNow and micro-batches of about four, for both failOnDataLoss."""
    batches = query(maxOffsetsPerTrigger="4", failOnDataLoss=request.param, **EARLIEST)
    batches.stop_at_available_now()
    return batches


def test_a_run_ends_at_the_log_ends_of_its_first_micro_batch(
    cluster: FakeCluster, now: MicroBatches
) -> None:
    now.start()
    append(cluster, T0, 1)
    cluster.add_topic("u")
    append(cluster, U0, 3)
    end = running(now)
    append(cluster, T0, 10)
    cluster.add_topic("v")
    assert last_end(now, end) == {T0: 6, T1: 2, U0: 3}


def test_a_pinned_run_reads_in_its_second_micro_batch(query: Query) -> None:
    batches = query(startingOffsets="latest-1")
    batches.stop_at_available_now()
    assert run(batches, running(batches)) == ({T0: 5, T1: 2}, [(T0, 4, 5), (T1, 1, 2)])


def test_a_run_over_nothing_ends_at_once(cluster: FakeCluster, now: MicroBatches) -> None:
    cluster.delete_topic()
    assert run_first(now) == ({}, [])
    assert run(now, {}) == ({}, [])


def test_fault_59_a_topic_of_the_target_is_deleted(cluster: FakeCluster, now: MicroBatches) -> None:
    end = running(now)
    cluster.delete_topic()
    with pytest.raises(AvailableNowError, match=r"LOST_TOPIC_PARTITIONS_IN_END_OFFSET.*t-0, t-1"):
        next_end(now, end)


def test_fault_59_a_topic_of_the_target_is_recreated(
    cluster: FakeCluster, now: MicroBatches, partitions_stay_fresh: None
) -> None:
    """Even if the partitions are fresh."""
    end = running(now)
    cluster.add_topic("t", partitions=2)
    append(cluster, T0, 9)
    append(cluster, T1, 9)
    with pytest.raises(AvailableNowError, match=r"t-0, t-1 were deleted and re-created"):
        next_end(now, end)


def test_fault_59_a_log_of_the_target_is_truncated(cluster: FakeCluster, now: MicroBatches) -> None:
    end = running(now)
    cluster.log(T0).truncate(1)
    with pytest.raises(AvailableNowError, match=r"PARTITION_THAN_LATEST.*t-0 .* but ends at 1\."):
        next_end(now, end)


def test_a_loss_before_the_run_follows_fail_on_data_loss(query: Query) -> None:
    strict, tolerant = query(), query(**TOLERANT)
    for batches in (strict, tolerant):
        batches.stop_at_available_now()
    with pytest.raises(DataLossError, match=r"t-0 offset was changed from 70 to 5\."):
        next_end(strict, {T0: 70, T1: 0})
    assert run(tolerant, {T0: 70, T1: 0}) == ({T0: 5, T1: 2}, [(T1, 0, 2)])


def test_a_topic_may_be_deleted_once_the_run_has_read_it(
    cluster: FakeCluster, now: MicroBatches
) -> None:
    end = last_end(now, running(now))
    cluster.add_topic("t", partitions=2)
    assert run(now, end) == (end, [])
    cluster.delete_topic()
    assert run(now, end) == (end, [])


def test_a_micro_batch_of_an_earlier_run_is_not_checked(
    cluster: FakeCluster, now: MicroBatches
) -> None:
    cluster.log(T0).truncate(1)
    assert planned(now, {T0: 0, T1: 0}, {T0: 5, T1: 0}) == [(T0, 0, 5)]
