"""The estimated size of the next records, with fake brokers."""

from __future__ import annotations

from contextlib import closing

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.record_sizes import bytes_per_offset
from kafka_protocol.errors import (
    BrokerConnectionError,
    BrokerError,
    CorruptRecordError,
    ErrorCode,
    OutOfStepError,
)
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import VersionRange
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.deadlines import PassesWhen
from tests.fakes.log import batch_of
from tests.fakes.reading import PARTITION, one_partition

SOON_MS = 5_000


def sizes(client: Cluster, *, ms: float = SOON_MS, **offsets: int) -> list[float]:
    """The sizes in partitions of the topic t, named `p0`, `p1` and so on."""
    wanted = {TopicPartition("t", int(name[1:])): at for name, at in offsets.items()}
    found = bytes_per_offset(client, wanted, Deadline.after(ms))
    assert found.keys() == wanted.keys()
    return [found[tp] for tp in wanted]


def size(client: Cluster, offset: int = 0, *, ms: float = SOON_MS) -> float:
    (only,) = sizes(client, ms=ms, p0=offset)
    return only


def size_until_fetched(client: Cluster, cluster: FakeCluster, times: int) -> float:
    """The size at offset 0, with a deadline that ends with so many requests."""
    ended = PassesWhen(lambda: len(cluster.asked(FetchRequest)) >= times)
    return bytes_per_offset(client, {PARTITION: 0}, ended)[PARTITION]


def test_sizes_are_those_in_the_log() -> None:
    """The header of a batch counts: with one small record it is nearly all of it."""
    alone, many = batch_of(b"a"), batch_of(*[b"x" * 100] * 50)
    with one_partition() as (cluster, client):
        cluster.add_topic("t", partitions=2)
        for _ in range(3):
            cluster.append(PARTITION, b"a")
        cluster.append(TopicPartition("t", 1), *[b"x" * 100] * 50)
        assert sizes(client, p0=0, p1=0) == [len(alone), len(many) / 50]


def test_the_records_at_the_offset_count() -> None:
    with one_partition((b"x" * 5_000,), (b"a",)) as (_, client):
        assert size(client, 0) > 2_000
        assert size(client, 1) < 100


def test_a_long_log_is_sampled() -> None:
    with one_partition(*[(b"x" * 1_000,)] * 40) as (cluster, client):
        assert size(client) == pytest.approx(1_000, rel=0.1)
        ((_, request, _),) = cluster.asked(FetchRequest)
        (row,) = request.topics[0].partitions
        assert (row.fetch_offset, row.partition_max_bytes) == (0, 16_384)
        assert request.max_wait_ms == 0


def test_a_batch_larger_than_the_sample_counts_as_a_whole() -> None:
    with one_partition((b"x" * 50_000, b"y" * 50_000)) as (_, client):
        assert size(client) == pytest.approx(50_000, rel=0.01)


def test_an_incomplete_batch_counts_as_one_record() -> None:
    """Brokers below 0.10.1 cut even the first batch."""
    with one_partition((b"x" * 50_000, b"y" * 50_000)) as (cluster, client):
        cluster.offer(FetchRequest, VersionRange(0, 2))
        assert size(client) == 16_384


def test_compacted_offsets_count() -> None:
    with one_partition((b"a" * 100,)) as (cluster, client):
        dense = size(client)
        cluster.log(PARTITION).append_at(9, batch_of(b"b" * 100))
        assert size(client) == pytest.approx(2 * dense / 10)


def test_without_records_the_size_is_0() -> None:
    with one_partition((b"a",)) as (_, client):
        assert size(client, 1) == 0


def test_no_partitions_take_no_request() -> None:
    with one_partition() as (cluster, client):
        assert bytes_per_offset(client, {}, Deadline.after(SOON_MS)) == {}
        assert cluster.asked(FetchRequest) == cluster.asked(MetadataRequest) == []


def test_each_leader_gets_one_request_for_all_partitions() -> None:
    with FakeCluster(nodes=3) as cluster:
        cluster.add_topic("t", partitions=30)
        cluster.add_topic("u", partitions=3)
        wanted = {
            TopicPartition(t, n): 0 for t, count in (("t", 30), ("u", 3)) for n in range(count)
        }
        for partition in wanted:
            cluster.append(partition, b"a" * (partition.partition + 1))
        with closing(cluster.client()) as client:
            found = bytes_per_offset(client, wanted, Deadline.after(SOON_MS))
        assert [node for node, _, _ in cluster.asked(FetchRequest)] == [1, 2, 3]
        first, last = found[TopicPartition("t", 0)], found[TopicPartition("t", 29)]
        assert last - first == 29
        assert found[TopicPartition("u", 0)] == first


