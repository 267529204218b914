"""Faults of connections and versions, for a client of several brokers.

Here a whole read or write must succeed, or fail with the right error; `test_broker` tests one
connection. The numbers are those of the list of faults.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.errors import (
    BrokerConnectionError,
    BrokerError,
    ErrorCode,
    KafkaError,
    UnsupportedVersionError,
)
from kafka_protocol.messages.api_versions import ApiVersionsRequest
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP, ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.records.batch import BatchContents, build_batch
from kafka_protocol.records.compression import CompressionCodec, compress
from kafka_protocol.records.record import Record, encode_records
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import Request, VersionRange
from tests.fakes import faults
from tests.fakes.broker import Close, ScriptedBroker
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import Fault
from tests.fakes.reading import ABC, IN_THREE, PARTITION, one_partition, read, read_all, write
from tests.fakes.skipping_time import sleeps_take_no_time

SOON_MS = 5_000
APIS: list[type[Request]] = [MetadataRequest, ListOffsetsRequest, FetchRequest]


# --- Lost, mixed up and extra responses ----------------------------------------------------------

ON_THE_WAY = {
    "cut in its size": faults.cut_after(3),
    "cut in its header": faults.cut_after(7),
    "cut in its body": faults.cut_after(20),
    "for a later request": faults.wrong_correlation_id(),
    "for an earlier request": faults.wrong_correlation_id(-1),
    "twice": faults.repeated(2),
    "closed without it": faults.closing,
    "in single bytes": faults.byte_by_byte(),
    "late": faults.delayed(20),
}


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", APIS, ids=lambda kind: kind.api_name)
@pytest.mark.parametrize("fault", ON_THE_WAY.values(), ids=ON_THE_WAY)
def test_fault_04_06_and_08_a_bad_response_loses_no_record(
    kind: type[Request], fault: Fault
) -> None:
    with one_partition(*IN_THREE, max_partition_fetch_bytes=1) as (cluster, client):
        cluster.add_fault(kind, fault, count=2)
        assert read_all(client) == ABC
        assert read_all(client) == ABC


def test_fault_05_a_lost_response_loses_no_record() -> None:
    with one_partition((b"a", b"b"), (b"c",), request_timeout_ms=100) as (cluster, client):
        for kind in APIS:
            cluster.add_fault(kind, faults.response_lost, count=1)
        assert read_all(client) == ABC


# --- Brokers that move ---------------------------------------------------------------------------


def test_fault_10_a_broker_restarted_on_another_address() -> None:
    """Another broker's Metadata has the new address."""
    with one_partition((b"a", b"b"), (b"c",), nodes=2) as (cluster, client):
        assert read_all(client) == ABC
        before = cluster.nodes[1].broker.address
        cluster.stop(1)
        cluster.start(1)
        assert cluster.nodes[1].broker.address != before
        assert read_all(client) == ABC


def test_fault_10_a_moved_cluster_is_found_by_bootstrap_servers() -> None:
    """No address from Metadata works any more, but one that was configured does (KIP-899)."""
    batches = ((b"a", b"b"), (b"c",))
    with one_partition(*batches) as (moved, _):
        with one_partition(*batches) as (cluster, _):
            both = cluster.bootstrap_servers + moved.bootstrap_servers
            client = cluster.client(bootstrap_servers=both)
            assert read_all(client) == ABC
            assert not moved.asked(MetadataRequest)
        with closing(client):
            assert read_all(client) == ABC
            assert moved.asked(FetchRequest)


def test_fault_10_a_broker_that_requires_a_new_bootstrap() -> None:
    """KIP-1102: the client uses the Metadata of another broker."""
    with one_partition((b"a", b"b"), (b"c",), nodes=2) as (cluster, client):
        assert read_all(client) == ABC
        client.forget("t")
        cluster.add_fault(
            MetadataRequest, faults.refusing_all(ErrorCode.REBOOTSTRAP_REQUIRED), node=1
        )
        assert read_all(client) == ABC


# --- ApiVersions ---------------------------------------------------------------------------------


def test_fault_11_few_connections_if_every_request_closes() -> None:
    def close(_request: Request, _version: int) -> None:
        raise Close

    with ScriptedBroker({ApiVersionsRequest: close, ListOffsetsRequest: close}) as fake:
        client = Cluster(
            ClientConfig(
                bootstrap_servers=(fake.address,),
                retry_backoff_ms=50,
                retry_backoff_max_ms=100,
                connection_setup_timeout_ms=500,
            )
        )
        with (
            pytest.raises(BrokerConnectionError, match="on ApiVersions as well as on an old"),
            sleeps_take_no_time(),
        ):
            client.topics(["t"], Deadline.after(SOON_MS))
        assert fake.connections < 40  # four per try, and at least 40 ms between tries


# --- Versions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", APIS, ids=lambda kind: kind.api_name)
def test_fault_12_no_common_version_is_an_error_at_once(kind: type[Request]) -> None:
    with one_partition((b"a",)) as (cluster, client):
        cluster.offer(kind, VersionRange(99, 100))
        with pytest.raises(
            UnsupportedVersionError,
            match=rf"^(broker|bootstrap server) .*no common version of {kind.api_name}: "
            r"this needs 0-\d+, the broker offers 99-100 .*newer pyspark-pykafka is required",
        ):
            read_all(client)
        assert not cluster.asked(kind)


