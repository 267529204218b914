"""A stream's commits to a consumer group, at a fake coordinator."""

from __future__ import annotations

import logging

import pytest

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.offset_commit import OffsetCommitRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.streaming import group_commits
from kafka_spark_source.streaming.group_commits import GroupCommits
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.reading import one_partition
from tests.fakes.skipping_time import sleeps_take_no_time

T0, T1, U0 = (TopicPartition(t, p) for t, p in [("t", 0), ("t", 1), ("u", 0)])


def commits_asked(cluster: FakeCluster) -> list[dict[TopicPartition, int]]:
    return [
        {
            TopicPartition(topic.name, row.partition_index): row.committed_offset
            for topic in request.topics
            for row in topic.partitions
        }
        for _, request, _ in cluster.asked(OffsetCommitRequest)
    ]


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == group_commits.__name__]


def test_only_what_changed_is_committed() -> None:
    with one_partition() as (cluster, client):
        cluster.add_topic("t", 2)
        cluster.add_topic("u")
        commits = GroupCommits(client, "g")
        commits.commit({T0: 4, T1: 2})
        commits.commit({T0: 4, T1: 2})
        commits.commit({T0: 4, T1: 3, U0: 0})
        assert commits_asked(cluster) == [{T0: 4, T1: 2}, {T1: 3, U0: 0}]
        assert cluster.committed == {"g": {T0: 4, T1: 3, U0: 0}}


def test_no_offsets_send_no_request() -> None:
    with one_partition() as (cluster, client):
        GroupCommits(client, "g").commit({})
        assert commits_asked(cluster) == []


def test_a_smaller_offset_is_committed() -> None:
    """As after a topic was re-created."""
    with one_partition() as (cluster, client):
        commits = GroupCommits(client, "g")
        for offset in (4, 0):
            commits.commit({T0: offset})
        assert cluster.committed == {"g": {T0: 0}}


@pytest.mark.parametrize(
    "error", [ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_MEMBER_ID]
)
def test_a_commit_that_fails_warns_once_and_pauses(
    caplog: pytest.LogCaptureFixture, error: ErrorCode
) -> None:
    with one_partition() as (cluster, client):
        cluster.add_fault(OffsetCommitRequest, error=error)
        commits = GroupCommits(client, "g")
        with caplog.at_level(logging.WARNING):
            for offset in range(5):
                commits.commit({T0: offset})
        (warning,) = warnings_in(caplog)
        assert warning.startswith(
            "The query continues, but its progress cannot be committed to the group g. The next "
            "attempt is in 30 s: "
        )
        assert error.name in warning
        assert len(commits_asked(cluster)) == 1


def test_after_the_pause_all_that_changed_is_committed(caplog: pytest.LogCaptureFixture) -> None:
    with one_partition() as (cluster, client), sleeps_take_no_time() as let_pass:
        cluster.add_topic("t", 2)
        commits = GroupCommits(client, "g")
        commits.commit({T0: 1, T1: 1})
        cluster.add_fault(OffsetCommitRequest, error=ErrorCode.GROUP_AUTHORIZATION_FAILED, count=1)
        commits.commit({T0: 2, T1: 1})
        let_pass(31)
        commits.commit({T0: 2, T1: 2})
        assert len(warnings_in(caplog)) == 1
        assert commits_asked(cluster) == [{T0: 1, T1: 1}, {T0: 2}, {T0: 2, T1: 2}]
        assert cluster.committed == {"g": {T0: 2, T1: 2}}


def test_an_unreachable_coordinator_costs_limited_time(caplog: pytest.LogCaptureFixture) -> None:
    with one_partition(nodes=2) as (cluster, client):
        cluster.move_coordinator("g", 2)
        cluster.add_fault(OffsetCommitRequest, faults.response_lost, node=2)
        GroupCommits(client, "g", timeout_ms=100).commit({T0: 1})
        assert len(warnings_in(caplog)) == 1


def test_repr_shows_the_group() -> None:
    with one_partition() as (_, client):
        assert repr(GroupCommits(client, "g")) == "<GroupCommits to 'g'>"
