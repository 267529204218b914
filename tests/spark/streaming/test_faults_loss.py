"""What is gone for good under a stream: an error that says what, or a warning and the rest.

Which of the two is what failOnDataLoss says. An error that the driver can know of comes before
Spark logs the end. No record ever comes twice, and of another topic that has the name now all come.
The numbers are those of the list of faults.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql.datasource import DataSourceStreamReader

from kafka_protocol.errors import BrokerError, DataLossError, ErrorCode
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.records.transactions import ABORT
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.stream import AvailableNowError
from tests.fakes import faults
from tests.fakes.batch_reading import ABC, IN_THREE, IN_TWELVE, ONE_BY_ONE, TWELVE
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.log import in_transaction
from tests.fakes.reading import PARTITION
from tests.fakes.stream_loss import (
    AFTER_THE_LOG,
    FAIL_OR_NOT,
    GO_ON,
    LIMITS,
    create_anew,
    fill,
)
from tests.fakes.stream_reading import Moment, streaming, values

knows_available_now = pytest.mark.skipif(
    not hasattr(DataSourceStreamReader, "getDefaultReadLimit"),
    reason="one micro-batch is all that Trigger.AvailableNow runs before PySpark 4.2",
)


pytestmark = pytest.mark.usefixtures("missing_topics_are_soon_believed")

# --- Partitions that are added -------------------------------------------------------------------


def add_partition(cluster: ScriptedCluster, starts_at: int = 0) -> TopicPartition:
    added = TopicPartition("t", 1)
    topic = cluster.topics["t"]
    topic.partitions[1] = type(topic.partitions[0])(leader=1)
    cluster.log(added).start_offset = starts_at
    return added


@LIMITS
@pytest.mark.parametrize("moment", AFTER_THE_LOG)
def test_fault_25_a_partition_that_is_added(moment: Moment, limits: dict[str, int]) -> None:
    """It is read from its beginning, also where the driver dies in the batch that finds it."""
    with streaming(*IN_THREE, startingOffsets="latest", **limits) as (cluster, query):
        query.run()
        added = add_partition(cluster)
        new = fill(cluster, "x", "y", "z", partition=added)
        query.die_at(moment)
        query.restart()
        query.run()
        assert values(query.checkpoint.rows) == new


@pytest.mark.parametrize("moment", AFTER_THE_LOG)
def test_fault_25_a_partition_that_comes_with_the_first_batch(moment: Moment) -> None:
    """Between the look at where the query starts, and the one at how far it goes."""
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


def test_fault_25_a_partition_that_does_not_begin_at_zero(
    caplog: pytest.LogCaptureFixture,
) -> None:
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


# --- What may not be read ------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["from the first", "later"])
@FAIL_OR_NOT
def test_fault_26_a_topic_that_may_not_be_read(when: str, fail_on_data_loss: bool) -> None:
    """Asked once, and no loss of data: the message says what to allow."""
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


def test_fault_26_a_task_that_may_not_read() -> None:
    with streaming(*IN_THREE) as (cluster, query):
        cluster.spoil(FetchRequest, faults.refusing(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        with pytest.raises(BrokerError, match=r"Fetch of t-0 .*TOPIC_AUTHORIZATION_FAILED.*READ"):
            query.trigger()
        assert len(cluster.asked(FetchRequest)) == 1


# --- Records that are gone -----------------------------------------------------------------------


def age_out(cluster: ScriptedCluster) -> None:
    cluster.log(PARTITION).delete_before(6)


@LIMITS
def test_fault_27_retention_passes_the_query_by(
    limits: dict[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    """Tasks find out, as idling is to cost no more; so it is told again by the next driver."""
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
def test_fault_27_records_age_out_in_the_middle_of_a_trigger(moment: Moment) -> None:
    with streaming(*IN_THREE, **GO_ON) as (cluster, query):
        assert query.run() == ABC
        fill(cluster, *(str(offset) for offset in range(3, 10)))
        query.trigger(moment, lambda: age_out(cluster))
        query.run()
        assert values(query.checkpoint.rows) == [*"abc6789"]


@pytest.mark.parametrize("moment", ["start found", "end found", "end logged", "planned"])
@pytest.mark.parametrize("starting", ["earliest", "latest"])
def test_fault_27_all_records_age_out(moment: Moment, starting: str) -> None:
    """Up to the end of the log, which keeps its place."""
    with streaming(*IN_THREE, **GO_ON, startingOffsets=starting) as (cluster, query):
        query.run()
        fill(cluster, "3", "4")
        query.trigger(moment, lambda: cluster.log(PARTITION).delete_before(5))
        query.run()
        fill(cluster, "5")
        assert query.run() == [(5, b"5")]


@LIMITS
def test_fault_28_a_log_that_became_shorter(
    limits: dict[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    """By an election, say: the topic is the same, and so are the records that it still has."""
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


def test_fault_28_a_log_that_seems_shorter_for_a_moment() -> None:
    """A broker that has just become its leader may be behind."""
    with streaming(*IN_THREE, nodes=2) as (cluster, query):
        assert query.run() == ABC
        log = cluster.log(PARTITION)

        def behind(response: ListOffsetsResponse) -> None:
            response.topics[0].partitions[0].offset = 1

        cluster.spoil(ListOffsetsRequest, faults.only(1, faults.changed(behind)))
        assert query.trigger() is None
        assert log.end_offset == 3
        fill(cluster, "d")
        assert query.run() == [(3, b"d")]


def test_fault_20_an_unclean_election_under_a_task(caplog: pytest.LogCaptureFixture) -> None:
    """What was read stays, and what stands at its offsets now is not read as well."""
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
COMMITTED = {"kafka_isolation_level": "read_committed"}


@LIMITS
def test_fault_35_aborted_transactions(limits: dict[str, int]) -> None:
    """Their records are left out, and the query moves past them and their markers."""
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
def test_fault_36_an_open_transaction(limits: dict[str, int], type_: int, starting: str) -> None:
    """Nothing behind its beginning is read, and all of it when it has ended."""
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
    create_anew(cluster, 20)


def shrunk(cluster: ScriptedCluster) -> None:
    cluster.log(PARTITION).truncate(4)


def anew_and_smaller(cluster: ScriptedCluster) -> None:
    create_anew(cluster, 4, partitions=2)


def anew_and_larger(cluster: ScriptedCluster) -> None:
    create_anew(cluster, 20, partitions=2)


LOST = r"Some of partitions in Kafka topic\(s\) .* during running query with Trigger.AvailableNow"


@knows_available_now
@pytest.mark.parametrize("befall", [deleted, fewer, shrunk, anew_and_smaller, anew_and_larger])
@pytest.mark.parametrize("strategy", [{"subscribe": "t,u"}, {"subscribePattern": "[tu]"}])
@pytest.mark.parametrize("limit", [{"maxOffsetsPerTrigger": 5}, {"maxBytesPerTrigger": 400}])
@FAIL_OR_NOT
def test_fault_59_partitions_are_lost_or_shrunk(
    befall: Callable[[ScriptedCluster], None],
    strategy: dict[str, str],
    limit: dict[str, int],
    fail_on_data_loss: bool,
) -> None:
    """An error whatever failOnDataLoss says, before the end is logged."""
    options = {"failOnDataLoss": fail_on_data_loss, **strategy, **limit}
    with streaming(trigger="available now", **options) as (cluster, query):
        for topic in ("t", "u"):
            cluster.add_topic(topic, 2)
            for number in range(6):
                fill(cluster, f"{topic} {number}", partition=TopicPartition(topic, 0))
                fill(cluster, f"{topic} {number}'", partition=TopicPartition(topic, 1))
        assert query.trigger()
        befall(cluster)
        with pytest.raises(AvailableNowError, match=LOST):
            query.run()
        # A log that shrank is read as far as it goes.
        assert query.checkpoint.finished == len(query.checkpoint.ends)
        assert befall is shrunk or query.checkpoint.finished == 1
        assert not any("new" in value for value in values(query.checkpoint.rows))


@knows_available_now
def test_fault_59_what_comes_after_the_first_look_is_left_to_the_next_run() -> None:
    with streaming(*IN_TWELVE, trigger="available now", maxOffsetsPerTrigger=5) as (cluster, query):
        found = query.trigger() or []
        fill(cluster, "late")
        fill(cluster, "added", partition=add_partition(cluster))
        assert found + query.run() == TWELVE
        query.restart()
        assert sorted(values(query.run())) == ["added", "late"]


@knows_available_now
@pytest.mark.parametrize("moment", AFTER_THE_LOG)
def test_fault_59_a_driver_that_dies_in_the_middle(moment: Moment) -> None:
    """Its successor runs the batch again, and goes on to what is there now."""
    with streaming(*IN_TWELVE, trigger="available now", maxOffsetsPerTrigger=5) as (cluster, query):
        query.trigger()
        query.die_at(moment)
        fill(cluster, "late")
        query.restart()
        query.run()
        assert query.checkpoint.rows == [*TWELVE, (12, b"late")]
