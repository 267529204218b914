"""Faults of leaders under a stream: they move, die, lag behind, or have stale metadata.

Whenever this happens in a trigger, each record is read once and in order. Also counts the requests
of an idle query. The numbers in the names are those of the list of faults.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.schema import Request, VersionRange
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes import faults
from tests.fakes.batch_reading import ABC, IN_THREE, IN_TWELVE, ONE_BY_ONE, TWELVE
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.log import Log, batch_of
from tests.fakes.reading import PARTITION
from tests.fakes.stream_loss import FAIL_OR_NOT
from tests.fakes.stream_reading import LIMITS, MOMENTS, Moment, Options, streaming, values

pytestmark = pytest.mark.no_cover

# --- Leaders that move ---------------------------------------------------------------------------


@LIMITS
@pytest.mark.parametrize("moment", MOMENTS)
def test_fault_16_a_leader_that_moves_in_each_trigger(moment: Moment, limits: Options) -> None:
    with streaming(*IN_TWELVE, nodes=3, **limits) as (cluster, query):
        came_to = set()
        for _ in range(12):
            for reached in query.moments():
                if reached == moment:
                    came_to.add(moment)
                    cluster.move_leader(PARTITION, cluster.partition(PARTITION).leader % 3 + 1)
        assert came_to == {moment}
        assert query.checkpoint.rows == TWELVE


@pytest.mark.parametrize("version", [4, 12, 18])
def test_fault_16_a_leader_that_moves_under_a_task(version: int) -> None:
    with streaming(*IN_TWELVE, nodes=3, **ONE_BY_ONE) as (cluster, query):
        cluster.offer(FetchRequest, VersionRange(0, version))
        query.die_at("planned")
        (task,) = query.tasks()
        found = []
        for rows in task.batches():
            found += rows
            cluster.move_leader(PARTITION, cluster.partition(PARTITION).leader % 3 + 1)
        assert found == TWELVE


@pytest.mark.usefixtures("partitions_stay_fresh")
def test_fault_16_five_of_six_leaders_move() -> None:
    """A partition whose leader did not move is listed once, though others are retried."""
    with streaming(nodes=3) as (cluster, query):
        cluster.add_topic("t", 6)
        partitions = [TopicPartition("t", number) for number in range(6)]
        for tp in partitions:
            cluster.append(tp, b"first of %s" % str(tp).encode())
        query.run()
        for tp in partitions[:5]:
            cluster.move_leader(tp, cluster.partition(tp).leader % 3 + 1)
        for tp in partitions:
            cluster.append(tp, b"second of %s" % str(tp).encode())
        assert sorted(values(query.run())) == [f"second of {tp}" for tp in partitions]


# --- Epochs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ListOffsetsRequest, FetchRequest], ids=lambda kind: kind.api_name)
@pytest.mark.parametrize("error", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH])
def test_fault_17_fenced_and_unknown_leader_epochs(kind: type[Request], error: ErrorCode) -> None:
    with streaming(*IN_THREE, nodes=3, maxBytesPerTrigger=10_000) as (cluster, query):
        cluster.push_errors(kind, *[error] * 3)
        assert query.run() == ABC
        cluster.append(PARTITION, b"d")
        cluster.push_errors(kind, *[error] * 3)
        assert query.run() == [(3, b"d")]


@pytest.mark.usefixtures("partitions_are_never_fresh")
def test_fault_17_stale_metadata_does_not_move_the_leader_back() -> None:
    with streaming(*IN_THREE, nodes=2) as (cluster, query):
        cluster.move_leader(PARTITION, 2)
        assert query.run() == ABC

        def older(response: MetadataResponse) -> None:
            row = response.topics[0].partitions[0]
            row.leader_id, row.leader_epoch = 1, 0

        cluster.spoil(MetadataRequest, faults.changed(older))
        cluster.append(PARTITION, b"d")
        assert query.run() == [(3, b"d")]
        assert {node for node, _, _ in cluster.asked(ListOffsetsRequest)} == {2}


# --- No leader -----------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", MOMENTS)
def test_fault_18_a_slow_election(moment: Moment) -> None:
    with streaming(*IN_THREE, nodes=2) as (cluster, query):
        elections = []
        for _ in range(2):
            for reached in query.moments():
                if reached == moment:
                    cluster.move_leader(PARTITION, -1)
                    elections.append(threading.Timer(0.1, cluster.move_leader, (PARTITION, 2)))
                    elections[-1].start()
        for election in elections:
            election.join(timeout=10)
        query.run()
        assert elections
        assert query.checkpoint.rows == ABC


def test_fault_18_without_a_leader_the_error_names_the_partition() -> None:
    with streaming(*IN_THREE, kafka_default_api_timeout_ms=300) as (cluster, query):
        assert query.run() == ABC
        cluster.move_leader(PARTITION, -1)
        with pytest.raises(BrokerError, match=r"t-0.*LEADER_NOT_AVAILABLE"):
            query.run()
        assert query.checkpoint.offsets == [{"t": {"0": 3}}]


# --- Leaders that die ----------------------------------------------------------------------------


@LIMITS
@pytest.mark.parametrize("moves", [True, False], ids=["and another leads", "and comes back"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_fault_19_a_leader_dies_and_returns(moment: Moment, moves: bool, limits: Options) -> None:
    """It returns on another port, at the same moment of each trigger."""
    with streaming(*IN_TWELVE, nodes=3, **limits) as (cluster, query):
        for _ in range(12):
            for reached in query.moments():
                if reached == moment:
                    leader = cluster.partition(PARTITION).leader
                    cluster.stop(leader)
                    if moves:
                        cluster.move_leader(PARTITION, leader % 3 + 1)
                    cluster.start(leader)
        assert query.checkpoint.rows == TWELVE


@pytest.mark.parametrize("moment", MOMENTS)
def test_fault_19_a_leader_that_is_down_for_a_second(moment: Moment) -> None:
    """Longer than one attempt: the query waits, and does not fail."""
    quick: Options = {
        "kafka_socket_connection_setup_timeout_ms": 200,
        "kafka_default_api_timeout_ms": 20_000,
    }
    with streaming(*IN_THREE, nodes=2, **quick) as (cluster, query):
        assert query.run() == ABC
        cluster.append(PARTITION, b"d")
        back = threading.Timer(1, cluster.start, (1,))
        for reached in query.moments():
            if reached == moment:
                cluster.stop(1)
                back.start()
        query.run()
        back.join(timeout=10)
        query.run()
        assert query.checkpoint.rows == [*ABC, (3, b"d")]


@pytest.mark.parametrize(
    "kind", [ListOffsetsRequest, FetchRequest, MetadataRequest], ids=lambda kind: kind.api_name
)
@pytest.mark.parametrize("damage", [faults.response_lost, faults.closing, faults.cut_after(9)])
@pytest.mark.usefixtures("partitions_are_never_fresh")
def test_fault_05_responses_are_lost(kind: type[Request], damage: faults.Fault) -> None:
    with streaming(*IN_THREE, nodes=2, kafka_request_timeout_ms=200) as (cluster, query):
        assert query.run() == ABC
        cluster.append(PARTITION, b"d")
        cluster.spoil(kind, faults.only(2, damage))
        assert query.run() == [(3, b"d")]


# --- Replicas ------------------------------------------------------------------------------------


@pytest.mark.parametrize("replica", ["unknown", "lagging", "empty"])
def test_fault_21_an_unusable_preferred_replica(replica: str) -> None:
    """The leader has the records, so nothing is lost and no offset is reset."""
    options: Options = {"kafka_client_rack": "here", **ONE_BY_ONE, "maxOffsetsPerTrigger": 5}
    with streaming(*IN_TWELVE, nodes=3, **options) as (cluster, query):
        partition = cluster.partition(PARTITION)
        partition.preferred = 99 if replica == "unknown" else 2
        partition.followers[2] = Log()
        for _, value in TWELVE[: 4 if replica == "lagging" else 0]:
            partition.followers[2].append(batch_of(value or b""))
        assert query.run() == TWELVE


# --- Brokers with stale metadata -----------------------------------------------------------------


def without_topic(response: MetadataResponse) -> None:
    """The response of a broker that does not know the topic yet."""
    for topic in response.topics:
        topic.error_code = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        topic.partitions.clear()


def without_partition(response: MetadataResponse) -> None:
    for topic in response.topics:
        topic.partitions = [row for row in topic.partitions if row.partition_index == 0]


def without_any(response: MetadataResponse) -> None:
    response.topics.clear()


def with_another_id(response: MetadataResponse) -> None:
    """The response of a broker that knows an older or a newer topic of this name."""
    for topic in response.topics:
        topic.topic_id = topic.topic_id.__class__(int=99)


STALE = pytest.mark.parametrize(
    "omit", [without_topic, without_partition, without_any, with_another_id]
)
STRATEGIES = pytest.mark.parametrize(
    "strategy",
    [{"subscribe": "t"}, {"subscribePattern": "t"}, {"assign": '{"t":[0,1]}'}],
    ids=lambda strategy: next(iter(strategy)),
)


# Longer than a busy machine stands still: only the node with old metadata may be asked by then.
PATIENT: Options = {"kafka_topic_metadata_propagation_max_ms": 60_000}


def two_partitions(cluster: ScriptedCluster) -> tuple[TopicPartition, TopicPartition]:
    cluster.add_topic("t", 2)
    return TopicPartition("t", 0), TopicPartition("t", 1)


@STALE
@STRATEGIES
@FAIL_OR_NOT
@pytest.mark.usefixtures("partitions_are_never_fresh")
def test_fault_22_stale_metadata_loses_nothing(
    omit: Any, strategy: Options, fail_on_data_loss: bool, caplog: pytest.LogCaptureFixture
) -> None:
    options: Options = {"failOnDataLoss": fail_on_data_loss, **PATIENT, **strategy}
    with streaming(nodes=2, **options) as (cluster, query):
        first, second = two_partitions(cluster)
        cluster.append(first, b"a")
        cluster.append(second, b"b")
        assert values(query.run()) == ["a", "b"]
        for number in range(3):
            cluster.append(first, b"a%d" % number)
            cluster.append(second, b"b%d" % number)
            cluster.spoil(MetadataRequest, faults.only(2, faults.changed(omit)))
            assert values(query.run()) == [f"a{number}", f"b{number}"]
        assert query.checkpoint.offsets[-1] == {"t": {"0": 4, "1": 4}}
        assert not caplog.records


@pytest.mark.usefixtures("partitions_are_never_fresh")
def test_fault_22_a_partition_missing_from_metadata_comes_back() -> None:
    """It is the same topic, so the other partition is not read again."""
    with streaming(failOnDataLoss=False) as (cluster, query):
        first, second = two_partitions(cluster)
        cluster.append(first, b"a")
        cluster.append(second, b"b")
        assert values(query.run()) == ["a", "b"]
        tables = [node.broker.handlers for node in cluster.nodes.values()]
        (whole,) = (table[MetadataRequest] for table in tables)
        cluster.spoil(MetadataRequest, faults.changed(without_partition))
        cluster.append(first, b"a1")
        assert values(query.run()) == ["a1"]
        for table in tables:
            table[MetadataRequest] = whole
        cluster.append(first, b"a2")
        cluster.append(second, b"b1")
        rows = values(query.run())
        assert [value for value in rows if value.startswith("a")] == ["a2"]
        assert "b1" in rows


@pytest.mark.parametrize("kind", [ListOffsetsRequest, FetchRequest], ids=lambda kind: kind.api_name)
@FAIL_OR_NOT
def test_fault_22_a_leader_that_does_not_know_the_topic(
    kind: type[Request], fail_on_data_loss: bool
) -> None:
    with streaming(*IN_THREE, failOnDataLoss=fail_on_data_loss, **PATIENT) as (cluster, query):
        cluster.push_errors(kind, *[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 4)
        assert query.run() == ABC
        cluster.append(PARTITION, b"d")
        cluster.push_errors(kind, *[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 4)
        assert query.run() == [(3, b"d")]


# --- Transient errors ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.OFFSET_NOT_AVAILABLE],
)
@pytest.mark.parametrize("kind", [ListOffsetsRequest, FetchRequest], ids=lambda kind: kind.api_name)
@LIMITS
def test_fault_40_transient_errors_are_retried(
    kind: type[Request], error: ErrorCode, limits: Options
) -> None:
    with streaming(*IN_THREE, **limits) as (cluster, query):
        query.run()
        for number in range(3, 6):
            cluster.append(PARTITION, b"%d" % number)
            cluster.push_errors(kind, error)
            query.run()
        assert query.checkpoint.rows == [*ABC, (3, b"3"), (4, b"4"), (5, b"5")]


# --- Requests of an idle query -------------------------------------------------------------------


def request_counts(cluster: ScriptedCluster) -> Counter[tuple[int, str]]:
    """The number of requests so far, by node and API."""
    return Counter(
        (number, type(request).api_name)
        for number, node in cluster.nodes.items()
        for request, _ in node.broker.requests
    )


@pytest.mark.usefixtures("partitions_stay_fresh")
def test_an_idle_trigger_sends_each_leader_one_list_offsets() -> None:
    with streaming(nodes=3, commitOffsetsToGroup=True, kafka_group_id="g") as (cluster, query):
        cluster.add_topic("t", 7)
        cluster.append(PARTITION, b"a")
        query.run()
        for _ in range(3):
            before = request_counts(cluster)
            assert query.trigger() is None
            sent = request_counts(cluster) - before
            assert sent == {(node, "ListOffsets"): 1 for node in (1, 2, 3)}


@pytest.mark.usefixtures("partitions_stay_fresh")
@pytest.mark.parametrize(("coalesced", "fetches_of_a_leader"), [(True, 1), (False, 2)])
def test_a_task_on_a_warm_worker_sends_one_fetch(coalesced: bool, fetches_of_a_leader: int) -> None:
    """One to each leader, for all or for each of its partitions."""
    with streaming(nodes=3, coalescePartitions=coalesced) as (cluster, query):
        cluster.add_topic("t", 7)
        partitions = [TopicPartition("t", number) for number in range(7)]
        for round_ in (b"first", b"second", b"third"):
            before = request_counts(cluster)
            for tp in partitions[1:]:
                cluster.append(tp, round_)
            rows = query.trigger()
            assert rows is not None
            assert values(rows) == [round_.decode()] * 6
            if round_ != b"first":
                ends = {(node, "ListOffsets"): 1 for node in (1, 2, 3)}
                fetches = {(node, "Fetch"): fetches_of_a_leader for node in (1, 2, 3)}
                assert request_counts(cluster) - before == ends | fetches
