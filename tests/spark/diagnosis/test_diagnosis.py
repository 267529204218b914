"""The steps of a diagnosis, on fake brokers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_protocol.client.clock import now_ms
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafka_protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ReplicaState,
)
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import Request, VersionRange
from kafka_spark_source.diagnosis.diagnosis import Job, diagnose
from kafka_spark_source.diagnosis.findings import Finding, Result
from kafka_spark_source.planning.strategies import SubscribePattern
from tests.fakes import faults
from tests.fakes.broker import Handler
from tests.fakes.cluster import FakeCluster
from tests.times import shorten

PARTITION = TopicPartition("t", 0)
READS = Job(reads=("t",))


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Two brokers, and a topic of each with a record."""
    with FakeCluster(nodes=2) as cluster:
        cluster.add_topic("t", partitions=2)
        cluster.append(PARTITION, b"a")
        yield cluster


def config(*addresses: Address) -> ClientConfig:
    return ClientConfig(
        bootstrap_servers=addresses,
        connection_setup_timeout_ms=2_000,
        request_timeout_ms=2_000,
        retry_backoff_ms=1,
        retry_backoff_max_ms=10,
    )


def found_in(cluster: FakeCluster, job: Job) -> dict[str, Finding]:
    """The last finding of each step."""
    findings = diagnose(config(*cluster.bootstrap_servers), job)
    return {each.step: each for each in findings}


def serve(cluster: FakeCluster, kind: type[Request], handler: Handler) -> None:
    """Serve an API that fake brokers do not have, in all its versions."""
    for node in cluster.nodes.values():
        node.broker.handlers[kind] = handler
    cluster.offer(kind, kind.versions)


def test_what_works_is_good(cluster: FakeCluster) -> None:
    findings = [*diagnose(config(cluster.bootstrap_servers[0]), READS)]
    assert [each.step for each in findings] == [
        *("name", "TCP", "ApiVersions", "cluster", "advertised", "advertised", "clock"),
        *("leaders", "rights", "fetch"),
    ]
    assert [each.step for each in findings if each.result is not Result.GOOD] == ["clock", "rights"]
    assert findings[-1].detail.startswith("read t-0 at offset 0 (")


def test_a_client_above_a_quota_is_told(cluster: FakeCluster) -> None:
    def throttle(response: MetadataResponse) -> None:
        response.throttle_time_ms = 5

    cluster.add_fault(MetadataRequest, faults.changed(throttle))
    finding = found_in(cluster, Job())["throttling"]
    assert (finding.result, finding.subject) == (Result.COSTLY, "cluster")
    assert finding.detail.startswith("brokers make this client wait for 5 ms")


def test_a_bootstrap_server_that_is_down_is_not_the_end(cluster: FakeCluster) -> None:
    addresses = cluster.bootstrap_servers
    cluster.stop(1)
    with cluster.changing():
        cluster.simulated.controller.fence(1)
    findings = [*diagnose(config(*addresses), Job())]
    bad = [each for each in findings if each.result is Result.BAD]
    assert [(each.step, each.subject) for each in bad] == [
        ("TCP", f"bootstrap server ({addresses[0]})")
    ]
    cluster.stop(2)
    assert [each.step for each in diagnose(config(*addresses), Job())] == ["name", "TCP"] * 2


def test_a_name_that_does_not_resolve() -> None:
    (finding,) = diagnose(config(Address("nowhere.invalid", 9092)), Job())
    assert (finding.step, finding.result) == ("name", Result.BAD)
    assert "cannot be resolved" in finding.detail


def test_a_peer_that_is_no_broker(cluster: FakeCluster) -> None:
    cluster.add_fault(MetadataRequest, faults.closing)
    assert found_in(cluster, Job())["ApiVersions"].result is Result.BAD


def test_an_advertised_address_that_is_out_of_reach(cluster: FakeCluster) -> None:
    def elsewhere(response: MetadataResponse) -> None:
        response.brokers[-1].host = "nowhere.invalid"

    cluster.add_fault(MetadataRequest, faults.changed(elsewhere))
    found = found_in(cluster, Job())["advertised"]
    assert found.result is Result.BAD
    assert found.subject.startswith("broker 2 (nowhere.invalid:")
    assert "cannot be resolved" in found.detail
    assert "advertised.listeners" in found.detail


