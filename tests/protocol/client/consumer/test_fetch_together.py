"""Many ranges with few Fetches: all that comes at once, and nothing else."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import product
from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.fetch import fetch_rest
from kafka_protocol.client.consumer.fetch_request import PartlyRead
from kafka_protocol.client.consumer.fetch_together import FetchTogether
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.records.fetch_response import (
    Fetched,
    PartitionData,
    TakenBatches,
    take_batches,
)
from kafka_protocol.records.record import decode_records
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_protocol.wire.schema import VersionRange
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import batch_of
from tests.tiers import first_are_quick

COUNT = 7
IDLE_MS = 10_000


def partition(number: int) -> TopicPartition:
    return TopicPartition("t", number)


@contextmanager
def partitions(nodes: int = 3, **options: Any) -> Iterator[tuple[FakeCluster, Cluster]]:
    """COUNT partitions with two batches of two records each, and a client."""
    with FakeCluster(nodes) as cluster:
        cluster.add_topic("t", COUNT)
        for number in range(COUNT):
            cluster.append(partition(number), b"%d a" % number, b"%d b" % number)
            cluster.append(partition(number), b"%d c" % number, b"%d d" % number)
        with closing(cluster.client(**options)) as client:
            yield cluster, client


def ranges(cluster: FakeCluster, start: int = 0, until: int = 4) -> list[PartlyRead]:
    topic_id = cluster.topics["t"].topic_id
    return [
        PartlyRead(OffsetRange(partition(number), start, until), topic_id)
        for number in range(COUNT)
    ]


def values_in(fetched: Iterable[Fetched]) -> list[bytes]:
    return [
        record.value or b""
        for window, batches in fetched
        for batch in batches
        for record in decode_records(batch)
        if window.from_offset <= record.offset < window.until_offset
    ]


def fetched_in(client: Cluster, wanted: Sequence[PartlyRead]) -> Iterator[Fetched]:
    """What comes together, range by range."""
    with closing(FetchTogether(client, wanted, take_batches)) as together:
        for each in wanted:
            yield from together.fetched_of(each.rest.topic_partition)


def read(client: Cluster, wanted: Sequence[PartlyRead]) -> list[bytes]:
    """The values of what comes together."""
    return values_in(fetched_in(client, wanted))


def read_rest(client: Cluster, wanted: Sequence[PartlyRead]) -> list[bytes]:
    """What is left, range by range."""
    return [
        value
        for each in wanted
        if not each.is_done
        for value in values_in([*fetch_rest(client, each, IDLE_MS, take_batches)])
    ]


def all_values(letters: str = "abcd", numbers: Sequence[int] = range(COUNT)) -> list[bytes]:
    return sorted(f"{number} {letter}".encode() for number in numbers for letter in letters)


@pytest.mark.parametrize("nodes", [1, 3])
def test_one_fetch_for_all_partitions_of_a_leader(nodes: int) -> None:
    with partitions(nodes) as (cluster, client):
        wanted = ranges(cluster)
        assert sorted(read(client, wanted)) == all_values()
        assert all(each.is_done for each in wanted)
        assert len(cluster.asked(FetchRequest)) == nodes


@pytest.mark.parametrize("max_bytes", [1, 150, 1_000_000])
def test_ranges_come_in_their_order(max_bytes: int) -> None:
    """Whatever the leaders, and the limits of responses."""
    with partitions(max_partition_fetch_bytes=max_bytes) as (cluster, client):
        wanted = ranges(cluster)[::-1]
        expected = [
            b"%d %c" % (number, letter) for number in range(COUNT)[::-1] for letter in b"abcd"
        ]
        assert read(client, wanted) == expected


def test_little_is_held_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    # Eight megabytes are held otherwise.
    monkeypatch.setattr("kafka_protocol.client.consumer.fetch_together._MAX_HELD_BYTES", 0)
    with partitions(nodes=1, max_partition_fetch_bytes=1) as (cluster, client):
        wanted = ranges(cluster)
        assert sorted(read(client, wanted)) == all_values()
        asked = [
            sum(len(topic.partitions) for topic in request.topics)
            for _, request, _ in cluster.asked(FetchRequest)
        ]
        assert asked[0] == COUNT
        # The responses to the first two Fetches hold something of each range.
        assert set(asked[2:]) == {1}


def test_a_part_of_each_partition() -> None:
    with partitions() as (cluster, client):
        wanted = ranges(cluster, start=1, until=3)
        assert sorted(read(client, wanted)) == all_values("bc")


@pytest.mark.parametrize("versions", [(9, 12), (12, 12), (13, 18)])
def test_by_name_and_by_id(versions: tuple[int, int]) -> None:
    with partitions() as (cluster, client):
        cluster.offer(MetadataRequest, VersionRange(0, versions[0]))
        cluster.offer(FetchRequest, VersionRange(0, versions[1]))
        assert sorted(read(client, ranges(cluster))) == all_values()


def test_a_limit_of_bytes_needs_more_fetches() -> None:
    with partitions(max_partition_fetch_bytes=1) as (cluster, client):
        wanted = ranges(cluster)
        assert sorted(read(client, wanted)) == all_values()
        assert len(cluster.asked(FetchRequest)) > 3


@pytest.mark.no_cover
@pytest.mark.parametrize("value_bytes", first_are_quick([10_000, 100]))
def test_little_is_fetched_behind_short_ranges(value_bytes: int) -> None:
    with FakeCluster(1) as cluster, closing(cluster.client()) as client:
        cluster.add_topic("t", COUNT)
        batch = batch_of(bytes(value_bytes))
        for number, _ in product(range(COUNT), range(1_000_000 // value_bytes)):
            cluster.log(partition(number)).append(batch)
        wanted = ranges(cluster, start=20, until=30)
        received: list[int] = []

        def take(data: PartitionData, rest: OffsetRange, *, check_crcs: bool) -> TakenBatches:
            received.append(len(data.records or b""))
            return take_batches(data, rest, check_crcs=check_crcs)

        with closing(FetchTogether(client, wanted, take)) as together:
            for each in wanted:
                assert [*together.fetched_of(each.rest.topic_partition)]
        assert all(each.is_done for each in wanted)
        # With the limit of each partition it would be a megabyte of each.
        assert sum(received) < COUNT * (2 * 10 * (value_bytes + 100) + 80_000)


def test_many_partitions_are_asked_for_in_several_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A hundred partitions share a Fetch otherwise.
    monkeypatch.setattr("kafka_protocol.client.consumer.fetch_together._MAX_PARTITIONS", 2)
    with partitions(nodes=1) as (cluster, client):
        assert sorted(read(client, ranges(cluster))) == all_values()
        assert len(cluster.asked(FetchRequest)) == 4


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_fault_17_a_range_with_an_error_is_left(error: ErrorCode) -> None:
    """Together with what can be read alone, it is whole."""
    with partitions(nodes=1) as (cluster, client):
        cluster.add_fault(FetchRequest, error=error, partition=3, count=1)
        wanted = ranges(cluster)
        assert sorted(read(client, wanted)) == all_values(numbers=[0, 1, 2, 4, 5, 6])
        assert [each.rest.topic_partition.partition for each in wanted if not each.is_done] == [3]
        assert read_rest(client, wanted) == all_values(numbers=[3])


def test_fault_19_a_broker_that_is_down_leaves_its_ranges() -> None:
    with partitions() as (cluster, client):
        client.topics(["t"], Deadline.after(IDLE_MS))
        cluster.stop(2)
        wanted = ranges(cluster)
        found = read(client, wanted)
        left = [each.rest.topic_partition.partition for each in wanted if not each.is_done]
        assert left == [1, 4]
        for number in left:
            cluster.move_leader(partition(number), 1)
        assert sorted(found + read(client, wanted)) == all_values()


def test_fault_19_a_connection_breaks_between_two_responses() -> None:
    """What came before is not read again."""
    with partitions(nodes=1, max_partition_fetch_bytes=1) as (cluster, client):
        wanted = ranges(cluster)
        found = []
        for number, fetched in enumerate(fetched_in(client, wanted)):
            found += values_in([fetched])
            if number == 0:
                cluster.add_fault(FetchRequest, faults.closing, count=1)
        assert 0 < len(found) < 4 * COUNT
        assert sorted(found + read_rest(client, wanted)) == all_values()


@pytest.mark.parametrize("preferred", [1, 2, 99], ids=["itself", "another", "an unknown one"])
def test_fault_21_every_broker_names_a_preferred_replica(preferred: int) -> None:
    """A range follows once at the most: what no replica sends is left."""
    with partitions(nodes=2, client_rack="a") as (cluster, client):

        def name_replica(response: Any) -> None:
            for data in response.responses[0].partitions:
                data.preferred_read_replica, data.records = preferred, b""

        cluster.add_fault(FetchRequest, faults.changed(name_replica))
        wanted = ranges(cluster)
        assert read(client, wanted) == []
        assert len(cluster.asked(FetchRequest)) <= 2 * len(cluster.nodes)
        assert not any(each.is_done for each in wanted)


def test_fault_24_a_topic_with_another_id_is_left() -> None:
    with partitions() as (cluster, client):
        wanted = ranges(cluster)
        for each in wanted:
            each.topic_id = uuid.UUID(int=99)
        assert read(client, wanted) == []


@pytest.mark.parametrize("by_name", [False, True])
def test_fault_24_cached_metadata_of_an_older_topic(by_name: bool) -> None:
    """No record of a re-created topic is taken for one of the planned topic."""
    with partitions() as (cluster, client):
        if by_name:
            cluster.offer(FetchRequest, VersionRange(0, 12))
        wanted = ranges(cluster)
        client.topics(["t"], Deadline.after(IDLE_MS))
        cluster.add_topic("t", COUNT)
        for number in range(COUNT):
            cluster.append(partition(number), *[b"other"] * 4)
        assert read(client, wanted) == []


def test_fault_31_a_damaged_batch_leaves_its_range() -> None:
    with partitions(nodes=1) as (cluster, client):

        def damage(response: Any) -> None:
            data = response.responses[0].partitions[2]
            data.records = bytes(data.records[:-1]) + b"?"

        cluster.add_fault(FetchRequest, faults.changed(damage), count=1)
        wanted = ranges(cluster)
        assert sorted(read(client, wanted)) == all_values(numbers=[0, 1, 3, 4, 5, 6])
        assert read_rest(client, wanted) == all_values(numbers=[2])


def test_fault_41_a_throttled_response_without_partitions() -> None:
    with partitions(nodes=1) as (cluster, client):

        def throttle(response: Any) -> None:
            response.responses, response.throttle_time_ms = [], 1

        cluster.add_fault(FetchRequest, faults.changed(throttle), count=1)
        wanted = ranges(cluster)
        assert sorted(read(client, wanted) + read_rest(client, wanted)) == all_values()


def test_records_that_are_not_there_yet_are_left() -> None:
    with partitions() as (cluster, client):
        wanted = ranges(cluster, until=5)
        assert sorted(read(client, wanted)) == all_values()
        assert [each.rest.from_offset for each in wanted] == [4] * COUNT
        assert not any(each.is_done for each in wanted)


def test_nothing_to_read() -> None:
    with partitions() as (cluster, client):
        assert read(client, ranges(cluster, start=4)) == []
        assert cluster.asked(FetchRequest) == []


def test_no_broker_can_be_reached() -> None:
    with partitions(connection_setup_timeout_ms=100, request_timeout_ms=200) as (cluster, client):
        wanted = ranges(cluster)
        for number in cluster.nodes:
            cluster.stop(number)
        assert read(client, wanted) == []
