"""Topics that are deleted or re-created under a stream: an error or a warning.

failOnDataLoss decides between the two. The driver raises what it can detect before Spark logs the
end. No record is read twice, and all records of a re-created topic are read. `test_logs` has how a
query finds such topics. docs/faults.md lists the numbers.
"""

from __future__ import annotations

import pytest

from kafka_protocol.errors import DataLossError, ErrorCode
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.schema import VersionRange
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing.waiting import Deadline
from tests.fakes.batch_reading import ABC, IN_THREE
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.fakes.stream_loss import GO_ON, OTHER, fill, recreate
from tests.fakes.stream_reading import AFTER_THE_LOG, Moment, Options, streaming, values
from tests.spark.conftest import set_default_max_age

SOON_SECONDS = 10

# A re-created topic is known by its id long before: on a slow machine too.
SLOW_NEWS: Options = {"kafka_topic_metadata_propagation_max_ms": 5_000}

pytestmark = [pytest.mark.no_cover, pytest.mark.usefixtures("short_topic_grace")]

# --- Topics that are deleted ---------------------------------------------------------------------

BOTH = pytest.mark.parametrize(
    "strategy",
    [{"subscribe": "t,u"}, {"subscribePattern": "[tu]"}, {"assign": '{"t":[0],"u":[0]}'}],
    ids=lambda strategy: next(iter(strategy)),
)


def test_fault_23_a_deleted_topic_is_an_error_before_an_end_is_logged() -> None:
    with streaming(*IN_THREE) as (cluster, query):
        assert query.run() == ABC
        del cluster.topics["t"]
        for _ in range(2):
            with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*t-0"):
                query.trigger()
            assert query.checkpoint.offsets == [{"t": {"0": 3}}]
            query.restart()


@pytest.mark.parametrize("release", ["2.7.0", "99"], ids=["without ids", "with ids"])
def test_fault_23_all_topics_of_a_pattern_are_deleted(release: str) -> None:
    """The wait for metadata is longer than default.api.timeout.ms: the query goes on."""
    patience = {
        "kafka.retry.backoff.max.ms": 1_000,
        "kafka.default.api.timeout.ms": 3_000,
        "kafka.topic.metadata.propagation.max.ms": 30_000,
    }
    with (
        sleeps_take_no_time(),
        streaming(*IN_THREE, **GO_ON, subscribePattern="[tu]") as (cluster, query),
    ):
        for node in cluster.nodes.values():
            node.release = release
        query.restart(**patience)
        assert query.run() == ABC
        del cluster.topics["t"]
        assert query.trigger() is None
        cluster.add_topic("u")
        fill(cluster, "u", partition=OTHER)
        assert values(query.run()) == ["u"]


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


@pytest.mark.parametrize("moment", ["end found", "planned"])
def test_fault_23_a_topic_is_deleted_during_a_trigger(
    moment: Moment, caplog: pytest.LogCaptureFixture
) -> None:
    with streaming(*IN_THREE) as (cluster, query):
        with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*t-0.*offset 0"):
            query.trigger(moment, lambda: cluster.topics.pop("t"))
    with streaming(*IN_THREE, **GO_ON) as (cluster, query):
        query.trigger(moment, lambda: cluster.topics.pop("t"))
        assert query.checkpoint.rows == []
        assert "t-0 is unknown to every broker" in caplog.text
        assert query.trigger() is None


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


@pytest.mark.parametrize("count", [0, 5])
@pytest.mark.parametrize("moment", ["end found", "planned", "read"])
def test_fault_24_a_topic_is_recreated_during_a_trigger(count: int, moment: Moment) -> None:
    """The tasks read no record of the new topic; the next trigger starts with it."""
    with streaming(*IN_THREE, **GO_ON, **SLOW_NEWS) as (cluster, query):
        query.trigger(moment, lambda: recreate(cluster, count))
        query.run()
        old = [*"abc"] if moment == "read" else []
        new = [f"new {number}" for number in range(count)]
        assert values(query.checkpoint.rows) == [*old, *new]


@pytest.mark.parametrize("count", [3, 5])
def test_fault_24_a_topic_is_recreated_while_metadata_is_fresh(count: int) -> None:
    """Tasks that were planned for the old topic find the new one, and read nothing."""
    with streaming(*IN_THREE, **GO_ON, kafka_metadata_max_age_ms=300) as (cluster, query):
        assert query.run() == ABC
        new = recreate(cluster, count)
        deadline = Deadline(SOON_SECONDS)
        while len(query.checkpoint.rows) < 3 + count:
            assert not deadline.has_passed, query.checkpoint.ends
            query.trigger()
        assert values(query.checkpoint.rows) == [*"abc", *new]


def test_fault_24_without_topic_ids() -> None:
    """A topic that was missing for a while counts as re-created."""
    with streaming(*IN_THREE, **GO_ON) as (cluster, query):
        cluster.offer(MetadataRequest, VersionRange(0, 9))
        cluster.offer(FetchRequest, VersionRange(0, 12))
        assert query.run() == ABC
        del cluster.topics["t"]
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
            cluster.push_errors(FetchRequest, *errors)
            cluster.push_errors(ListOffsetsRequest, *errors)
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


@pytest.mark.parametrize("partitions", [(3, 1), (1, 3)], ids=["fewer", "more"])
def test_fault_24_a_topic_is_recreated_with_other_partitions(partitions: tuple[int, int]) -> None:
    written = []
    with streaming(**GO_ON) as (cluster, query):
        for age, count in zip(("old", "new"), partitions, strict=True):
            cluster.add_topic("t", count)
            for number in range(count):
                tp = TopicPartition("t", number)
                written += fill(cluster, f"{age} {number}", partition=tp)
            query.run()
        assert values(query.checkpoint.rows) == written
