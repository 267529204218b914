"""Offsets of groups, with a coordinator that moves, loads, or leaves them out of its response."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.groups import commit_offsets, committed_offsets
from kafka_protocol.errors import ErrorCode, OutOfStepError
from kafka_protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_protocol.messages.offset_commit import OffsetCommitRequest
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_protocol.wire.schema import Request, VersionRange
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.deadlines import PassesWhen
from tests.fakes.reading import PARTITION, one_partition

SOON_MS = 10_000


def asked_twice(cluster: FakeCluster, kind: type[Request]) -> Deadline:
    return PassesWhen(lambda: len(cluster.asked(kind)) >= 2)


def of_another_group(response: OffsetFetchResponse) -> None:
    response.groups[0].group_id = "other"


@pytest.mark.parametrize(
    ("highest", "change", "reason"),
    [
        (7, lambda response: response.topics.clear(), "lacks t-0"),
        (9, lambda response: response.groups.clear(), "lacks the group"),
        (9, of_another_group, "lacks the group"),
        (9, lambda response: response.groups[0].topics.clear(), "lacks t-0"),
    ],
    ids=["v7", "no group", "another group", "no partition"],
)
def test_fault_39_a_missing_offset_is_an_error(
    highest: int, change: Callable[[OffsetFetchResponse], None], reason: str
) -> None:
    with one_partition() as (cluster, client):
        cluster.offer(OffsetFetchRequest, VersionRange(0, highest))
        cluster.add_fault(OffsetFetchRequest, faults.changed(change))
        with pytest.raises(OutOfStepError, match=reason):
            committed_offsets(client, "g", [PARTITION], asked_twice(cluster, OffsetFetchRequest))


def test_fault_39_a_missing_commit_result_is_an_error() -> None:
    with one_partition() as (cluster, client):
        cluster.add_fault(
            OffsetCommitRequest, faults.changed(lambda response: response.topics.clear())
        )
        with pytest.raises(OutOfStepError, match=r"t-0 at offset 3.*lacks the partition"):
            commit_offsets(client, "g", {PARTITION: 3}, asked_twice(cluster, OffsetCommitRequest))


@pytest.mark.parametrize("kind", [FindCoordinatorRequest, OffsetCommitRequest, OffsetFetchRequest])
@pytest.mark.parametrize(
    "error", [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
)
def test_fault_49_a_coordinator_that_is_not_ready(kind: type[Request], error: ErrorCode) -> None:
    with one_partition() as (cluster, client):
        cluster.add_fault(kind, error=error, count=2)
        commit_offsets(client, "g", {PARTITION: 2}, Deadline.after(SOON_MS))
        found = committed_offsets(client, "g", [PARTITION], Deadline.after(SOON_MS))
        assert found == {PARTITION: 2}


def test_fault_49_the_coordinator_moves() -> None:
    with one_partition(nodes=2) as (cluster, client):
        for number in (1, 2, 1):
            cluster.move_coordinator("g", number)
            commit_offsets(client, "g", {PARTITION: number}, Deadline.after(SOON_MS))
            found = committed_offsets(client, "g", [PARTITION], Deadline.after(SOON_MS))
            assert found == {PARTITION: number}
