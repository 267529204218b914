"""Faults between the plan of a batch read and its rows: no record is lost, or an error names it.

The client decides about each fault, and `tests/protocol/client` has all its cases. Here one of each
kind meets the plan, and then the task: one that reads a range, and one that reads several with the
same Fetches until one of them needs attention. docs/faults.md lists the numbers.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from kafka_protocol.client.config.client import Address
from kafka_protocol.errors import BrokerConnectionError, BrokerError, ErrorCode, KafkaTimeoutError
from kafka_protocol.messages.api_versions import ApiVersionsRequest
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.schema import VersionRange
from tests.fakes import changes, faults, fetch_cases
from tests.fakes.batch_reading import (
    ABC,
    IN_THREE,
    IN_TWELVE,
    ONE_BY_ONE,
    TWELVE,
    Rows,
    filled,
    plan,
    planned,
    read,
)
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.log import Log, batch_of
from tests.fakes.reading import PARTITION
from tests.fakes.skipping_time import sleeps_take_no_time

pytestmark = pytest.mark.no_cover

# Else the driver would list no offsets.
FIXED = '{"t":{"0":0}}'


def without_partition(response: MetadataResponse) -> None:
    for topic in response.topics:
        topic.partitions.clear()


OF_CONNECTIONS = {
    f"{kind.api_name} {name}": changes.spoiled(kind, fault, times)
    for kind in (MetadataRequest, ListOffsetsRequest, FetchRequest)
    for name, fault, times in (
        ("cut", faults.cut_after(30), 2),
        ("lost", faults.response_lost, 1),
        ("late", faults.delayed(50), 2),
    )
}
OF_LEADERS = {
    f"{kind.api_name} {error.name}": changes.refused(kind, error)
    for kind in (ListOffsetsRequest, FetchRequest)
    for error in faults.errors(
        "NOT_LEADER_OR_FOLLOWER FENCED_LEADER_EPOCH UNKNOWN_TOPIC_OR_PARTITION KAFKA_STORAGE_ERROR"
    )
} | {
    change.__name__: changes.spoiled(MetadataRequest, faults.changed(change), 3)
    for change in (changes.leaderless, changes.without_topics)
}
OF_RESPONSES = {
    "cut batches": lambda cluster: cluster.spoil(FetchRequest, faults.records_cut_at([60, 75, 9])),
    "session": changes.spoiled(
        FetchRequest, faults.refusing_all(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    ),
    "no partition": changes.spoiled(FetchRequest, faults.changed(fetch_cases.no_partition)),
    "another topic": changes.spoiled(FetchRequest, faults.changed(fetch_cases.other_topic_first)),
    "no offsets": changes.spoiled(ListOffsetsRequest, faults.changed(lambda it: it.topics.clear())),
}


def read_through(fault: changes.Change, *, beside: bool) -> Rows:
    """The rows of a task, with the fault in its plan and again in the task."""
    options = {**ONE_BY_ONE, "startingOffsets": FIXED, "kafka_request_timeout_ms": 200}
    with filled(*IN_THREE, nodes=2, beside=beside) as cluster:
        fault(cluster)
        (task,) = plan(cluster.bootstrap_servers, beside=beside, **options)
        fault(cluster)
        return task.rows()


@pytest.mark.parametrize("fault", OF_CONNECTIONS.values(), ids=OF_CONNECTIONS)
def test_fault_04_05_and_06_faults_of_connections_pass(fault: changes.Change, beside: bool) -> None:
    assert read_through(fault, beside=beside) == ABC


@pytest.mark.parametrize("fault", OF_LEADERS.values(), ids=OF_LEADERS)
def test_fault_17_18_22_and_40_faults_of_leaders_pass(fault: changes.Change, beside: bool) -> None:
    assert read_through(fault, beside=beside) == ABC


def test_fault_22_a_partition_is_missing_in_metadata_of_a_task(beside: bool) -> None:
    with planned(*IN_THREE, beside=beside) as (cluster, task):
        changes.spoiled(MetadataRequest, faults.changed(without_partition))(cluster)
        assert task.rows() == ABC


@pytest.mark.parametrize("fault", OF_RESPONSES.values(), ids=OF_RESPONSES)
def test_fault_29_38_and_39_faults_of_responses_pass(fault: changes.Change, beside: bool) -> None:
    assert read_through(fault, beside=beside) == ABC


# --- Errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("starting", ["earliest", FIXED])
def test_fault_02_an_advertised_address_is_unreachable(starting: str) -> None:
    """The driver finds it if it lists offsets, else the task does."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dead = Address("127.0.0.1", listener.getsockname()[1])
    with filled(*IN_THREE) as cluster, sleeps_take_no_time():
        cluster.advertised[1] = dead
        (server,) = cluster.bootstrap_servers
        with pytest.raises(
            BrokerConnectionError,
            match=rf"kafka.bootstrap.servers {server} answered, but broker 1 advertises {dead}, "
            rf"which cannot be reached from here: {dead}: connection refused.*advertised.listeners",
        ):
            read([server], startingOffsets=starting)


