"""Topics that go, or come anew, under a stream: an error that says which, or a warning.

Which of the two is what failOnDataLoss says. An error that the driver can know of comes before
Spark logs the end. No record ever comes twice, and of another topic that has the name now all come.
The numbers are those of the list of faults.
"""

from __future__ import annotations

import threading

import pytest

from kafka_protocol.errors import DataLossError, ErrorCode
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.schema import VersionRange
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.streaming import logs as stream_logs
from kafka_spark_source.testing.waiting import Deadline
from tests.fakes import faults
from tests.fakes.batch_reading import ABC, IN_THREE
from tests.fakes.stream_loss import (
    AFTER_THE_LOG,
    GO_ON,
    LIMITS,
    OTHER,
    create_anew,
    fill,
)
from tests.fakes.stream_reading import Moment, streaming, values

SOON_SECONDS = 10


pytestmark = pytest.mark.usefixtures("missing_topics_are_soon_believed")

# --- Topics that are deleted ---------------------------------------------------------------------

STRATEGIES = pytest.mark.parametrize(
    "strategy",
    [{"subscribe": "t"}, {"subscribePattern": "[tu]"}, {"assign": '{"t":[0]}'}],
    ids=lambda strategy: next(iter(strategy)),
)
BOTH = pytest.mark.parametrize(
    "strategy",
    [{"subscribe": "t,u"}, {"subscribePattern": "[tu]"}, {"assign": '{"t":[0],"u":[0]}'}],
    ids=lambda strategy: next(iter(strategy)),
)


@STRATEGIES
def test_fault_23_the_only_topic_is_deleted(strategy: dict[str, str]) -> None:
    with streaming(*IN_THREE, **strategy) as (cluster, query):
        assert query.run() == ABC
        del cluster.topics["t"]
        for _ in range(2):
            with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*t-0"):
                query.trigger()
            assert query.checkpoint.offsets == [{"t": {"0": 3}}]
            query.restart()


