"""Stale leaders in metadata, and logs truncated by an election."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.leader_epochs import NewestLeaders
from kafka_protocol.client.cluster.metadata import Leader, Topic
from kafka_protocol.client.consumer.fetch import (
    Fetched,
    LogTruncatedError,
    OffsetOutOfRangeError,
    fetch_range,
)
from kafka_protocol.errors import DataLossError, ErrorCode
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.records.record import decode_records
from kafka_protocol.topic_partition import OffsetRange
from kafka_protocol.wire.primitives import ZERO_UUID
from kafka_protocol.wire.schema import VersionRange
from tests.fakes import faults
from tests.fakes.broker import Handler
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import batch_of
from tests.fakes.reading import ABC, IN_THREE, PARTITION, one_partition, read

SOON_MS = 5_000
ID = uuid.UUID(int=1)


def topic(*epochs: int, topic_id: uuid.UUID = ID) -> Topic:
    """A topic with one partition for each epoch; the leader's node id is the epoch."""
    leaders = {number: Leader(epoch, epoch) for number, epoch in enumerate(epochs)}
    return Topic("t", topic_id, False, 0, leaders)


# --- Metadata ------------------------------------------------------------------------------------


def test_fault_17_older_epochs_are_ignored_by_partition() -> None:
    newest = NewestLeaders(60_000)
    assert newest.merge(topic(5, 5, 5)) == topic(5, 5, 5)
    assert newest.merge(topic(4, 5, 6)) == topic(5, 5, 5)._replace(
        partitions={0: Leader(5, 5), 1: Leader(5, 5), 2: Leader(6, 6)}
    )
    assert newest.merge(topic(6, 6, 6)) == topic(6, 6, 6)
    assert newest.merge(topic(5, 6, 7, 0)).partitions[0] == Leader(6, 6)


def test_fault_17_the_same_epoch_is_accepted() -> None:
    """A partition may lose its leader and get it back in the same epoch."""
    newest = NewestLeaders(60_000)
    newest.merge(topic(5))
    none = topic(5)._replace(partitions={0: Leader(-1, 5)})
    assert newest.merge(none) == none


def test_fault_17_and_24_another_topic_id_resets_the_epochs() -> None:
    newest = NewestLeaders(60_000)
    newest.merge(topic(5))
    recreated = topic(0, topic_id=uuid.UUID(int=2))
    assert newest.merge(recreated) == recreated


def test_fault_17_metadata_without_epochs_is_accepted() -> None:
    newest = NewestLeaders(60_000)
    newest.merge(topic(5))
    no_epochs = topic(5)._replace(partitions={0: Leader(7, -1)})
    assert newest.merge(no_epochs) == no_epochs


@pytest.mark.parametrize(("propagation_ms", "epoch"), [(0, 0), (60_000, 5)])
def test_fault_17_without_ids_older_epochs_count_later(propagation_ms: int, epoch: int) -> None:
    """The topic may have been re-created."""
    newest = NewestLeaders(propagation_ms)
    newest.merge(topic(5, topic_id=ZERO_UUID))
    assert newest.merge(topic(0, topic_id=ZERO_UUID)).partitions[0].epoch == epoch


def test_fault_17_stale_metadata_does_not_move_a_leader() -> None:
    with one_partition(*IN_THREE, nodes=2) as (cluster, client):
        cluster.move_leader(PARTITION, 2)
        client.topics(["t"], Deadline.after(SOON_MS))

        def older(response: MetadataResponse) -> None:
            row = response.topics[0].partitions[0]
            row.leader_id, row.leader_epoch = 1, 0

        cluster.add_fault(MetadataRequest, faults.changed(older))
        client.forget("t")
        assert read(client, 0, 3) == ABC
        assert {node for node, _, _ in cluster.asked(FetchRequest)} == {2}


# --- Truncated logs ------------------------------------------------------------------------------


def values_of(fetched: Fetched) -> list[tuple[int, bytes | None]]:
    return [(r.offset, r.value) for batch in fetched.batches for r in decode_records(batch)]


