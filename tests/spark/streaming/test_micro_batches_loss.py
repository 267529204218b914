"""The same where logs, topics and partitions are not what they were."""

from __future__ import annotations

import pytest

from kafka_protocol.errors import (
    DataLossError,
)
from kafka_protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_spark_source.planning.stream import AvailableNowError
from kafka_spark_source.streaming import logs as stream_logs
from kafka_spark_source.streaming.micro_batches import MicroBatches
from tests.fakes import faults
from tests.fakes.cluster import ScriptedCluster
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
    cluster: ScriptedCluster, now: MicroBatches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However fresh the answer is that said which topic it is."""
    monkeypatch.setattr(stream_logs, "_PARTITIONS_ARE_FRESH_MS", 60_000)
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
