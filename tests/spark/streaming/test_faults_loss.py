"""Records, partitions and transactions that are lost under a stream: an error or a warning.

failOnDataLoss decides between the two. The driver raises what it can detect before Spark logs the
end. No record is read twice. docs/faults.md lists the numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_protocol.errors import DataLossError
from kafka_protocol.records.transactions import ABORT
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.stream import AvailableNowError
from tests.fakes.batch_reading import ABC, IN_THREE
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.log import in_transaction
from tests.fakes.reading import PARTITION
from tests.fakes.stream_loss import GO_ON, fill, recreate
from tests.fakes.stream_reading import Moment, Options, since_4_2, streaming, values

pytestmark = [pytest.mark.no_cover, pytest.mark.usefixtures("short_topic_grace")]

# --- Partitions that are added -------------------------------------------------------------------


def add_partition(cluster: ScriptedCluster, starts_at: int = 0) -> TopicPartition:
    added = TopicPartition("t", 1)
    topic = cluster.topics["t"]
    topic.partitions[1] = type(topic.partitions[0])(leader=1)
    cluster.log(added).start_offset = starts_at
    return added


def test_fault_25_a_partition_that_does_not_begin_at_zero(caplog: pytest.LogCaptureFixture) -> None:
    with streaming(*IN_THREE) as (cluster, query):
        query.run()
        fill(cluster, "x", "y", partition=add_partition(cluster, starts_at=4))
        with pytest.raises(
            DataLossError, match=r"ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO.*t-1.*4"
        ):
            query.trigger()
        assert len(query.checkpoint.ends) == 1
        query.restart(**GO_ON)
        assert query.run() == [(4, b"x"), (5, b"y")]
        assert "t-1 starts from 4" in caplog.text


# --- Deleted and truncated records ---------------------------------------------------------------


def age_out(cluster: ScriptedCluster) -> None:
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
        assert "the log holds [6, 10). Going on without them" in caplog.text


@pytest.mark.parametrize("moment", ["start found", "end found", "planned"])
def test_fault_27_retention_deletes_records_during_a_trigger(moment: Moment) -> None:
    with streaming(*IN_THREE, **GO_ON) as (cluster, query):
        assert query.run() == ABC
        fill(cluster, *(str(offset) for offset in range(3, 10)))
        query.trigger(moment, lambda: age_out(cluster))
        query.run()
        assert values(query.checkpoint.rows) == [*"abc6789"]


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

COMMIT = 1
COMMITTED: Options = {"kafka_isolation_level": "read_committed"}


@pytest.mark.parametrize("type_", [ABORT, COMMIT], ids=["aborted", "committed"])
@pytest.mark.parametrize("starting", ["earliest", "latest"])
def test_fault_35_and_36_an_open_transaction(type_: int, starting: str) -> None:
    """Nothing after its first record is read until it has ended."""
    with streaming(*IN_THREE, **COMMITTED, startingOffsets=starting) as (cluster, query):
        log = cluster.log(PARTITION)
        log.append(in_transaction(1, b"open"))
        log.first_unstable_offset = 3
        fill(cluster, "d", "e")
        assert query.run() == (ABC if starting == "earliest" else [])
        for _ in range(2):
            assert query.trigger() is None
        assert query.checkpoint.offsets[-1] == {"t": {"0": 3}}
        query.restart()
        assert query.trigger() is None
        log.end_transaction(1, 3, type_)
        log.first_unstable_offset = None
        query.run()
        new = ["open"] if type_ == COMMIT else []
        old = [*"abc"] if starting == "earliest" else []
        assert values(query.checkpoint.rows) == [*old, *new, "d", "e"]


# --- Trigger.AvailableNow ------------------------------------------------------------------------


def deleted(cluster: ScriptedCluster) -> None:
    del cluster.topics["t"]


def shrunk(cluster: ScriptedCluster) -> None:
    cluster.log(PARTITION).truncate(4)


def recreated(cluster: ScriptedCluster) -> None:
    recreate(cluster, 20, partitions=2)


LOST = r"Some of partitions in Kafka topic\(s\) .* during running query with Trigger.AvailableNow"


@since_4_2
@pytest.mark.parametrize("change", [deleted, shrunk, recreated])
@pytest.mark.parametrize("strategy", [{"subscribe": "t,u"}, {"subscribePattern": "[tu]"}], ids=str)
def test_fault_59_partitions_are_lost_or_shrunk(
    change: Callable[[ScriptedCluster], None], strategy: Options
) -> None:
    """An error before the end is logged, though failOnDataLoss is false."""
    options: Options = {**GO_ON, **strategy, "maxOffsetsPerTrigger": 5}
    with streaming(trigger="available now", **options) as (cluster, query):
        for topic in ("t", "u"):
            cluster.add_topic(topic, 2)
            for number in range(6):
                fill(cluster, f"{topic} {number}", partition=TopicPartition(topic, 0))
                fill(cluster, f"{topic} {number}'", partition=TopicPartition(topic, 1))
        assert query.trigger()
        change(cluster)
        with pytest.raises(AvailableNowError, match=LOST):
            query.run()
        # A truncated log is read up to its end.
        assert query.checkpoint.finished == len(query.checkpoint.ends)
        assert change is shrunk or query.checkpoint.finished == 1
        assert not any("new" in value for value in values(query.checkpoint.rows))
