"""Topics that are deleted or re-created during a read."""

from __future__ import annotations

import uuid
from typing import Any, Final

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.fetch import TopicGoneError, fetch_range
from kafka_protocol.errors import BrokerError, DataLossError, ErrorCode
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.topic_partition import OffsetRange
from kafka_protocol.wire.primitives import ZERO_UUID
from kafka_protocol.wire.schema import VersionRange
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.reading import ABC, IN_THREE, PARTITION, one_partition, read
from tests.fakes.skipping_time import sleeps_take_no_time

PATIENT: Final[dict[str, Any]] = {"max_partition_fetch_bytes": 1, "retry_backoff_max_ms": 1_000}
IDLE_MS = 60_000  # more than any of these tests may take

# No ids at all; ids in metadata and names in Fetch; ids in both.
BY_NAME, HALF, BY_ID = (9, 12), (12, 12), (13, 18)
VERSIONS = pytest.mark.parametrize(
    "versions", [BY_NAME, HALF, BY_ID], ids=["by name", "half", "by id"]
)


def offer(cluster: FakeCluster, versions: tuple[int, int]) -> None:
    cluster.offer(MetadataRequest, VersionRange(0, versions[0]))
    cluster.offer(FetchRequest, VersionRange(0, versions[1]))


def recreate(cluster: FakeCluster, *values: bytes) -> uuid.UUID:
    """Re-create the topic, with one batch; leader epochs begin with 0 again."""
    topic = cluster.add_topic(PARTITION.topic)
    cluster.append(PARTITION, *values)
    return topic.topic_id


# --- Unknown for a moment ------------------------------------------------------------------------


@VERSIONS
@pytest.mark.parametrize(
    "error", [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID]
)
def test_fault_22_unknown_topic_errors_of_a_stale_leader(
    error: ErrorCode, versions: tuple[int, int]
) -> None:
    """They may last longer than the idle time-out."""
    with (
        one_partition(*IN_THREE, retry_backoff_ms=1_000, max_partition_fetch_bytes=1) as (
            cluster,
            client,
        ),
        sleeps_take_no_time(),
    ):
        offer(cluster, versions)
        assert read(client, 0, 1) == ABC[:1]  # the connection is there
        cluster.add_fault(FetchRequest, error=ErrorCode.NONE, count=1)
        cluster.add_fault(FetchRequest, error=error, count=6)
        assert read(client, 0, 3, idle_ms=2_000) == ABC


def test_fault_22_a_partition_briefly_missing_in_metadata() -> None:
    def omit(response: MetadataResponse) -> None:
        response.topics[0].partitions.clear()

    with one_partition(*IN_THREE) as (cluster, client):
        cluster.add_fault(MetadataRequest, faults.changed(omit), count=4)
        assert read(client, 0, 3, idle_ms=IDLE_MS) == ABC


# --- Deleted -------------------------------------------------------------------------------------


def deleted_under(client: Cluster, cluster: FakeCluster) -> TopicGoneError:
    """The error of a read whose topic is deleted after the first record."""
    range_ = fetch_range(client, OffsetRange(PARTITION, 0, 3), IDLE_MS)
    assert next(range_).batches
    cluster.delete_topic(PARTITION.topic)
    with pytest.raises(TopicGoneError) as caught:
        for _ in range_:
            # The response for the Fetch in flight may have come before.
            pass
    return caught.value


@VERSIONS
def test_fault_23_the_topic_is_deleted_during_a_read(versions: tuple[int, int]) -> None:
    with (
        one_partition(*IN_THREE, topic_propagation_max_ms=100, **PATIENT) as (cluster, client),
        sleeps_take_no_time(),
    ):
        offer(cluster, versions)
        error = deleted_under(client, cluster)
        assert error.topic_partition == PARTITION
        assert 1 <= error.offset <= 2
        assert error.condition == "PARTITIONS_DELETED"
        assert "Topic-partition t-0 is unknown to the brokers for 100 ms" in str(error)
        assert f"was read up to offset {error.offset}" in str(error)
        assert isinstance(error.__cause__, BrokerError)
        assert not error.retriable


def test_fault_23_the_topic_is_deleted_before_a_read() -> None:
    with one_partition(topic_propagation_max_ms=50) as (cluster, client), sleeps_take_no_time():
        cluster.delete_topic(PARTITION.topic)
        with pytest.raises(TopicGoneError, match="read up to offset 7") as caught:
            read(client, 7, 9, idle_ms=IDLE_MS, topic_id=uuid.UUID(int=1))
        assert caught.value.offset == 7