def test_fault_65_an_advertised_address_that_leads_to_another_cluster(
    cluster: FakeCluster,
) -> None:
    with FakeCluster(cluster_id="theirs") as theirs:
        cluster.advertised[2] = theirs.nodes[1].broker.address
        found = found_in(cluster, Job())["advertised"]
    assert found.result is Result.BAD
    assert "broker 2, but the address leads to a broker of cluster theirs" in found.detail


def controller_at(ms: int, code: int = 0) -> Handler:
    """A controller whose clock shows this time; -1 for one that does not tell it."""
    Topic = DescribeQuorumResponse.TopicData

    def handle(_request: Any, _version: int) -> DescribeQuorumResponse:
        voters = [
            ReplicaState(replica_id=number, log_end_offset=1, last_caught_up_timestamp=time)
            for number, time in ((1, 5), (2, ms))
        ]
        log = Topic.PartitionData(
            partition_index=0,
            error_code=code,
            leader_id=2,
            leader_epoch=1,
            high_watermark=1,
            current_voters=voters,
        )
        return DescribeQuorumResponse(
            topics=[Topic(topic_name="__cluster_metadata", partitions=[log])]
        )

    return handle


@pytest.mark.parametrize(
    ("ahead_ms", "result", "text"),
    [
        (0, Result.GOOD, "the clock here"),
        (3_600_000, Result.COSTLY, "ms ahead of the clock here; set both by NTP"),
        (-3_600_000, Result.COSTLY, "ms behind the clock here; set both by NTP"),
    ],
)
def test_clocks(cluster: FakeCluster, ahead_ms: int, result: Result, text: str) -> None:
    def handle(request: Any, version: int) -> Any:
        return controller_at(now_ms() + ahead_ms)(request, version)

    serve(cluster, DescribeQuorumRequest, handle)
    found = found_in(cluster, Job())["clock"]
    assert found.result is result
    assert text in found.detail


@pytest.mark.parametrize(
    ("handler", "text"),
    [
        (controller_at(-1), "it does not report its time"),
        (controller_at(0, ErrorCode.CLUSTER_AUTHORIZATION_FAILED), "CLUSTER_AUTHORIZATION_FAILED"),
    ],
    ids=["no time", "no right"],
)
def test_a_clock_that_is_not_told(cluster: FakeCluster, handler: Handler, text: str) -> None:
    serve(cluster, DescribeQuorumRequest, handler)
    found = found_in(cluster, Job())["clock"]
    assert found.result is Result.UNKNOWN
    assert text in found.detail


def test_partitions_without_a_leader(cluster: FakeCluster) -> None:
    cluster.add_topic("many", partitions=30)
    for number in range(0, 30, 2):
        cluster.move_leader(TopicPartition("many", number), -1)
    found = found_in(cluster, Job(writes=("many",)))["leaders"]
    assert (found.result, found.detail) == (
        Result.BAD,
        "partitions 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, ... of 30 have no leader: their brokers are "
        "down",
    )


def test_under_replicated_partitions(cluster: FakeCluster) -> None:
    def shrink(response: MetadataResponse) -> None:
        for topic in response.topics:
            topic.partitions[1].replica_nodes = [1, 2]
            topic.partitions[1].isr_nodes = [2]

    cluster.add_fault(MetadataRequest, faults.changed(shrink))
    found = found_in(cluster, READS)["leaders"]
    assert found.result is Result.COSTLY
    assert found.detail.startswith("partitions 1 of 2 are under-replicated")


@pytest.mark.parametrize(
    ("bits", "result", "detail"),
    [
        (1 << 3 | 1 << 4 | 1 << 8, Result.GOOD, "DESCRIBE, READ"),
        (1 << 8, Result.BAD, "the principal lacks READ: grant it on 't'"),
        (1 << 4, Result.UNKNOWN, "brokers do not show them; brokers before 2.3 cannot"),
    ],
)
def test_rights(cluster: FakeCluster, bits: int, result: Result, detail: str) -> None:
    cluster.add_fault(MetadataRequest, faults.granting(bits))
    found = found_in(cluster, READS)["rights"]
    assert (found.result, found.detail) == (result, detail)


