"""One suite for every release of Kafka that can be started.

An unsupported feature must raise an error that names the release that added it. `make test` runs
three releases: one before ApiVersions, one with ZooKeeper and message sets, and the newest;
`make test-all` runs all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

import pyarrow as pa
import pytest

from kafka_protocol.arrow_io.topic import read_topic
from kafka_protocol.client.cluster.admin import NewTopic, create_topic, delete_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.groups import commit_offsets, committed_offsets
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE
from kafka_protocol.columnar.writing.encode import RecordColumns, encode_batches
from kafka_protocol.errors import EncodeError, ErrorCode, UnsupportedVersionError
from kafka_protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, MAX_TIMESTAMP
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.versions.features import FEATURES
from kafka_protocol.versions.releases import parse_release, served_by
from kafka_protocol.wire.api_keys import ApiKey
from kafka_spark_source.testing import NEWEST, RELEASES, KafkaCluster
from kafka_spark_source.testing.plugin import ClusterFactory
from kafka_spark_source.testing.processes import waiting
from kafka_spark_source.testing.releases import Quorum
from tests.integration.clients import SOON_MS, connect, soon

pytestmark = pytest.mark.integration

USUAL = ("0.9.0.1", "0.10.2.2", "4.4.0")
START_MS = 1_700_000_000_000
ROWS = 200

_numbers = itertools.count(1)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(version, marks=() if version in USUAL else pytest.mark.slow)
        for version in RELEASES
    ],
)
def kafka(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    if request.param == NEWEST:
        yield request.getfixturevalue("kafka_cluster")
    else:
        with KafkaCluster(request.param) as cluster:
            yield cluster


@pytest.fixture(scope="module")
def release(kafka: KafkaCluster) -> tuple[int, ...]:
    return parse_release(kafka.version)


@pytest.fixture(scope="module")
def options(kafka: KafkaCluster, release: tuple[int, ...]) -> dict[str, str]:
    """For an old broker, its version: finding it out takes seconds."""
    servers = {"bootstrap.servers": kafka.bootstrap_servers}
    known = {"api.version.request": "false", "broker.version.fallback": kafka.version}
    return servers if release >= (0, 10) else servers | known


@pytest.fixture
def client(options: dict[str, str]) -> Iterator[Cluster]:
    cluster = Cluster(ClientConfig.from_options(options))
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def topic(kafka: KafkaCluster, release: tuple[int, ...], options: dict[str, str]) -> str:
    """A topic of two partitions."""
    name = f"releases-{next(_numbers)}"
    if release < (0, 10, 1):
        kafka.create_topic(name, partitions=2)
        return name
    with closing(Cluster(ClientConfig.from_options(options))) as cluster:
        create_topic(cluster, NewTopic(name, partitions=2), soon())
    return name


def binary(values: Iterable[bytes | None]) -> pa.Array:
    return pa.array(values, pa.binary())


def columns(rows: int, *, headers: bool = False) -> RecordColumns:
    header = [{"key": "h", "value": b"1"}]
    return RecordColumns(
        key=binary(None if i % 5 == 0 else f"key {i}".encode() for i in range(rows)),
        value=binary(None if i % 7 == 3 else f"value {i}".encode() * 5 for i in range(rows)),
        timestamp=(pa.array(range(rows)).to_numpy() + START_MS),
        headers=pa.array([header] * rows, HEADERS_TYPE) if headers else None,
    )


def produce(
    cluster: Cluster,
    topic_partition: TopicPartition,
    records: RecordColumns,
    codec: CompressionCodec = CompressionCodec.NONE,
) -> None:
    producer = Producer(cluster)
    magic = producer.message_format(topic_partition)
    for batch in encode_batches(records, codec, max_batch_bytes=5_000, magic=magic):
        producer.add(topic_partition, batch.data)
    producer.flush()


def latest(cluster: Cluster, topic_partition: TopicPartition) -> int:
    return list_offsets(cluster, {topic_partition: LATEST_TIMESTAMP}, soon())[topic_partition]


def codecs_of(release: tuple[int, ...]) -> Sequence[CompressionCodec]:
    known = [c for c in CompressionCodec if c != CompressionCodec.ZSTD]
    return [*CompressionCodec] if release >= (2, 1) else known


# --- API versions ------------------------------------------------------------------------------


def test_versions_are_those_of_the_table_of_releases(
    kafka: KafkaCluster, topic: str, release: tuple[int, ...]
) -> None:
    with closing(connect(kafka)) as cluster:
        versions = cluster.common_versions(soon())
    # A broker without ApiVersions is taken for the oldest release.
    expected = served_by(kafka.version if release >= (0, 10) else "0.8.2")
    served = {key: range_.highest for key, range_ in versions.ranges.items()}
    known = {key: range_.highest for key, range_ in expected.items()}
    assert {k: v for k, v in served.items() if k in known} == {
        k: v for k, v in known.items() if k in served
    }
    # APIs between brokers with ZooKeeper, and APIs that need a plug-in.
    others = {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY, *map(ApiKey, range(4, 8))}
    assert set(known) - set(served) <= others, "the table lists APIs that the broker does not serve"


def test_features_are_those_of_the_release(
    client: Cluster, topic: str, release: tuple[int, ...]
) -> None:
    versions = client.common_versions(soon())
    usable = {feature.name for feature in FEATURES if feature.is_usable(versions)}
    since = {
        "offsets kept by the brokers": (0, 8, 2),
        "record timestamps": (0, 10, 0),
        "offsets by timestamp": (0, 10, 1),
        "creating and deleting topics": (0, 10, 1),
        "record headers": (0, 11),
        "idempotent writes": (0, 11),
        "transactions": (0, 11),
        "reading committed records only": (0, 11),
        "re-authentication": (2, 2),
        "zstd": (2, 1),
        "fetching from the closest replica": (2, 3),
        "topic ids": (3, 1),
    }
    assert usable == {name for name, first in since.items() if release >= first}


# --- Metadata and offsets -----------------------------------------------------------------------


def test_metadata(client: Cluster, topic: str) -> None:
    found = client.settled_topics([topic, "missing"], soon())
    assert sorted(found[topic].partitions) == [0, 1]
    assert {leader.node_id for leader in found[topic].partitions.values()} == {1}
    assert found["missing"].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "missing" not in client.topics(None, soon()), "the request must not create the topic"


def test_offsets_of_positions_and_times(
    client: Cluster, topic: str, release: tuple[int, ...]
) -> None:
    partition = TopicPartition(topic, 1)
    first = latest(client, partition)
    produce(client, partition, columns(ROWS))
    assert latest(client, partition) == first + ROWS
    assert list_offsets(client, {partition: EARLIEST_TIMESTAMP}, soon()) == {partition: 0}
    third = {partition: START_MS + 3}
    if release < (0, 10, 1):
        with pytest.raises(UnsupportedVersionError, match=r"Kafka 0\.10\.1 or newer"):
            list_offsets(client, third, soon())
    else:
        assert list_offsets(client, third, soon()) == {partition: 3}
        assert list_offsets(client, {partition: START_MS * 2}, soon()) == {partition: -1}
    if release >= (3, 0):
        newest = list_offsets(client, {partition: MAX_TIMESTAMP}, soon())
        assert newest == {partition: ROWS - 1}


# --- Records ------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", CompressionCodec, ids=lambda codec: codec.name.lower())
def test_records_come_back_as_they_were_written(
    client: Cluster,
    options: dict[str, str],
    topic: str,
    release: tuple[int, ...],
    codec: CompressionCodec,
) -> None:
    if codec not in codecs_of(release):
        with pytest.raises((UnsupportedVersionError, EncodeError), match=r"Kafka 2\.1"):
            produce(client, TopicPartition(topic, 0), columns(1), codec)
        return
    partition = TopicPartition(topic, 0)
    has_headers = release >= (0, 11)
    written = columns(ROWS, headers=has_headers)
    first = latest(client, partition)
    produce(client, partition, written, codec)
    table = read_topic(
        topic,
        options | {"max.partition.fetch.bytes": "3000"},
        start={0: first},
        end={0: first + ROWS},
        partitions=[0],
    ).read_all()
    assert table["offset"].to_pylist() == [*range(first, first + ROWS)]
    assert table["key"].to_pylist() == written.key.to_pylist()
    assert table["value"].to_pylist() == written.value.to_pylist()
    has_times = release >= (0, 10)
    times = table["timestamp"].cast(pa.int64()).to_pylist()
    assert times == ([(START_MS + i) * 1000 for i in range(ROWS)] if has_times else [-1000] * ROWS)
    assert set(table["timestampType"].to_pylist()) == {0 if has_times else -1}
    assert set(map(str, table["headers"].to_pylist())) == {
        "[{'key': 'h', 'value': b'1'}]" if has_headers else "None"
    }


@pytest.mark.slow
def test_fault_29_overflow_behind_down_converted_messages(own_clusters: ClusterFactory) -> None:
    """Down-conversion drops the headers; a message of offset -1 fills the response (KIP-283)."""
    kafka = own_clusters("2.8.2")
    servers = {"bootstrap.servers": kafka.bootstrap_servers}
    partition = TopicPartition("down-converted", 0)
    written = columns(ROWS, headers=True)
    with closing(Cluster(ClientConfig.from_options(servers))) as cluster:
        create_topic(cluster, NewTopic(partition.topic), soon())
        produce(cluster, partition, written)
    for release in ("0.9.0", "0.10.2"):
        table = read_topic(
            partition.topic,
            servers
            | {"api.version.request": "false", "broker.version.fallback": release}
            | {"max.partition.fetch.bytes": "6000"},
            start={0: 0},
            end={0: ROWS},
        ).read_all()
        assert table["offset"].to_pylist() == [*range(ROWS)]
        assert table["value"].to_pylist() == written.value.to_pylist()


def test_headers_are_refused_where_there_are_none(
    client: Cluster, topic: str, release: tuple[int, ...]
) -> None:
    partition = TopicPartition(topic, 0)
    if release >= (0, 11):
        produce(client, partition, columns(1, headers=True))
        return
    with pytest.raises(EncodeError, match=r"Kafka 0\.11"):
        produce(client, partition, columns(1, headers=True))


# --- Groups and topics --------------------------------------------------------------------------


def test_offsets_of_groups(client: Cluster, topic: str) -> None:
    partitions = [TopicPartition(topic, number) for number in (0, 1)]
    group = f"releases-group-{next(_numbers)}"
    assert committed_offsets(client, group, partitions, soon()) == {}
    commit_offsets(client, group, {partitions[0]: 3}, soon())
    assert committed_offsets(client, group, partitions, soon()) == {partitions[0]: 3}
    commit_offsets(client, group, dict.fromkeys(partitions, 4), soon())
    assert committed_offsets(client, group, partitions, soon()) == dict.fromkeys(partitions, 4)


def test_topics_are_created_and_deleted(client: Cluster, release: tuple[int, ...]) -> None:
    name = f"releases-{next(_numbers)}"
    if release < (0, 10, 1):
        with pytest.raises(UnsupportedVersionError, match=r"no CreateTopics API.*Kafka 0\.10\.1"):
            create_topic(client, NewTopic(name), soon())
        return
    create_topic(client, NewTopic(name, partitions=3), soon())
    assert sorted(client.settled_topics([name], soon())[name].partitions) == [0, 1, 2]
    delete_topic(client, name, soon())
    assert waiting.Deadline(SOON_MS / 1_000).wait_for(
        lambda: bool(client.topics([name], soon())[name].error_code)
    ), "the topic still exists"


def test_the_usual_releases_have_both_quorums() -> None:
    assert {RELEASES[version].quorum for version in USUAL} == {Quorum.ZOOKEEPER, Quorum.KRAFT}
