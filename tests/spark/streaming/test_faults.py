"""Faults under a stream: drivers that die, tasks that run again, and records and topics that go.

A driver dies at each moment of a trigger that leaves another checkpoint. Records and partitions may
be added before the next one starts. `test_logs` and `test_micro_batches_loss` have all cases of a
loss. docs/faults.md lists the numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafka_protocol.errors import DataLossError, ErrorCode
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.records.transactions import ABORT, COMMIT
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import VersionRange
from tests.fakes.batch_reading import ABC, IN_THREE, IN_TWELVE, ONE_BY_ONE, TWELVE, Rows
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import START_MS, batch_of, in_transaction
from tests.fakes.reading import PARTITION
from tests.fakes.stream_loss import GO_ON, OTHER, fill, recreate
from tests.fakes.stream_reading import (
    AFTER_THE_LOG,
    DEATHS,
    MOMENTS,
    Moment,
    Options,
    Query,
    streaming,
    values,
)
from tests.spark.conftest import set_default_max_age

pytestmark = [pytest.mark.no_cover, pytest.mark.usefixtures("short_topic_grace")]


GROUP: Options = {"kafka_group_id": "g"}


def write_history(cluster: FakeCluster) -> None:
    """Twelve records."""
    cluster.add_topic("t")
    for offset in range(12):
        batch = batch_of(b"%d" % offset, timestamp=START_MS + offset)
        cluster.log(PARTITION).append(batch)


def write_more(cluster: FakeCluster) -> None:
    end = cluster.log(PARTITION).end_offset
    for offset in range(end, end + 3):
        cluster.append(PARTITION, b"%d" % offset)


def add_partition(cluster: FakeCluster) -> None:
    cluster.add_partitions("t", 2)
    cluster.append(TopicPartition("t", 1), b"added")


def nothing(_: FakeCluster) -> None:
    pass


def expect_from(start: int, query: Query, cluster: FakeCluster) -> None:
    """Each record from an offset on was read once, in order; and all of an added partition."""
    rows = [row for row in query.checkpoint.rows if row[1] != b"added"]
    end = cluster.log(PARTITION).end_offset
    assert rows == [(offset, b"%d" % offset) for offset in range(start, end)]
    added = len(query.checkpoint.rows) - len(rows)
    assert added == len(cluster.topics["t"].partitions) - 1


# --- In the middle of a query --------------------------------------------------------------------


@pytest.mark.parametrize("moment", DEATHS)
@pytest.mark.parametrize("between", [nothing, add_partition])
@pytest.mark.parametrize(
    "limits",
    [{}, {"maxOffsetsPerTrigger": 2}, {"maxBytesPerTrigger": 150}],
    ids=["no limit", "offsets", "bytes"],
)
def test_fault_57_a_driver_dies_in_a_later_batch(
    moment: Moment, between: Callable[[FakeCluster], None], limits: Options
) -> None:
    """At the same moment of each batch; each batch keeps its logged end."""
    with streaming(**limits) as (cluster, query):
        write_history(cluster)
        query.trigger()
        for number in range(4):
            if number == 1:
                between(cluster)
            write_more(cluster)
            query.die_at(moment)
            logged = [*query.checkpoint.ends]
            write_more(cluster)
            query.restart()
            query.trigger()
            assert query.checkpoint.ends[: len(logged)] == logged
        query.run()
        expect_from(0, query, cluster)


@pytest.mark.parametrize("trigger", ["once", "available now"])
@pytest.mark.parametrize("moment", DEATHS)
def test_fault_57_a_driver_dies_with_a_trigger_that_ends(trigger: Any, moment: Moment) -> None:
    with streaming(trigger=trigger, maxOffsetsPerTrigger=5) as (cluster, query):
        write_history(cluster)
        query.die_at(moment)
        for _ in range(6):
            write_more(cluster)
            query.restart()
            query.run()
        while query.checkpoint.rows[-1][0] < cluster.log(PARTITION).end_offset - 1:
            query.restart()
            assert query.run()
        expect_from(0, query, cluster)


# --- Offsets of the consumer group ---------------------------------------------------------------


@pytest.mark.parametrize("moment", MOMENTS)
def test_fault_57_only_finished_batches_are_committed_to_the_group(moment: Moment) -> None:
    options: Options = {"commitOffsetsToGroup": True, **GROUP, "maxOffsetsPerTrigger": 2}
    with streaming(*IN_TWELVE, **options) as (cluster, query):
        for _ in range(3):
            query.trigger()
            query.die_at(moment)
            query.restart()
            committed = cluster.committed.get("g", {}).get(PARTITION, 0)
            done = query.checkpoint.finished
            assert committed <= (query.checkpoint.offsets[done - 1]["t"]["0"] if done else 0)
        query.run()
        query.trigger()
        assert cluster.committed["g"] == {PARTITION: 12}
        assert query.checkpoint.rows == TWELVE


# --- Tasks that run again ------------------------------------------------------------------------


def test_fault_55_a_failed_task_is_run_again() -> None:
    """It reads the same rows each time, also after records were added."""
    with streaming(*IN_TWELVE, **ONE_BY_ONE) as (cluster, query):
        query.die_at("planned")
        (task,) = query.tasks()
        for count in range(1, 6):
            batches = task.batches()
            found = [row for _ in range(count) for row in next(batches)]
            assert found == TWELVE[:count]
            batches.close()
            cluster.append(PARTITION, b"more %d" % count)
        assert task.rows() == TWELVE


def test_fault_55_two_attempts_run_at_once() -> None:
    """A slow task and its speculative copy."""
    with streaming(*IN_TWELVE, **ONE_BY_ONE) as (_, query):
        query.die_at("planned")
        (task,) = query.tasks()
        found: list[Rows] = [[], []]
        for number, rows in interleaved(task.batches(), task.batches()):
            found[number] += rows
        assert found == [TWELVE, TWELVE]


def interleaved(*many: Any) -> Any:
    for step in zip(*many, strict=True):
        yield from enumerate(step)


# --- Partitions that are added -------------------------------------------------------------------


def partition_from(cluster: FakeCluster, starts_at: int = 0) -> TopicPartition:
    added = TopicPartition("t", 1)
    cluster.add_partitions("t", 2)
    cluster.log(added).delete_before(starts_at)
    return added


def test_fault_25_a_partition_that_does_not_begin_at_zero(caplog: pytest.LogCaptureFixture) -> None:
    with streaming(*IN_THREE) as (cluster, query):
        query.run()
        fill(cluster, "x", "y", partition=partition_from(cluster, starts_at=4))
        with pytest.raises(
            DataLossError, match=r"ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO.*t-1.*4"
        ):
            query.trigger()
        assert len(query.checkpoint.ends) == 1
        query.restart(**GO_ON)
        assert query.run() == [(4, b"x"), (5, b"y")]
        assert "t-1 starts from 4" in caplog.text


# --- Deleted and truncated records ---------------------------------------------------------------


def age_out(cluster: FakeCluster) -> None:
    cluster.log(PARTITION).delete_before(6)


def test_fault_27_retention_deletes_unread_records(caplog: pytest.LogCaptureFixture) -> None:
    """Only tasks detect it, to keep idle queries cheap; so the next driver fails again."""
    with streaming(*IN_THREE) as (cluster, query):
        assert query.run() == ABC
        fill(cluster, *(str(offset) for offset in range(3, 10)))
        age_out(cluster)
        for _ in range(2):
            with pytest.raises(DataLossError, match=r"COULD_NOT_READ_OFFSET_RANGE.*\[3, .*t-0"):
                query.run()
            query.restart()
        query.restart(**GO_ON)
        query.run()
        assert values(query.checkpoint.rows) == [*"abc6789"]
        assert "the log holds [6, 10). The read continues without them" in caplog.text


def test_fault_28_a_log_became_shorter(caplog: pytest.LogCaptureFixture) -> None:
    """As after an unclean election: the same topic, with fewer records."""
    with streaming(*IN_THREE) as (cluster, query):
        assert query.run() == ABC
        logged = [*query.checkpoint.ends]
        cluster.log(PARTITION).truncate(1)
        for _ in range(2):
            with pytest.raises(DataLossError, match=r"PARTITION_OFFSET_CHANGED.*t-0.* 3 to 1"):
                query.trigger()
            assert query.checkpoint.ends == logged
            query.restart()
        query.restart(**GO_ON)
        query.run()
        fill(cluster, "x", "y", "z")
        query.run()
        assert values(query.checkpoint.rows) == [*"abcxyz"]
        assert "was changed from 3 to 1" in caplog.text


# --- Transactions --------------------------------------------------------------------------------

COMMITTED: Options = {"kafka_isolation_level": "read_committed"}


@pytest.mark.parametrize("type_", [ABORT, COMMIT], ids=["aborted", "committed"])
@pytest.mark.parametrize("starting", ["earliest", "latest"])
def test_fault_35_and_36_an_open_transaction(type_: int, starting: str) -> None:
    """Nothing after its first record is read until it has ended."""
    with streaming(*IN_THREE, **COMMITTED, startingOffsets=starting) as (cluster, query):
        log = cluster.log(PARTITION)
        log.append(in_transaction(1, b"open"))
        fill(cluster, "d", "e")
        assert query.run() == (ABC if starting == "earliest" else [])
        for _ in range(2):
            assert query.trigger() is None
        assert query.checkpoint.offsets[-1] == {"t": {"0": 3}}
        query.restart()
        assert query.trigger() is None
        log.end_transaction(1, type_)
        query.run()
        new = ["open"] if type_ == COMMIT else []
        old = [*"abc"] if starting == "earliest" else []
        assert values(query.checkpoint.rows) == [*old, *new, "d", "e"]


# --- Topics that are deleted or re-created under a stream ----------------------------------------

# A re-created topic is known by its id long before: on a slow machine too.
SLOW_NEWS: Options = {"kafka_topic_metadata_propagation_max_ms": 5_000}
BOTH = pytest.mark.parametrize(
    "strategy",
    [{"subscribe": "t,u"}, {"subscribePattern": "[tu]"}, {"assign": '{"t":[0],"u":[0]}'}],
    ids=lambda strategy: next(iter(strategy)),
)


@BOTH
@pytest.mark.parametrize("moment", AFTER_THE_LOG)
def test_fault_23_a_deleted_topic_is_left_out_with_a_warning(
    moment: Moment, strategy: Options, caplog: pytest.LogCaptureFixture
) -> None:
    """Also by the next driver; and it is read when it is created again."""
    with streaming(*IN_THREE, **GO_ON, **strategy) as (cluster, query):
        cluster.add_topic("u")
        fill(cluster, "u", partition=OTHER)
        query.run()
        cluster.delete_topic("u")
        fill(cluster, "d")
        query.die_at(moment)
        query.restart()
        query.run()
        assert "u-0 have been deleted" in caplog.text
        fill(cluster, "e")
        assert values(query.run()) == ["e"]
        cluster.add_topic("u")
        fill(cluster, "v", "w", partition=OTHER)
        assert values(query.run()) == ["v", "w"]
        assert sorted(values(query.checkpoint.rows)) == [*"abcdeuvw"]


# --- Topics that are re-created ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "is_fresh"),
    [(0, False), (3, False), (5, False), (1, True)],
    ids=["empty", "as long", "longer", "shorter, and metadata is fresh"],
)
@pytest.mark.parametrize("moment", AFTER_THE_LOG)
def test_fault_24_a_driver_dies_in_the_batch_that_moves_back(
    count: int, is_fresh: bool, moment: Moment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new driver does not know the id of the old topic. A shorter log refreshes metadata."""
    if is_fresh:
        set_default_max_age(monkeypatch, 60_000)
    with streaming(*IN_THREE, **GO_ON, **SLOW_NEWS) as (cluster, query):
        assert query.run() == ABC
        new = recreate(cluster, count)
        query.die_at(moment)
        assert query.checkpoint.offsets[-1] == {"t": {"0": 0}}
        query.restart()
        query.run()
        new += fill(cluster, "more 0", "more 1")
        query.run()
        assert values(query.checkpoint.rows) == [*"abc", *new]