def test_fault_12_a_codec_that_is_too_new_for_the_broker() -> None:
    payload = encode_records([Record(0, 1, None, b"a")], 0, 1)
    zstd = build_batch(
        BatchContents(
            payload=compress(CompressionCodec.ZSTD, payload),
            codec=CompressionCodec.ZSTD,
            records_count=1,
            base_timestamp=1,
            max_timestamp=1,
        )
    )
    with one_partition(release="2.0") as (cluster, client):
        producer = Producer(client)
        producer.add(PARTITION, zstd)
        with pytest.raises(
            UnsupportedVersionError,
            match=r"Produce: this needs 7-12, the broker offers 0-6 .*Kafka 2.1 or newer",
        ):
            producer.flush()
        assert not cluster.asked(ProduceRequest)


def test_fault_13_brokers_of_two_releases_in_one_cluster() -> None:
    """During a rolling upgrade each broker gets its own highest version."""
    partitions = [TopicPartition("t", 0), TopicPartition("t", 1)]
    with FakeCluster(nodes=2) as cluster:
        cluster.nodes[1].become("0.11")
        topic = cluster.add_topic("t", partitions=2)
        assert [partition.leader for partition in topic.partitions] == [1, 2]
        with closing(cluster.client()) as client:
            for number, topic_partition in enumerate(partitions):
                write(client, b"%d" % number, topic_partition=topic_partition)
            latest = list_offsets(
                client, dict.fromkeys(partitions, LATEST_TIMESTAMP), Deadline.after(SOON_MS)
            )
            rows = [read(client, 0, latest[tp], topic_partition=tp) for tp in partitions]
        assert rows == [[(0, b"0")], [(0, b"1")]]
        for kind in (ProduceRequest, ListOffsetsRequest, FetchRequest):
            used = {number: version for number, _, version in cluster.asked(kind)}
            assert used[1] == cluster.nodes[1].versions[kind.api_key].highest
            assert used[1] < used[2]


@pytest.mark.parametrize(("before", "after"), [("0.11", "3.9"), ("3.9", "0.11"), ("2.8", "4.4")])
def test_fault_13_a_broker_upgraded_between_connections(before: str, after: str) -> None:
    with one_partition((b"a",), (b"b",), (b"c",), nodes=2, release=before) as (cluster, client):
        assert read(client, 0, 1) == ABC[:1]
        cluster.stop(1)
        cluster.start(1, release=after)
        assert read_all(client) == ABC
        used = [version for _, _, version in cluster.asked(FetchRequest)]
        assert used[0] != used[-1]


def test_fault_13_a_leader_moves_to_another_release() -> None:
    """One range from both brokers; only the newer one knows topic ids."""
    with one_partition((b"a",), (b"b",), (b"c",), nodes=2, max_partition_fetch_bytes=1) as (
        cluster,
        client,
    ):
        cluster.nodes[2].become("2.4")
        assert read(client, 0, 1) == ABC[:1]
        cluster.move_leader(PARTITION, 2)
        assert read(client, 1, 3) == ABC[1:]
        assert {number for number, _, _ in cluster.asked(FetchRequest)} == {1, 2}


# --- Responses of newer brokers ------------------------------------------------------------------


def test_fault_14_unknown_error_codes_are_kept() -> None:
    with one_partition((b"a",)) as (cluster, client):
        for kind in APIS[1:]:
            cluster.add_fault(kind, faults.refusing(31_000), count=1)
        assert read_all(client) == ABC[:1]
        cluster.add_fault(FetchRequest, faults.refusing(31_000))
        with (
            pytest.raises(BrokerError, match=r"an error this client does not know \(31000\)") as e,
            sleeps_take_no_time(),
        ):
            read(client, 0, 1, idle_ms=2_000)
        assert e.value.code == 31_000


# --- Wrong Metadata ------------------------------------------------------------------------------

FEW_TRIES: dict[str, Any] = {"retry_backoff_ms": 500, "retry_backoff_max_ms": 500}


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("", 9092),
        ("a" * 300, 9092),
        ("a..b", 9092),
        ("nul\0", 9092),
        ("127.0.0.1", -1),
        ("127.0.0.1", 0),
        ("127.0.0.1", 70_000),
        ("127.0.0.1", 2**31 - 1),
    ],
    ids=lambda value: repr(value)[:12],
)
def test_fault_02_impossible_advertised_addresses(host: str, port: int) -> None:
    def misplace(response: MetadataResponse) -> None:
        for broker in response.brokers:
            broker.host, broker.port = host, port

    with one_partition((b"a",), **FEW_TRIES) as (cluster, client), sleeps_take_no_time():
        cluster.add_fault(MetadataRequest, faults.changed(misplace))
        with pytest.raises(BrokerConnectionError, match="advertises"):
            read(client, 0, 1)


@pytest.mark.parametrize("leader", [2, 2**31 - 1, -2, -(2**31)])
def test_fault_16_a_leader_that_is_not_in_the_metadata(leader: int) -> None:
    with one_partition((b"a",), **FEW_TRIES) as (cluster, client), sleeps_take_no_time():
        named = [leader]

        def misplace(response: MetadataResponse) -> None:
            for topic in response.topics:
                topic.partitions[0].leader_id = named[-1]

        cluster.add_fault(MetadataRequest, faults.changed(misplace))
        with pytest.raises(KafkaError):
            read(client, 0, 1)
        named.append(1)
        assert read(client, 0, 1) == ABC[:1]