@STRATEGIES
def test_fault_23_the_only_topic_is_deleted_and_created_later(
    strategy: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with streaming(*IN_THREE, **GO_ON, **strategy) as (cluster, query):
        assert query.run() == ABC
        del cluster.topics["t"]
        for _ in range(3):
            assert query.trigger() is None
        assert caplog.text.count("t-0 have been deleted") == 1
        new = create_anew(cluster, 5)
        assert values(query.run()) == new


@BOTH
def test_fault_23_one_of_two_topics_is_deleted(strategy: dict[str, str]) -> None:
    with streaming(*IN_THREE, **strategy) as (cluster, query):
        cluster.add_topic("u")
        fill(cluster, "u", partition=OTHER)
        query.run()
        del cluster.topics["u"]
        fill(cluster, "d")
        for _ in range(2):
            with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*u-0"):
                query.trigger()
            assert query.checkpoint.offsets == [{"t": {"0": 3}, "u": {"0": 1}}]
            query.restart()


@BOTH
@pytest.mark.parametrize("moment", AFTER_THE_LOG)
def test_fault_23_or_left_out_with_a_warning(
    moment: Moment, strategy: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """Also by a successor of the driver that found out, and it is read when it is there again."""
    with streaming(*IN_THREE, **GO_ON, **strategy) as (cluster, query):
        cluster.add_topic("u")
        fill(cluster, "u", partition=OTHER)
        query.run()
        del cluster.topics["u"]
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


@pytest.mark.parametrize("moment", ["end found", "end logged", "planned"])
def test_fault_23_a_topic_is_deleted_in_the_middle_of_a_trigger(
    moment: Moment, caplog: pytest.LogCaptureFixture
) -> None:
    with streaming(*IN_THREE) as (cluster, query):
        with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*t-0.*offset 0"):
            query.trigger(moment, lambda: cluster.topics.pop("t"))
    with streaming(*IN_THREE, **GO_ON) as (cluster, query):
        query.trigger(moment, lambda: cluster.topics.pop("t"))
        assert query.checkpoint.rows == []
        assert "t-0 is unknown to the brokers" in caplog.text
        assert query.trigger() is None


# --- Topics that are created anew ----------------------------------------------------------------


@LIMITS
@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_fault_24_a_topic_that_is_created_anew(count: int, limits: dict[str, int]) -> None:
    """However many records it has: offsets alone would not tell."""
    with streaming(*IN_THREE, **limits) as (cluster, query):
        assert query.run() == ABC
        logged = [*query.checkpoint.ends]
        create_anew(cluster, count)
        with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*t-0.*re-created"):
            query.trigger()
        assert query.checkpoint.ends == logged


@LIMITS
@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_fault_24_or_read_from_its_beginning_with_a_warning(
    count: int, limits: dict[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    with streaming(*IN_THREE, **GO_ON, **limits) as (cluster, query):
        assert query.run() == ABC
        new = create_anew(cluster, count)
        query.run()
        new += fill(cluster, "more 0", "more 1", "more 2")
        query.run()
        assert values(query.checkpoint.rows) == [*"abc", *new]
        assert "t-0 have been deleted, and their topics re-created" in caplog.text


@pytest.mark.parametrize("count", [0, 1, 3, 5])
@pytest.mark.parametrize("moment", AFTER_THE_LOG)
def test_fault_24_and_the_driver_dies_in_the_batch_that_moves_back(
    count: int, moment: Moment
) -> None:
    with streaming(*IN_THREE, **GO_ON) as (cluster, query):
        assert query.run() == ABC
        new = create_anew(cluster, count)
        query.die_at(moment)
        assert query.checkpoint.offsets[-1] == {"t": {"0": 0}}
        query.restart()
        query.run()
        assert values(query.checkpoint.rows) == [*"abc", *new]


@pytest.mark.parametrize("count", [0, 1, 3, 5])
@pytest.mark.parametrize("moment", ["end found", "end logged", "committed", "planned", "read"])
def test_fault_24_a_topic_that_is_created_anew_in_the_middle_of_a_trigger(
    count: int, moment: Moment
) -> None:
    """The tasks read none of the new one; the next trigger begins it."""
    with streaming(*IN_THREE, **GO_ON) as (cluster, query):
        query.trigger(moment, lambda: create_anew(cluster, count))
        query.run()
        old = [*"abc"] if moment == "read" else []
        new = [f"new {number}" for number in range(count)]
        assert values(query.checkpoint.rows) == [*old, *new]


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("moment", AFTER_THE_LOG)
def test_fault_24_a_shorter_log_tells_while_nobody_asks_for_partitions(
    count: int, moment: Moment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the log moves back to the beginning at once: a new driver knows of no topic before."""
    monkeypatch.setattr(stream_logs, "_PARTITIONS_ARE_FRESH_MS", 60_000)
    with streaming(*IN_THREE, **GO_ON) as (cluster, query):
        assert query.run() == ABC
        new = create_anew(cluster, count)
        query.die_at(moment)
        query.restart()
        query.run()
        assert values(query.checkpoint.rows) == [*"abc", *new]


@pytest.mark.parametrize("count", [3, 5])
def test_fault_24_within_the_second_in_which_nobody_asks_for_partitions(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks that are sent for its records find another topic, and read none."""
    monkeypatch.setattr(stream_logs, "_PARTITIONS_ARE_FRESH_MS", 300)
    with streaming(*IN_THREE, **GO_ON) as (cluster, query):
        assert query.run() == ABC
        new = create_anew(cluster, count)
        deadline = Deadline(SOON_SECONDS)
        while len(query.checkpoint.rows) < 3 + count:
            assert not deadline.has_passed, query.checkpoint.ends
            query.trigger()
        assert values(query.checkpoint.rows) == [*"abc", *new]


@pytest.mark.parametrize("delay_ms", [270, 300, 330])
def test_fault_24_when_nobody_waits_for_it_any_longer(delay_ms: int) -> None:
    """It is created anew about when it would count as deleted, after 300 ms."""
    with streaming(*IN_THREE, **GO_ON, subscribePattern="t") as (cluster, query):
        assert query.run() == ABC
        del cluster.topics["t"]
        timer = threading.Timer(delay_ms / 1_000, create_anew, (cluster, 5))
        timer.start()
        query.trigger()
        timer.join(timeout=SOON_SECONDS)
        query.run()
        assert values(query.checkpoint.rows) == [*"abc", *(f"new {number}" for number in range(5))]


def test_fault_24_where_brokers_tell_no_ids() -> None:
    """A topic that was away, as far as anybody could see, is another one."""
    with streaming(*IN_THREE, **GO_ON) as (cluster, query):
        cluster.offer(MetadataRequest, VersionRange(0, 9))
        cluster.offer(FetchRequest, VersionRange(0, 12))
        assert query.run() == ABC
        del cluster.topics["t"]
        assert query.trigger() is None
        new = create_anew(cluster, 5)
        query.run()
        assert values(query.checkpoint.rows) == [*"abc", *new]


def test_fault_24_a_failure_right_after_it_was_told() -> None:
    """The trigger is tried again, and what brokers said of the topic is still known."""
    for errors in ([ErrorCode.NOT_LEADER_OR_FOLLOWER], [ErrorCode.UNKNOWN_SERVER_ERROR] * 3):
        with streaming(*IN_THREE, **GO_ON, maxBytesPerTrigger=10_000) as (cluster, query):
            assert query.run() == ABC
            new = create_anew(cluster, 5)
            cluster.push_errors(FetchRequest, *errors)
            cluster.push_errors(ListOffsetsRequest, *errors)
            assert values(query.run()) == new


def test_fault_24_twice_in_a_row() -> None:
    with streaming(*IN_THREE, **GO_ON) as (cluster, query):
        query.run()
        new = create_anew(cluster, 5)
        query.trigger()
        create_anew(cluster, 0)
        query.trigger()
        cluster.add_topic("t")
        newest = fill(cluster, "newest 0", "newest 1")
        query.run()
        found = values(query.checkpoint.rows)
        assert [value for value in found if value in newest] == newest
        assert len(set(found)) == len(found)
        assert set(found) <= {*"abc", *new, *newest}


def test_fault_24_a_broker_that_still_tells_the_id_before() -> None:
    """An id that was replaced is old, however often it is told."""
    with streaming(*IN_THREE, **GO_ON, kafka_topic_metadata_propagation_max_ms=5_000) as (
        cluster,
        query,
    ):
        query.run()
        before = cluster.topics["t"].topic_id
        new = create_anew(cluster, 5)
        assert values(query.run()) == new

        def older(response: MetadataResponse) -> None:
            for topic in response.topics:
                topic.topic_id = before

        cluster.spoil(MetadataRequest, faults.only(8, faults.changed(older)))
        query.run()
        fill(cluster, "last")
        query.run()
        assert values(query.checkpoint.rows) == [*"abc", *new, "last"]


def test_fault_24_one_of_two_topics_is_created_anew() -> None:
    """The other one loses nothing, and goes on in the same batch."""
    with streaming(*IN_THREE, **GO_ON, subscribe="t,u") as (cluster, query):
        cluster.add_topic("u")
        fill(cluster, "u", partition=OTHER)
        query.run()
        new = create_anew(cluster, 5)
        fill(cluster, "v", partition=OTHER)
        assert values(query.trigger() or []) == ["v"]
        assert values(query.run()) == new


@pytest.mark.parametrize("partitions", [(3, 1), (1, 3)], ids=["fewer", "more"])
def test_fault_24_with_another_number_of_partitions(partitions: tuple[int, int]) -> None:
    before, after = partitions
    with streaming(**GO_ON) as (cluster, query):
        cluster.add_topic("t", before)
        old = [f"old {number}" for number in range(before)]
        for number, name in enumerate(old):
            fill(cluster, name, partition=TopicPartition("t", number))
        query.run()
        cluster.add_topic("t", after)
        new = [f"new {number}" for number in range(after)]
        for number, name in enumerate(new):
            fill(cluster, name, partition=TopicPartition("t", number))
        query.run()
        assert values(query.checkpoint.rows) == old + new
