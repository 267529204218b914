"""The same faults with librdkafka's mock cluster, an independent implementation of brokers.

It shows errors that our scripted brokers and our client have in common.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer
from confluent_kafka import TopicPartition as WitnessPartition

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.groups import commit_offsets, committed_offsets
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer import replica
from kafka_protocol.client.consumer.fetch import fetch_range
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.messages.offset_commit import OffsetCommitRequest
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_protocol.records.record import decode_records
from kafka_protocol.schema import Request, VersionRange
from kafka_protocol.topic_partition import OffsetRange
from tests.fakes import faults
from tests.fakes.mock_cluster import CUT, MockCluster
from tests.fakes.reading import ABC, PARTITION, read_all, write

SOON_MS = 10_000


@contextmanager
def client_of(mock: MockCluster, **options: Any) -> Iterator[Cluster]:
    # The mock returns even errors only after fetch.max.wait.ms.
    defaults: dict[str, Any] = {
        "retry_backoff_ms": 5,
        "retry_backoff_max_ms": 50,
        "fetch_max_wait_ms": 20,
    }
    with closing(
        Cluster(ClientConfig(bootstrap_servers=mock.addresses, **(defaults | options)))
    ) as client:
        yield client


@contextmanager
def filled(**options: Any) -> Iterator[tuple[MockCluster, Cluster]]:
    """Three brokers, one partition, and three records in two batches."""
    with MockCluster(brokers=3) as mock:
        mock.add_topic(PARTITION.topic)
        with client_of(mock, **options) as client:
            write(client, b"a", b"b")
            write(client, b"c")
            yield mock, client


def leader_of(client: Cluster) -> int:
    return client.leader(PARTITION, Deadline.after(SOON_MS))[0].node_id


# --- Without a fault -----------------------------------------------------------------------------


def test_librdkafka_reads_what_we_write() -> None:
    with filled() as (mock, _):
        consumer = Consumer(
            {"bootstrap.servers": mock.bootstrap_servers, "group.id": "witness", "check.crcs": True}
        )
        with closing(consumer):
            consumer.assign([WitnessPartition(*PARTITION, OFFSET_BEGINNING)])
            messages = consumer.consume(3, timeout=20)
        assert [(message.offset(), message.value()) for message in messages] == ABC


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_we_read_what_librdkafka_writes(codec: str) -> None:
    with MockCluster() as mock, client_of(mock) as client:
        mock.add_topic(PARTITION.topic)
        values = [b"value %d" % number for number in range(500)]
        producer = Producer(
            {"bootstrap.servers": mock.bootstrap_servers, "compression.type": codec}
        )
        for value in values:
            producer.produce(PARTITION.topic, value, partition=PARTITION.partition)
        assert producer.flush(20) == 0
        assert read_all(client) == [*enumerate(values)]


# --- Faults --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(4, 17))
def test_every_version_of_fetch(version: int) -> None:
    with MockCluster() as mock, client_of(mock) as client:
        mock.add_topic(PARTITION.topic)
        if version < 13:
            mock.offer(MetadataRequest, VersionRange(0, 9))  # without topic ids
        mock.offer(FetchRequest, VersionRange(0, version))
        write(client, b"a", b"b")
        write(client, b"c")
        assert read_all(client) == ABC


def test_fault_16_the_leader_moves_in_the_middle_of_a_range() -> None:
    """The mock's brokers share their records, so each leader has them all."""
    values = [(number, b"%d" % number) for number in range(20)]
    with MockCluster(brokers=3) as mock:
        mock.add_topic(PARTITION.topic)
        with client_of(mock, max_partition_fetch_bytes=1) as client:
            for _, value in values:
                write(client, value)
            leaders = itertools.cycle([1, 2, 3])
            found = []
            for _, batches in fetch_range(client, OffsetRange(PARTITION, 0, 20), SOON_MS):
                found += [(r.offset, r.value) for batch in batches for r in decode_records(batch)]
                mock.move_leader(PARTITION, next(leaders))
            assert found == values


def test_fault_19_a_broker_goes_down_and_another_leads() -> None:
    with filled() as (mock, client):
        leader = leader_of(client)
        mock.stop(leader)
        mock.move_leader(PARTITION, leader % 3 + 1)
        write(client, b"d")
        assert read_all(client) == [*ABC, (3, b"d")]


def replicas_logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The log messages about the choice of the replica."""
    return [r.getMessage() for r in caplog.records if r.name == replica.__name__]


@pytest.mark.parametrize("rack", ["", "here"])
def test_fault_21_the_preferred_replica(rack: str, caplog: pytest.LogCaptureFixture) -> None:
    """The mock returns it with and without a rack."""
    with filled(client_rack=rack) as (mock, client), caplog.at_level("DEBUG"):
        follower = leader_of(client) % 3 + 1
        mock.set_follower(PARTITION, follower)
        assert read_all(client) == ABC
        assert replicas_logged(caplog) == [
            f"t-0 is read from broker {follower}, its preferred replica"
        ]


@pytest.mark.parametrize("log", [(0, 0), (0, 1), (0, 2), (1, 3), (2, 3), (3, 3)])
def test_fault_21_a_follower_with_a_part_of_the_log(log: tuple[int, int]) -> None:
    """An offset out of its range is no loss: the leader has the records."""
    with filled(client_rack="here") as (mock, client):
        mock.set_follower(PARTITION, leader_of(client) % 3 + 1, log)
        with faults.later(0.3, mock.set_follower, PARTITION, -1):
            assert read_all(client) == ABC


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (FindCoordinatorRequest, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (OffsetCommitRequest, ErrorCode.NOT_COORDINATOR),
        (OffsetCommitRequest, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (OffsetFetchRequest, ErrorCode.NOT_COORDINATOR),
        (OffsetFetchRequest, CUT),
    ],
)
def test_fault_49_a_coordinator_that_is_not_ready(
    kind: type[Request], error: ErrorCode | int
) -> None:
    with filled() as (mock, client):
        mock.push_errors(kind, error, error)
        commit_offsets(client, "g", {PARTITION: 2}, Deadline.after(SOON_MS))
        found = committed_offsets(client, "g", [PARTITION], Deadline.after(SOON_MS))
        assert found == {PARTITION: 2}


def test_fault_49_the_coordinator_moves() -> None:
    with filled() as (mock, client):
        for broker, offset in ((1, 1), (2, 2), (3, 3)):
            mock.move_group("g", broker)
            commit_offsets(client, "g", {PARTITION: offset}, Deadline.after(SOON_MS))
            mock.move_group("g", broker % 3 + 1)
            found = committed_offsets(client, "g", [PARTITION], Deadline.after(SOON_MS))
            assert found == {PARTITION: offset}