@pytest.mark.parametrize("release", ["0.10.2", "2.7.0", "99"])
def test_releases_of_any_age(release: str) -> None:
    with one_partition((b"a" * 100,), release=release) as (_, client):
        assert 100 < size(client) < 200


# --- Faults --------------------------------------------------------------------------------------


def test_fault_16_a_new_leader_is_found() -> None:
    with one_partition((b"a",), nodes=2) as (cluster, client):
        before = size(client)
        cluster.move_leader(PARTITION, 2)
        assert size(client) == before


@pytest.mark.parametrize("error", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_fault_17_temporary_errors_are_retried(error: ErrorCode) -> None:
    with one_partition((b"a",)) as (cluster, client):
        cluster.add_fault(FetchRequest, error=error, count=2)
        assert size(client) > 0


def test_fault_19_a_leader_that_stays_down_is_an_error() -> None:
    with one_partition((b"a",), nodes=2) as (cluster, client):
        size(client)
        cluster.stop(1)
        with pytest.raises(BrokerConnectionError):
            size(client, ms=100)


def test_fault_26_an_authorization_error_is_raised_at_once() -> None:
    with one_partition((b"a",)) as (cluster, client):
        cluster.add_fault(FetchRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, count=1)
        with pytest.raises(BrokerError, match=r"Fetch of t-0 at offset 0 to broker 1 .*AUTHORIZ"):
            size(client)


def test_fault_27_an_offset_out_of_range_is_raised_at_once() -> None:
    with one_partition((b"a",), (b"b",)) as (cluster, client):
        cluster.log(PARTITION).delete_before(1)
        with pytest.raises(BrokerError, match="t-0 at offset 0") as caught:
            size(client)
        assert caught.value.error is ErrorCode.OFFSET_OUT_OF_RANGE


def test_an_error_of_one_leader_does_not_affect_the_next_call() -> None:
    with FakeCluster(nodes=2) as cluster:
        cluster.add_topic("t", partitions=2)
        for number in range(2):
            cluster.append(TopicPartition("t", number), b"a")
        with closing(cluster.client()) as client:
            before = sizes(client, p0=0, p1=0)
            for refused in ({"p0": 7, "p1": 0}, {"p0": 0, "p1": 7}):
                with pytest.raises(BrokerError, match="OFFSET_OUT_OF_RANGE"):
                    sizes(client, **refused)
                assert sizes(client, p0=0, p1=0) == before


def test_an_exceeded_quota_is_waited_for() -> None:
    """A throttled response is empty (KIP-219), which does not mean a size of 0."""

    def throttle(response: FetchResponse) -> None:
        response.throttle_time_ms = 1
        response.responses = []

    with one_partition((b"a",)) as (cluster, client):
        before = size(client)
        cluster.add_fault(FetchRequest, faults.changed(throttle), count=2)
        assert size(client) == before


def test_partitions_without_room_are_fetched_again() -> None:
    with FakeCluster() as cluster:
        cluster.add_topic("t", partitions=5)
        for number in range(5):
            cluster.append(TopicPartition("t", number), b"x" * 1_000)
        with closing(cluster.client(max_response_bytes=4_000)) as client:
            found = sizes(client, p0=0, p1=0, p2=0, p3=0, p4=0)
        assert found == pytest.approx([len(batch_of(b"x" * 1_000))] * 5, rel=0.2)
        assert 1 < len(cluster.asked(FetchRequest)) <= 5


def test_fault_39_a_response_without_the_partition() -> None:
    def leave_out(response: FetchResponse) -> None:
        response.responses.clear()

    with one_partition((b"a",)) as (cluster, client):
        cluster.add_fault(FetchRequest, faults.changed(leave_out))
        with pytest.raises(OutOfStepError, match=r"t-0 at offset 0 .* lacks the partition"):
            size_until_fetched(client, cluster, 2)


def test_fault_32_bytes_that_are_no_batch() -> None:
    def spoil(response: FetchResponse) -> None:
        for topic in response.responses:
            for data in topic.partitions:
                data.records = bytes([255]) * 100

    with one_partition((b"a",)) as (cluster, client):
        cluster.add_fault(FetchRequest, faults.changed(spoil))
        with pytest.raises(CorruptRecordError):
            size_until_fetched(client, cluster, 2)