def test_the_topics_of_a_pattern(cluster: FakeCluster) -> None:
    for number in range(21):
        cluster.add_topic(f"many-{number}")
    job = Job(pattern=SubscribePattern("many|^t$"))
    findings = [*diagnose(config(*cluster.bootstrap_servers), job)]
    (found,) = (each for each in findings if each.step == "pattern")
    assert (found.result, found.detail) == (Result.GOOD, "topics: 22, of which 20 are tried")
    tried = [each.subject for each in findings if each.step == "leaders"]
    assert tried == sorted(["t", *(f"many-{number}" for number in range(21))])[:20]


def test_a_pattern_without_a_topic(cluster: FakeCluster) -> None:
    findings = [*diagnose(config(*cluster.bootstrap_servers), Job(pattern=SubscribePattern("x")))]
    assert findings[-1] == Finding(
        *("pattern", "x", Result.COSTLY),
        "no name of the 1 topics that the principal may describe matches",
    )


def test_a_pattern_that_cannot_be_looked_up(cluster: FakeCluster) -> None:
    def close_for_all_topics(handler: Handler) -> Handler:
        closes = faults.closing(handler)
        return lambda request, version: (handler if request.topics == [] else closes)(
            request, version
        )

    cluster.add_fault(MetadataRequest, close_for_all_topics)
    job = Job(pattern=SubscribePattern("x"))
    (found,) = (
        each for each in diagnose(config(*cluster.bootstrap_servers), job) if each.step == "pattern"
    )
    assert found.result is Result.BAD


def test_rights_of_old_brokers_are_not_told(cluster: FakeCluster) -> None:
    cluster.offer(MetadataRequest, VersionRange(0, 7))
    assert found_in(cluster, READS)["rights"].result is Result.UNKNOWN


@pytest.mark.parametrize(
    ("code", "result", "detail"),
    [
        (0, Result.GOOD, "DESCRIBE, READ"),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, Result.BAD, "GROUP_AUTHORIZATION_FAILED"),
    ],
)
def test_groups(cluster: FakeCluster, code: int, result: Result, detail: str) -> None:
    def describe(_request: Any, version: int) -> DescribeGroupsResponse:
        assert version == 5, "from 6 on a group without members is an error"
        group = DescribeGroupsResponse.DescribedGroup(
            error_code=code, group_id="g", authorized_operations=1 << 3 | 1 << 8
        )
        return DescribeGroupsResponse(groups=[group])

    serve(cluster, DescribeGroupsRequest, describe)
    cluster.move_coordinator("g", 1)
    found = found_in(cluster, Job(group="g"))["group"]
    assert found.result is result
    assert detail in found.detail


def test_a_topic_that_is_missing_ends_its_steps_only(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, topic_grace_ms=10)
    found = found_in(cluster, Job(reads=("nowhere", "t")))
    assert (found["topic"].subject, found["topic"].result) == ("nowhere", Result.BAD)
    assert found["fetch"].result is Result.GOOD


def test_a_topic_that_cannot_be_read(cluster: FakeCluster) -> None:
    cluster.add_fault(FetchRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    found = found_in(cluster, READS)["fetch"]
    assert found.result is Result.BAD
    assert "TOPIC_AUTHORIZATION_FAILED" in found.detail


def test_the_log_of_decisions(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, topic_grace_ms=10)
    missing = found_in(cluster, Job(commit_log="none"))["commit log"]
    assert (missing.result, "needs CREATE" in missing.detail) == (Result.UNKNOWN, True)
    cluster.add_topic("single", replicas=1)
    single = found_in(cluster, Job(commit_log="single"))["commit log"]
    assert (single.result, "one replica" in single.detail) == (Result.COSTLY, True)


def test_one_replica_is_enough_for_one_broker() -> None:
    with FakeCluster() as cluster:
        cluster.add_topic("t")
        found = found_in(cluster, Job(commit_log="t"))["commit log"]
    assert (found.result, found.detail) == (Result.GOOD, "replicas: 1")
