"""Faults between the plan of a batch read and its rows: no record is lost, or an error names it.

The client decides about each fault, and `tests/protocol/client` has all its cases. Here one of each
kind meets the plan, and then the task: one that reads a range, and one that reads several with the
same Fetches until one of them needs attention. docs/faults.md lists the numbers.
"""

from __future__ import annotations

import socket
from typing import Any

import pytest

from kafka_protocol.client.config.addresses import Address
from kafka_protocol.errors import BrokerConnectionError, BrokerError, ErrorCode, KafkaTimeoutError
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.wire.schema import VersionRange
from tests.fakes import changes, faults
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
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import batch_of, in_transaction
from tests.fakes.reading import PARTITION
from tests.fakes.skipping_time import sleeps_take_no_time

pytestmark = pytest.mark.no_cover

# Else the driver would list no offsets.
FIXED = '{"t":{"0":0}}'


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


def read_through(fault: changes.Change, *, beside: bool) -> Rows:
    """The rows of a task, with the fault in its plan and again in the task."""
    options = {**ONE_BY_ONE, "startingOffsets": FIXED, "kafka_request_timeout_ms": 200}
    with filled(*IN_THREE, nodes=2, beside=beside) as cluster:
        fault(cluster)
        (task,) = plan(cluster.bootstrap_servers, beside=beside, **options)
        fault(cluster)
        return task.rows()


@pytest.mark.parametrize("fault", OF_LEADERS.values(), ids=OF_LEADERS)
def test_fault_17_18_22_and_40_faults_of_leaders_pass(fault: changes.Change, beside: bool) -> None:
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


def of_an_open_transaction(cluster: FakeCluster) -> None:
    """That of a new leader; the old one had the same records."""
    log = cluster.log(PARTITION)
    log.truncate(1)
    log.append(in_transaction(1, b"b"))
    log.append(batch_of(b"c"))


@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        (
            lambda cluster: cluster.add_fault(FetchRequest, error=ErrorCode.KAFKA_STORAGE_ERROR),
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
