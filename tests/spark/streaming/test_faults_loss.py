"""Records, partitions and transactions that are lost under a stream: an error or a warning.

failOnDataLoss decides between the two. The driver raises what it can detect before Spark logs the
end. No record is read twice. The numbers in the names are those of the list of faults.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_protocol.errors import BrokerError, DataLossError, ErrorCode
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.records.transactions import ABORT
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.stream import AvailableNowError
from tests.fakes import faults
from tests.fakes.batch_reading import ABC, IN_THREE, IN_TWELVE, ONE_BY_ONE, TWELVE
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.log import in_transaction
from tests.fakes.reading import PARTITION
from tests.fakes.stream_loss import AFTER_THE_LOG, FAIL_OR_NOT, GO_ON, LIMITS, fill, recreate
from tests.fakes.stream_reading import Moment, Options, since_4_2, streaming, values

pytestmark = [pytest.mark.no_cover, pytest.mark.usefixtures("short_topic_grace")]

# --- Partitions that are added -------------------------------------------------------------------


def add_partition(cluster: ScriptedCluster, starts_at: int = 0) -> TopicPartition:
    added = TopicPartition("t", 1)
    topic = cluster.topics["t"]
    topic.partitions[1] = type(topic.partitions[0])(leader=1)
    cluster.log(added).start_offset = starts_at
    return added


@LIMITS
@pytest.mark.parametrize("moment", AFTER_THE_LOG)
def test_fault_25_a_partition_that_is_added(moment: Moment, limits: Options) -> None:
    """It is read from its beginning, even if the driver dies in the batch that finds it."""
    with streaming(*IN_THREE, startingOffsets="latest", **limits) as (cluster, query):
        query.run()
        added = add_partition(cluster)
        new = fill(cluster, "x", "y", "z", partition=added)
        query.die_at(moment)
        query.restart()
        query.run()
        assert values(query.checkpoint.rows) == new


@pytest.mark.parametrize("moment", AFTER_THE_LOG)
def test_fault_25_a_partition_added_during_the_first_batch(moment: Moment) -> None:
    """It is added after the start was looked up and before the end was."""
    with streaming(*IN_THREE) as (cluster, query):
        new = []
        for reached in query.moments():
            if reached == "start found":
                new = fill(cluster, "x", "y", "z", partition=add_partition(cluster))
            if reached == moment:
                break
        query.restart()
        query.run()
        assert sorted(values(query.checkpoint.rows)) == [*"abc", *new]


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


# --- Missing permissions -------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["from the first", "later"])
@FAIL_OR_NOT
def test_fault_26_an_unauthorized_topic(when: str, fail_on_data_loss: bool) -> None:
    """One request, and no data loss: the message names the permission."""
    with streaming(*IN_THREE, failOnDataLoss=fail_on_data_loss) as (cluster, query):
        if when == "later":
            query.run()
        before = len(cluster.asked(MetadataRequest))
        cluster.push_errors(MetadataRequest, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        message = r"topic 't'.*TOPIC_AUTHORIZATION_FAILED.*DESCRIBE"
        with pytest.raises(BrokerError, match=message) as caught:
            query.trigger()
        assert not caught.value.retriable
        assert len(cluster.asked(MetadataRequest)) == before + 1


def test_fault_26_an_unauthorized_task() -> None:
    with streaming(*IN_THREE) as (cluster, query):
        cluster.spoil(FetchRequest, faults.refusing(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        with pytest.raises(BrokerError, match=r"Fetch of t-0 .*TOPIC_AUTHORIZATION_FAILED.*READ"):
            query.trigger()
        assert len(cluster.asked(FetchRequest)) == 1


# --- Deleted and truncated records ---------------------------------------------------------------


def age_out(cluster: ScriptedCluster) -> None:
    cluster.log(PARTITION).delete_before(6)


@LIMITS
def test_fault_27_retention_deletes_unread_records(
    limits: Options, caplog: pytest.LogCaptureFixture
) -> None:
    """Only tasks detect it, to keep idle queries cheap; so the next driver fails again."""
    with streaming(*IN_THREE, **limits) as (cluster, query):
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


@pytest.mark.parametrize("moment", ["start found", "end found", "end logged", "planned"])
def test_fault_27_retention_deletes_records_during_a_trigger(moment: Moment) -> None:
    with streaming(*IN_THREE, **GO_ON) as (cluster, query):
        assert query.run() == ABC
        fill(cluster, *(str(offset) for offset in range(3, 10)))
        query.trigger(moment, lambda: age_out(cluster))
        query.run()
        assert values(query.checkpoint.rows) == [*"abc6789"]


@pytest.mark.parametrize("moment", ["start found", "end found", "end logged", "planned"])
@pytest.mark.parametrize("starting", ["earliest", "latest"])
def test_fault_27_retention_deletes_all_records(moment: Moment, starting: str) -> None:
    """The log is empty then, and keeps its end offset."""
    with streaming(*IN_THREE, **GO_ON, startingOffsets=starting) as (cluster, query):
        query.run()
        fill(cluster, "3", "4")
        query.trigger(moment, lambda: cluster.log(PARTITION).delete_before(5))
        query.run()
        fill(cluster, "5")
        assert query.run() == [(5, b"5")]


@LIMITS
def test_fault_28_a_log_became_shorter(limits: Options, caplog: pytest.LogCaptureFixture) -> None:
    """As after an unclean election: the same topic, with fewer records."""
    with streaming(*IN_THREE, **limits) as (cluster, query):
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


def test_fault_20_an_unclean_election_under_a_task(caplog: pytest.LogCaptureFixture) -> None:
    """New records at offsets that were already read are not read."""
    with streaming(*IN_TWELVE, nodes=2, **GO_ON, **ONE_BY_ONE) as (cluster, query):
        query.die_at("planned")
        (task,) = query.tasks()
        batches = task.batches()
        found = next(batches) + next(batches)
        cluster.log(PARTITION).truncate(1)
        cluster.move_leader(PARTITION, 2)
        fill(cluster, *(f"other {number}" for number in range(1, 12)))
        for rows in batches:
            found += rows
        assert [offset for offset, _ in found] == [*range(12)]
        assert "truncated to offset 1" in caplog.text


# --- Transactions --------------------------------------------------------------------------------

COMMIT = 1
COMMITTED: Options = {"kafka_isolation_level": "read_committed"}


@LIMITS
def test_fault_35_aborted_transactions(limits: Options) -> None:
    """The query skips their records and their markers."""
    with streaming(*IN_THREE, **COMMITTED, **limits) as (cluster, query):
        assert query.run() == ABC
        log = cluster.log(PARTITION)
        for producer in range(3):
            first = log.append(in_transaction(producer, b"aborted", b"aborted too"))
            log.end_transaction(producer, first, ABORT)
        query.run()
        assert query.checkpoint.offsets[-1] == {"t": {"0": log.end_offset}}
        first = log.append(in_transaction(7, b"committed"))
        log.end_transaction(7, first, COMMIT)
        fill(cluster, "d")
        query.run()
        assert values(query.checkpoint.rows) == [*"abc", "committed", "d"]


@LIMITS
@pytest.mark.parametrize("type_", [ABORT, COMMIT], ids=["aborted", "committed"])
@pytest.mark.parametrize("starting", ["earliest", "latest"])
def test_fault_36_an_open_transaction(limits: Options, type_: int, starting: str) -> None:
    """Nothing after its first record is read until it has ended."""
    with streaming(*IN_THREE, **COMMITTED, **limits, startingOffsets=starting) as (cluster, query):
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


def fewer(cluster: ScriptedCluster) -> None:
    recreate(cluster, 20)


def shrunk(cluster: ScriptedCluster) -> None:
    cluster.log(PARTITION).truncate(4)


def recreated_smaller(cluster: ScriptedCluster) -> None:
    recreate(cluster, 4, partitions=2)


def recreated_larger(cluster: ScriptedCluster) -> None:
    recreate(cluster, 20, partitions=2)


LOST = r"Some of partitions in Kafka topic\(s\) .* during running query with Trigger.AvailableNow"


@since_4_2
@pytest.mark.parametrize("change", [deleted, fewer, shrunk, recreated_smaller, recreated_larger])
@pytest.mark.parametrize(
    "strategy", [{"subscribe": "t,u"}, {"subscribePattern": "[tu]"}], ids=["names", "pattern"]
)
@pytest.mark.parametrize(
    "limit", [{"maxOffsetsPerTrigger": 5}, {"maxBytesPerTrigger": 400}], ids=["offsets", "bytes"]
)
@FAIL_OR_NOT
def test_fault_59_partitions_are_lost_or_shrunk(
    change: Callable[[ScriptedCluster], None],
    strategy: Options,
    limit: Options,
    fail_on_data_loss: bool,
) -> None:
    """An error before the end is logged, whatever failOnDataLoss says."""
    options: Options = {"failOnDataLoss": fail_on_data_loss, **strategy, **limit}
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


@since_4_2
def test_fault_59_later_records_are_left_to_the_next_run() -> None:
    with streaming(*IN_TWELVE, trigger="available now", maxOffsetsPerTrigger=5) as (cluster, query):
        found = query.trigger() or []
        fill(cluster, "late")
        fill(cluster, "added", partition=add_partition(cluster))
        assert found + query.run() == TWELVE
        query.restart()
        assert sorted(values(query.run())) == ["added", "late"]


@since_4_2
@pytest.mark.parametrize("moment", AFTER_THE_LOG)
def test_fault_59_a_driver_dies_during_a_run(moment: Moment) -> None:
    """The next driver runs the batch again, and continues to the ends of the logs now."""
    with streaming(*IN_TWELVE, trigger="available now", maxOffsetsPerTrigger=5) as (cluster, query):
        query.trigger()
        query.die_at(moment)
        fill(cluster, "late")
        query.restart()
        query.run()
        assert query.checkpoint.rows == [*TWELVE, (12, b"late")]