def of_an_open_transaction(cluster: ScriptedCluster) -> None:
    """The last stable offset of a new leader may be older."""
    cluster.log(PARTITION).first_unstable_offset = 1


@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        (
            lambda cluster: cluster.spoil(
                FetchRequest, faults.refusing(ErrorCode.KAFKA_STORAGE_ERROR)
            ),
            BrokerError,
            r"Fetch of t-0 at offset [12] to .*KAFKA_STORAGE_ERROR",
        ),
        (
            lambda cluster: cluster.move_leader(PARTITION, -1),
            BrokerError,
            r"t-0.*LEADER_NOT_AVAILABLE",
        ),
        (
            of_an_open_transaction,
            KafkaTimeoutError,
            r"offset 1 of t-0 .*open transaction holds the last stable offset at 1",
        ),
    ],
    ids=["refused", "no leader", "open transaction"],
)
def test_fault_18_36_and_40_what_lasts_is_named_after_the_poll_timeout(
    fault: changes.Change, kind: type[Exception], message: str, beside: bool
) -> None:
    options: dict[str, Any] = {
        "kafka_isolation_level": "read_committed",
        "kafkaConsumer.pollTimeoutMs": 200,
        "endingOffsets": '{"t":{"0":3}}',
    }
    with planned(*IN_THREE, beside=beside, **options) as (cluster, task):
        if fault is of_an_open_transaction:
            fault(cluster)
        batches = task.batches()
        assert next(batches) == ABC[:1]
        fault(cluster)
        with pytest.raises(kind, match=message):
            for _ in batches:
                pass


# --- Logs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "offsets"),
    [
        (fetch_cases.hole, [0, 1, 2, 10]),
        (fetch_cases.headless, [5]),
        (fetch_cases.short, [0, 1, 2]),
        (fetch_cases.hollow, [0, 1, 2]),
        (fetch_cases.transactions, [2, 3, 6, 7, 15]),
    ],
)
@pytest.mark.parametrize("max_bytes", [1, 10_000])
def test_fault_34_and_35_gaps_and_aborted_records(
    make: Callable[[Log], object], offsets: list[int], max_bytes: int, beside: bool
) -> None:
    options: dict[str, Any] = {
        "kafka_isolation_level": "read_committed",
        "kafka_max_partition_fetch_bytes": max_bytes,
    }
    with filled(beside=beside) as cluster:
        make(cluster.log(PARTITION))
        (task,) = plan(cluster.bootstrap_servers, beside=beside, **options)
        assert [offset for offset, _ in task.rows()] == offsets


# --- Leaders and replicas that change under a task -----------------------------------------------


@pytest.mark.parametrize("version", [11, 18])
@pytest.mark.parametrize("change", changes.LEADER_CHANGES)
def test_fault_16_and_19_the_leader_changes_again_and_again(
    change: changes.Change, version: int, beside: bool
) -> None:
    """From v12 on the error response names the new leader; before, it takes a Metadata request."""
    with planned(*IN_TWELVE, beside=beside) as (cluster, task):
        cluster.offer(FetchRequest, VersionRange(0, version))
        found: Rows = []
        seen = 0
        for rows in task.batches():
            found += rows
            asked = [node for node, _, _ in cluster.asked(FetchRequest)]
            # Not before the leader was asked: a Fetch that was sent ahead may have been answered by
            # the one before, and two changes in a row would pass this one by.
            if changes.leader_of(cluster) in asked[seen:] and len(found) < len(TWELVE):
                change(cluster)
                seen = len(asked)
        assert found == TWELVE


def test_fault_05_and_16_a_silent_leader_is_replaced(beside: bool) -> None:
    with planned(*IN_THREE, nodes=2, beside=beside, kafka_request_timeout_ms=100) as (
        cluster,
        task,
    ):
        batches = task.batches()
        found = next(batches)
        for kind in (FetchRequest, ListOffsetsRequest, MetadataRequest, ApiVersionsRequest):
            cluster.spoil(kind, faults.response_lost, node=1)
        cluster.move_leader(PARTITION, 2)
        for rows in batches:
            found += rows
        assert found == ABC


def follow(cluster: ScriptedCluster, until: int) -> Log:
    """Make node 2 the preferred replica, with the log up to an offset."""
    log = Log()
    for values in IN_TWELVE[:until]:
        log.append(batch_of(*values))
    partition = cluster.partition(PARTITION)
    partition.preferred = 2
    partition.followers[2] = log
    return log


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


@pytest.mark.parametrize("fault", [unknown, down, lagging, out_of_range, behind_its_start])
def test_fault_21_an_unusable_preferred_replica(fault: changes.Change, beside: bool) -> None:
    """The leader has the records: no loss, and no offset reset."""
    with planned(*IN_TWELVE, beside=beside, kafka_client_rack="here") as (cluster, task):
        fault(cluster)
        assert task.rows() == TWELVE