@pytest.mark.parametrize("versions", [HALF, BY_ID], ids=["half", "by id"])
def test_fault_23_every_broker_lacks_the_topic(versions: tuple[int, int]) -> None:
    with (
        one_partition(*IN_THREE, **PATIENT) as (cluster, client),
        sleeps_take_no_time(),
    ):
        offer(cluster, versions)
        early, late = Deadline.after(900), Deadline.after(5_000)
        error = deleted_under(client, cluster)
        assert "Topic-partition t-0 is unknown to every broker, so it was deleted" in str(error)
        assert early.has_passed
        assert not late.has_passed


def test_fault_23_a_partition_that_no_longer_exists() -> None:
    with one_partition(*IN_THREE, topic_propagation_max_ms=50) as (cluster, client):

        def lack(response: MetadataResponse) -> None:
            for topic in response.topics:
                topic.partitions.clear()

        cluster.add_fault(MetadataRequest, faults.changed(lack))
        with pytest.raises(TopicGoneError, match="t-0"), sleeps_take_no_time():
            read(client, 0, 3, idle_ms=IDLE_MS)


# --- Re-created ----------------------------------------------------------------------------------


@pytest.mark.parametrize("versions", [HALF, BY_ID], ids=["half", "by id"])
@pytest.mark.parametrize("is_cached", [False, True])
def test_fault_24_the_topic_was_re_created_since_planning(
    versions: tuple[int, int], is_cached: bool
) -> None:
    """At once, whatever the propagation time; and none of its records is read."""
    with one_partition(*IN_THREE) as (cluster, client):
        offer(cluster, versions)
        planned = cluster.topics[PARTITION.topic].topic_id
        if is_cached:
            assert read(client, 0, 3, topic_id=planned) == ABC
        created = recreate(cluster, b"x", b"y", b"z")
        with pytest.raises(TopicGoneError, match="re-created") as caught, sleeps_take_no_time():
            read(client, 0, 3, idle_ms=IDLE_MS, topic_id=planned)
        assert isinstance(caught.value, DataLossError)
        assert (caught.value.condition, caught.value.offset) == ("PARTITIONS_DELETED", 0)
        assert str(created) in str(caught.value.__cause__)
        assert read(client, 0, 3, topic_id=created) == [(0, b"x"), (1, b"y"), (2, b"z")]


def test_fault_24_metadata_older_than_the_plan() -> None:
    """The cache, or one broker for a moment, may have the previous topic."""
    with one_partition((b"x", b"y", b"z")) as (cluster, client):
        read(client, 0, 3)
        before = cluster.topics[PARTITION.topic]
        cluster.add_topic(PARTITION.topic)
        for values in IN_THREE:
            cluster.append(PARTITION, *values)
        created = cluster.topics[PARTITION.topic].topic_id

        def older(response: MetadataResponse) -> None:
            response.topics[0].topic_id = before.topic_id

        cluster.add_fault(MetadataRequest, faults.changed(older), count=1)
        assert read(client, 0, 3, idle_ms=IDLE_MS, topic_id=created) == ABC


@pytest.mark.parametrize("topic_id", [None, ZERO_UUID])
@VERSIONS
def test_fault_24_without_an_id_the_first_id_counts(
    topic_id: uuid.UUID | None, versions: tuple[int, int]
) -> None:
    with one_partition(*IN_THREE) as (cluster, client):
        offer(cluster, versions)
        assert read(client, 0, 3, topic_id=topic_id) == ABC


def test_fault_24_metadata_of_an_old_broker_has_no_id() -> None:
    """During an upgrade, metadata may come from an older broker than the leader."""

    def hide(response: MetadataResponse) -> None:
        response.topics[0].topic_id = ZERO_UUID

    with one_partition(*IN_THREE, topic_propagation_max_ms=50) as (cluster, client):
        planned = cluster.topics[PARTITION.topic].topic_id
        cluster.add_fault(MetadataRequest, faults.changed(hide))
        assert read(client, 0, 3, topic_id=planned) == ABC
        recreate(cluster, b"x", b"y", b"z")
        with pytest.raises(TopicGoneError), sleeps_take_no_time():
            read(client, 0, 3, idle_ms=IDLE_MS, topic_id=planned)


@pytest.mark.parametrize("fetch", [11, 12])
def test_fault_24_out_of_range_in_a_re_created_topic(fetch: int) -> None:
    """A Fetch by name reaches the new topic, whose bounds do not matter."""
    with one_partition(*IN_THREE, max_partition_fetch_bytes=1) as (cluster, client):
        offer(cluster, (12, fetch))
        range_ = fetch_range(client, OffsetRange(PARTITION, 0, 3), IDLE_MS)
        assert next(range_).batches
        cluster.add_topic(PARTITION.topic)
        with pytest.raises(TopicGoneError, match="re-created"), sleeps_take_no_time():
            for _ in range_:
                pass
        assert cluster.asked(ListOffsetsRequest) == []