def half_read(cluster: FakeCluster, range_: Iterator[Fetched]) -> list[bytes | None]:
    """Read once, and then elect a replica that has only one record."""
    found = values_of(next(range_))
    cluster.log(PARTITION).truncate(1)
    cluster.move_leader(PARTITION, cluster.leader(PARTITION))
    for value in (b"x", b"y", b"z"):
        cluster.append(PARTITION, value)
    return [value for _, value in found]


def test_fault_20_an_unclean_election_truncates_the_log() -> None:
    """Without a comparison of epochs the read would continue at 3."""
    with one_partition(*IN_THREE) as (cluster, client):
        range_ = fetch_range(client, OffsetRange(PARTITION, 0, 4), SOON_MS)
        found = half_read(cluster, range_)
        with pytest.raises(LogTruncatedError, match="truncated to offset 1") as caught:
            next(range_)
        error = caught.value
        assert isinstance(error, DataLossError)
        assert found == [b"a", b"b", b"c"][: len(found)]
        assert (error.offset, error.truncated_to) == (len(found), 1)
        assert (error.epoch, error.agreed.epoch) == (0, 0)
        # A read that continues gets no offset twice.
        assert read(client, error.offset, 4) == [(3, b"z")]


def test_fault_20_growing_epochs_are_no_truncation() -> None:
    with one_partition(max_partition_fetch_bytes=1, nodes=3) as (cluster, client):
        for number in range(9):
            cluster.append(PARTITION, b"%d" % number)
            cluster.move_leader(PARTITION, (number + 1) % 3 + 1)
        assert read(client, 0, 9) == [(n, b"%d" % n) for n in range(9)]
        epochs = [
            request.topics[0].partitions[0].last_fetched_epoch
            for _, request, _ in cluster.asked(FetchRequest)
        ]
        assert epochs == [-1, 0, 1, 2, 3, 4, 5, 6, 7]


def test_fault_20_a_shorter_log_below_v12() -> None:
    with one_partition(*IN_THREE, max_partition_fetch_bytes=1) as (cluster, client):
        cluster.offer(FetchRequest, VersionRange(0, 11))
        range_ = fetch_range(client, OffsetRange(PARTITION, 0, 3), SOON_MS)
        next(range_)
        cluster.log(PARTITION).truncate(0)
        with pytest.raises(OffsetOutOfRangeError, match=r"\[0, 0\)"):
            for _ in range_:
                pass


def diverging(response: FetchResponse) -> None:
    data = response.responses[0].partitions[0]
    data.records = b""
    data.diverging_epoch.epoch, data.diverging_epoch.end_offset = 0, 0


def test_fault_20_one_response_does_not_prove_truncation() -> None:
    with one_partition(*IN_THREE) as (cluster, client):
        cluster.add_fault(FetchRequest, faults.changed(diverging), count=1)
        assert read(client, 0, 3) == ABC
        assert len(cluster.asked(MetadataRequest)) == 2


def test_fault_20_an_epoch_above_the_leader_s_is_not_sent() -> None:
    """No checksum covers the epoch in a batch."""
    with one_partition(max_partition_fetch_bytes=1) as (cluster, client):
        log = cluster.log(PARTITION)
        for number, epoch in enumerate([77, -1, 0]):
            log.append_at(number, batch_of(b"%d" % number), epoch)
        assert read(client, 0, 3) == [(0, b"0"), (1, b"1"), (2, b"2")]
        assert log.end_offset == 3
        for _, request, _ in cluster.asked(FetchRequest):
            assert request.topics[0].partitions[0].last_fetched_epoch == -1


def test_fault_20_out_of_range_from_a_leader_without_epochs() -> None:
    """Its log holds the offset, so the next Fetch has no epoch."""

    def unable(handler: Handler) -> Handler:
        refuse = faults.refusing(ErrorCode.OFFSET_OUT_OF_RANGE)(handler)

        def fetch(request: FetchRequest, version: int) -> Any:
            has_epoch = request.topics[0].partitions[0].last_fetched_epoch >= 0
            return (refuse if has_epoch else handler)(request, version)

        return fetch

    with one_partition(*IN_THREE, max_partition_fetch_bytes=1) as (cluster, client):
        cluster.add_fault(FetchRequest, unable)
        assert read(client, 0, 3) == ABC
        assert cluster.asked(ListOffsetsRequest)
