"""Faults of leaders during a batch read: they move, die, lag, lose records, or are not known yet.

A read returns each record once and in order, or names the loss. docs/faults.md lists the numbers.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest

from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.schema import Request, VersionRange
from tests.fakes import faults
from tests.fakes.batch_reading import (
    ABC,
    IN_THREE,
    IN_TWELVE,
    ONE_BY_ONE,
    TWELVE,
    Rows,
    filled,
    filled_mock,
    plan,
    planned,
    read,
)
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.log import Log, batch_of
from tests.fakes.mock_cluster import CUT, MockCluster
from tests.fakes.reading import PARTITION

pytestmark = [pytest.mark.no_cover, pytest.mark.usefixtures("alone_and_in_a_group")]

FIXED = '{"t":{"0":0}}'


# --- Leaders that move ---------------------------------------------------------------------------


@pytest.mark.parametrize("version", [4, 11, 12, 15, 18])
def test_fault_16_the_leader_moves_after_each_response(version: int) -> None:
    """From v12 on the error response names the new leader; before, it takes a Metadata request."""
    with planned(*IN_TWELVE) as (cluster, task):
        cluster.offer(FetchRequest, VersionRange(0, version))
        found: Rows = []
        seen = 0
        for rows in task.batches():
            found += rows
            asked = [node for node, _, _ in cluster.asked(FetchRequest)]
            leader = cluster.partition(PARTITION).leader
            # Not before the leader was asked: a Fetch that was sent ahead may have been answered by
            # the one before, and two moves in a row would pass this one by.
            if leader in asked[seen:]:
                cluster.move_leader(PARTITION, leader % 3 + 1)
                seen = len(asked)
        assert found == TWELVE
        assert len({node for node, _, _ in cluster.asked(FetchRequest)}) == 3


def test_fault_16_the_leader_moves_before_a_task() -> None:
    with planned(*IN_THREE) as (cluster, task):
        cluster.move_leader(PARTITION, 2)
        assert task.rows() == ABC
        # A worker that has read before has the old leader in its cache.
        cluster.move_leader(PARTITION, 3)
        assert task.rows() == ABC


def test_fault_16_the_leader_of_a_mock_partition_moves() -> None:
    with filled_mock(*IN_TWELVE) as mock:
        (task,) = plan(mock.addresses, **ONE_BY_ONE, kafka_fetch_max_wait_ms=20)
        found: Rows = []
        for rows, leader in zip(task.batches(), itertools.cycle([1, 2, 3])):
            found += rows
            mock.move_leader(PARTITION, leader)
        assert found == TWELVE


# --- Epochs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ListOffsetsRequest, FetchRequest], ids=lambda kind: kind.api_name)
@pytest.mark.parametrize("error", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH])
def test_fault_17_an_older_or_newer_leader_epoch(kind: type[Request], error: ErrorCode) -> None:
    with filled(*IN_THREE) as cluster:
        cluster.push_errors(kind, *[error] * 3)
        (task,) = plan(cluster.bootstrap_servers, **ONE_BY_ONE, startingOffsets=FIXED)
        cluster.push_errors(kind, *[error] * 3)
        assert task.rows() == ABC


def test_fault_17_a_stale_broker_does_not_move_the_leader_back() -> None:
    with planned(*IN_THREE, nodes=2) as (cluster, task):
        cluster.move_leader(PARTITION, 2)
        batches = task.batches()
        found = next(batches)

        def older(response: MetadataResponse) -> None:
            for topic in response.topics:
                if topic.name == PARTITION.topic:
                    topic.partitions[0].leader_id, topic.partitions[0].leader_epoch = 1, 0

        cluster.spoil(MetadataRequest, faults.changed(older))
        cluster.push_errors(FetchRequest, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        for rows in batches:
            found += rows
        assert found == ABC
        topic_id = cluster.topics["t"].topic_id
        asked = cluster.asked(FetchRequest)
        assert {
            node
            for node, request, _ in asked
            for topic in request.topics
            if topic.topic_id == topic_id
        } == {2}


# --- No leader -----------------------------------------------------------------------------------


@pytest.mark.parametrize("starting", ["earliest", FIXED])
def test_fault_18_a_slow_election(starting: str) -> None:
    """During planning, and again during the task."""
    with filled(*IN_THREE, nodes=2) as cluster:

        def leaderless(response: MetadataResponse) -> None:
            for row in response.topics[0].partitions:
                row.leader_id = -1
                row.error_code = int(ErrorCode.LEADER_NOT_AVAILABLE)

        cluster.spoil(MetadataRequest, faults.only(4, faults.changed(leaderless)))
        (task,) = plan(cluster.bootstrap_servers, startingOffsets=starting)
        cluster.spoil(MetadataRequest, faults.only(4, faults.changed(leaderless)))
        assert task.rows() == ABC


def test_fault_18_a_mock_partition_without_leader_for_a_while() -> None:
    with filled_mock(*IN_THREE) as mock:
        (task,) = plan(mock.addresses)
        mock.move_leader(PARTITION, -1)
        election = threading.Timer(0.2, mock.move_leader, (PARTITION, 2))
        election.start()
        try:
            assert task.rows() == ABC
        finally:
            election.join(timeout=10)


def test_fault_18_an_error_names_a_partition_without_leader() -> None:
    with planned(*IN_THREE, **{"kafkaConsumer.pollTimeoutMs": 200}) as (cluster, task):
        batches = task.batches()
        assert next(batches) == ABC[:1]
        cluster.move_leader(PARTITION, -1)
        with pytest.raises(BrokerError, match=r"t-0.*LEADER_NOT_AVAILABLE"):
            for _ in batches:
                pass


# --- Leaders that die ----------------------------------------------------------------------------


@pytest.mark.parametrize("moves", [True, False], ids=["and another leads", "and comes back"])
def test_fault_19_a_leader_restarts_five_times(moves: bool) -> None:
    """On another port each time; the connection and its responses are lost."""
    with planned(*IN_TWELVE) as (cluster, task):
        found: Rows = []
        for rows in task.batches():
            found += rows
            if len(found) % 2 == 0 and len(found) < len(TWELVE):
                leader = cluster.partition(PARTITION).leader
                cluster.stop(leader)
                if moves:
                    cluster.move_leader(PARTITION, cluster.partition(PARTITION).leader % 3 + 1)
                cluster.start(leader)
        assert found == TWELVE


def bounce(mock: MockCluster, leader: int) -> threading.Timer:
    """Stop a broker and start it again after 100 ms, on the same port."""
    mock.stop(leader)
    timer = threading.Timer(0.1, mock.start, (leader,))
    timer.start()
    return timer


def test_fault_19_a_mock_leader_restarts_five_times() -> None:
    with filled_mock(*IN_TWELVE) as mock:
        mock.move_leader(PARTITION, 2)
        (task,) = plan(mock.addresses, **ONE_BY_ONE, kafka_fetch_max_wait_ms=20)
        found: Rows = []
        for rows in task.batches():
            found += rows
            if len(found) % 2 == 0 and len(found) < len(TWELVE):
                bounce(mock, 2).join(timeout=10)
        assert found == TWELVE


# --- Replicas ------------------------------------------------------------------------------------


def unknown(cluster: ScriptedCluster) -> None:
    cluster.partition(PARTITION).preferred = 99


def down(cluster: ScriptedCluster) -> None:
    follow(cluster, until=12)
    cluster.stop(2)


def lagging(cluster: ScriptedCluster) -> None:
    follow(cluster, until=4)


def out_of_range(cluster: ScriptedCluster) -> None:
    """Its log is truncated below the read position after its first response."""
    log = follow(cluster, until=12)

    def cut_back(_response: FetchResponse) -> None:
        if log.end_offset == 12:
            log.truncate(1)

    cluster.spoil(FetchRequest, faults.changed(cut_back), 2)


def behind_its_start(cluster: ScriptedCluster) -> None:
    follow(cluster, until=12).delete_before(6)


def follow(cluster: ScriptedCluster, until: int) -> Log:
    """Make node 2 the preferred replica, with the log up to an offset."""
    log = Log()
    for values in IN_TWELVE[:until]:
        log.append(batch_of(*values))
    partition = cluster.partition(PARTITION)
    partition.preferred = 2
    partition.followers[2] = log
    return log


@pytest.mark.parametrize("fault", [unknown, down, lagging, out_of_range, behind_its_start])
def test_fault_21_an_unusable_preferred_replica(fault: Any) -> None:
    """The leader has the records: no loss, and no offset reset."""
    with planned(*IN_TWELVE, kafka_client_rack="here") as (cluster, task):
        fault(cluster)
        assert task.rows() == TWELVE


@pytest.mark.parametrize(
    "log", [(0, 0), (0, 2), (2, 3), (3, 3)], ids=["empty", "the head", "the tail", "only the end"]
)
def test_fault_21_a_mock_follower_has_a_part_of_the_log(log: tuple[int, int]) -> None:
    """It is the preferred replica for 200 ms."""
    with filled_mock(*IN_THREE) as mock:
        mock.move_leader(PARTITION, 1)
        options = {"kafka_client_rack": "here", "kafka_fetch_max_wait_ms": 20}
        (task,) = plan(mock.addresses, **ONE_BY_ONE, **options)
        mock.set_follower(PARTITION, 2, log)
        withdraw = threading.Timer(0.2, mock.set_follower, (PARTITION, -1))
        withdraw.start()
        try:
            assert task.rows() == ABC
        finally:
            withdraw.join(timeout=10)


# --- Brokers that do not know the topic yet ------------------------------------------------------


def without_topic(response: MetadataResponse) -> None:
    """The response of a broker that does not know the topic yet."""
    for topic in response.topics:
        topic.error_code = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        topic.partitions.clear()


def without_partition(response: MetadataResponse) -> None:
    for topic in response.topics:
        topic.partitions.clear()


@pytest.mark.parametrize("omit", [without_topic, without_partition])
@pytest.mark.parametrize("starting", ["earliest", FIXED])
def test_fault_22_stale_metadata_during_a_task(omit: Any, starting: str) -> None:
    """At its start, and in the middle of its range."""
    with planned(*IN_THREE, startingOffsets=starting) as (cluster, task):
        cluster.spoil(MetadataRequest, faults.only(3, faults.changed(omit)))
        assert task.rows() == ABC
        batches = task.batches()
        found = next(batches)
        cluster.spoil(MetadataRequest, faults.only(3, faults.changed(omit)))
        cluster.push_errors(FetchRequest, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        for rows in batches:
            found += rows
        assert found == ABC


@pytest.mark.parametrize("starting", ["earliest", FIXED])
def test_fault_22_stale_metadata_during_planning(starting: str) -> None:
    with filled(*IN_THREE, nodes=2) as cluster:
        cluster.spoil(MetadataRequest, faults.only(2, faults.changed(without_topic)))
        assert read(cluster.bootstrap_servers, startingOffsets=starting) == ABC


@pytest.mark.parametrize("kind", [ListOffsetsRequest, FetchRequest], ids=lambda kind: kind.api_name)
def test_fault_22_a_leader_does_not_know_the_topic_yet(kind: type[Request]) -> None:
    with filled(*IN_THREE) as cluster:
        (task,) = plan(cluster.bootstrap_servers)
        cluster.push_errors(kind, *[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 4)
        assert task.rows() == ABC


# --- Errors that pass ----------------------------------------------------------------------------

PASSING = [
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.OFFSET_NOT_AVAILABLE,
]


@pytest.mark.parametrize("error", PASSING)
@pytest.mark.parametrize("kind", [ListOffsetsRequest, FetchRequest], ids=lambda kind: kind.api_name)
def test_fault_40_a_passing_error_is_retried(kind: type[Request], error: ErrorCode) -> None:
    with filled(*IN_THREE) as cluster:
        cluster.push_errors(kind, *[error] * 3)
        (task,) = plan(cluster.bootstrap_servers, **ONE_BY_ONE, startingOffsets=FIXED)
        assert task.rows() == ABC
        cluster.push_errors(kind, *[error] * 3)
        assert task.rows() == ABC


@pytest.mark.parametrize("error", [*PASSING, CUT])
def test_fault_40_a_passing_error_of_a_mock_broker_is_retried(error: ErrorCode | int) -> None:
    with filled_mock(*IN_THREE) as mock:
        options = {"startingOffsets": FIXED, "kafka_fetch_max_wait_ms": 20}
        mock.push_errors(ListOffsetsRequest, error, error)
        mock.push_errors(FetchRequest, error, error)
        assert read(mock.addresses, **ONE_BY_ONE, **options) == ABC


@pytest.mark.parametrize("error", PASSING)
def test_fault_40_a_lasting_error_is_named_in_the_end(error: ErrorCode) -> None:
    with planned(*IN_THREE, **{"kafkaConsumer.pollTimeoutMs": 200}) as (cluster, task):
        batches = task.batches()
        assert next(batches) == ABC[:1]
        cluster.spoil(FetchRequest, faults.refusing(error))
        with pytest.raises(BrokerError, match=rf"Fetch of t-0 at offset [12] to .*{error.name}"):
            for _ in batches:
                pass
