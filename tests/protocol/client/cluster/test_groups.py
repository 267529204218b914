"""Offsets of groups, with a coordinator whose response lacks them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.groups import commit_offsets, committed_offsets
from kafka_protocol.errors import OutOfStepError
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_protocol.schema import Request, Response
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes.broker import Handler, ScriptedBroker, versions_of
from tests.fakes.cluster import cluster_of
from tests.fakes.deadlines import PassesWhen

PARTITION = TopicPartition("t", 0)
Group = OffsetFetchResponse.OffsetFetchResponseGroup


def requests(fake: ScriptedBroker, count: int) -> Deadline:
    """A deadline that passes when the broker has received so many requests."""
    return PassesWhen(lambda: len(fake.requests) >= count)


@contextmanager
def coordinator(kind: type[Request], response: Response, highest: int) -> Iterator[ScriptedBroker]:
    def versions(_request: ApiVersionsRequest, _version: int) -> ApiVersionsResponse:
        offered = versions_of(FindCoordinatorRequest, kind)
        offered.api_keys[-1].max_version = highest
        return offered

    def find(_request: FindCoordinatorRequest, _version: int) -> FindCoordinatorResponse:
        here = FindCoordinatorResponse.Coordinator(
            key="g", node_id=1, host=fake.address.host, port=fake.address.port
        )
        return FindCoordinatorResponse(coordinators=[here])

    handlers: dict[type[Request], Handler] = {
        ApiVersionsRequest: versions,
        FindCoordinatorRequest: find,
        kind: lambda _request, _version: response,
    }
    with ScriptedBroker(handlers) as fake:
        yield fake


@pytest.mark.parametrize(
    ("highest", "response", "reason"),
    [
        (7, OffsetFetchResponse(), "lacks t-0"),
        (9, OffsetFetchResponse(), "lacks the group"),
        (9, OffsetFetchResponse(groups=[Group(group_id="other")]), "lacks the group"),
        (9, OffsetFetchResponse(groups=[Group(group_id="g")]), "lacks t-0"),
    ],
    ids=["v7", "no group", "another group", "no partition"],
)
def test_fault_39_a_missing_offset_is_an_error(
    highest: int, response: OffsetFetchResponse, reason: str
) -> None:
    with (
        coordinator(OffsetFetchRequest, response, highest) as fake,
        cluster_of(fake.address) as cluster,
    ):
        with pytest.raises(OutOfStepError, match=reason):
            committed_offsets(cluster, "g", [PARTITION], requests(fake, 4))


def test_fault_39_a_missing_commit_result_is_an_error() -> None:
    with (
        coordinator(OffsetCommitRequest, OffsetCommitResponse(), 9) as fake,
        cluster_of(fake.address) as cluster,
    ):
        with pytest.raises(OutOfStepError, match=r"t-0 at offset 3.*lacks the partition"):
            commit_offsets(cluster, "g", {PARTITION: 3}, requests(fake, 4))