def test_fault_24_without_topic_ids() -> None:
    """A topic that was missing for a while counts as re-created."""
    with streaming(*IN_THREE, **GO_ON) as (cluster, query):
        cluster.offer(MetadataRequest, VersionRange(0, 9))
        cluster.offer(FetchRequest, VersionRange(0, 12))
        assert query.run() == ABC
        cluster.delete_topic("t")
        assert query.trigger() is None
        new = recreate(cluster, 5)
        query.run()
        assert values(query.checkpoint.rows) == [*"abc", *new]


def test_fault_24_requests_fail_after_the_new_id_is_found() -> None:
    """The trigger is retried, and still knows that the topic was re-created."""
    for errors in ([ErrorCode.NOT_LEADER_OR_FOLLOWER], [ErrorCode.UNKNOWN_SERVER_ERROR] * 3):
        with streaming(*IN_THREE, **GO_ON, maxBytesPerTrigger=10_000) as (cluster, query):
            assert query.run() == ABC
            new = recreate(cluster, 5)
            for error in errors:
                cluster.add_fault(FetchRequest, error=error, count=1)
                cluster.add_fault(ListOffsetsRequest, error=error, count=1)
            assert values(query.run()) == new


def test_fault_24_a_topic_is_recreated_twice() -> None:
    with streaming(*IN_THREE, **GO_ON) as (cluster, query):
        query.run()
        new = recreate(cluster, 5)
        query.trigger()
        recreate(cluster, 0)
        query.trigger()
        cluster.add_topic("t")
        newest = fill(cluster, "newest 0", "newest 1")
        query.run()
        found = values(query.checkpoint.rows)
        assert [value for value in found if value in newest] == newest
        assert len(set(found)) == len(found)
        assert set(found) <= {*"abc", *new, *newest}


def test_fault_24_one_of_two_topics_is_recreated() -> None:
    """The other one loses nothing, and is read in the same batch."""
    with streaming(*IN_THREE, **GO_ON, subscribe="t,u") as (cluster, query):
        cluster.add_topic("u")
        fill(cluster, "u", partition=OTHER)
        query.run()
        new = recreate(cluster, 5)
        fill(cluster, "v", partition=OTHER)
        assert values(query.trigger() or []) == ["v"]
        assert values(query.run()) == new
