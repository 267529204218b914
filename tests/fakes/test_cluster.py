"""The scripted cluster itself, without faults."""

from __future__ import annotations

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.groups import commit_offsets, committed_offsets
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsetsRequest,
)
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.messages.offset_commit import OffsetCommitRequest
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import Request, VersionRange
from tests.fakes.log import START_MS
from tests.fakes.reading import PARTITION, one_partition, read, write

SOON_MS = 5_000
VALUES = [(0, b"a"), (1, b"b"), (2, b"c")]


def versions_from(kind: type[Request], lowest: int) -> list[tuple[type[Request], int]]:
    return [(kind, version) for version in range(lowest, kind.versions.highest + 1)]


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        *versions_from(FetchRequest, 0),
        *versions_from(ListOffsetsRequest, 1),
        *versions_from(MetadataRequest, 0),
        *versions_from(ProduceRequest, 3),
    ],
)
def test_every_version_writes_and_reads(kind: type[Request], version: int) -> None:
    with one_partition() as (cluster, client):
        cluster.offer(kind, VersionRange(0, version))
        if kind is MetadataRequest and version < 10:
            # Without topic ids in metadata, requests cannot name topics by id.
            cluster.offer(FetchRequest, VersionRange(0, 12))
            cluster.offer(ProduceRequest, VersionRange(0, 12))
        write(client, b"a", b"b")
        write(client, b"c")
        positions = (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, START_MS, START_MS + 1)
        found = [
            list_offsets(client, {PARTITION: position}, Deadline.after(SOON_MS))[PARTITION]
            for position in positions
        ]
        assert found == [0, 3, 0, -1]
        assert read(client, 0, 3) == VALUES
        assert {asked for _, _, asked in cluster.asked(kind)} == {version}


@pytest.mark.parametrize("release", ["0.11", "1.0", "2.4", "2.8", "3.9", "4.3", "4.4"])
def test_releases(release: str) -> None:
    with one_partition(release=release) as (_, client):
        write(client, b"a", b"b")
        write(client, b"c")
        assert read(client, 0, 3) == VALUES


@pytest.mark.parametrize(
    ("kind", "version"),
    [*versions_from(OffsetCommitRequest, 1), *versions_from(OffsetFetchRequest, 1)],
)
def test_every_version_commits_and_fetches_offsets(kind: type[Request], version: int) -> None:
    with one_partition(nodes=2) as (cluster, client):
        cluster.add_partitions("t", 2)
        cluster.move_coordinator("g", 2)
        cluster.offer(kind, VersionRange(0, version))
        other = TopicPartition("t", 1)
        commit_offsets(client, "g", {PARTITION: 5, other: 0}, Deadline.after(SOON_MS))
        asked = [PARTITION, other, TopicPartition("t", 2)]
        found = committed_offsets(client, "g", asked, Deadline.after(SOON_MS))
        assert found == {PARTITION: 5, other: 0}
        assert committed_offsets(client, "h", asked, Deadline.after(SOON_MS)) == {}
        assert {node for node, request, _ in cluster.asked(OffsetCommitRequest)} == {2}
