"""The largest timestamp of each log, where brokers can tell it at once."""

from __future__ import annotations

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.list_offsets import list_max_timestamps
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.schema import VersionRange
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes import faults
from tests.fakes.log import START_MS
from tests.fakes.reading import PARTITION, one_partition
from tests.protocol.client.consumer.test_stale_leaders import replaced_leader

SOON_MS = 5_000


def newest(client: Cluster, *partitions: TopicPartition) -> dict[TopicPartition, int]:
    return list_max_timestamps(client, partitions or (PARTITION,), Deadline.after(SOON_MS))


def test_the_largest_timestamp() -> None:
    with one_partition((b"a",)) as (_, client):
        assert newest(client) == {PARTITION: START_MS}


def test_an_empty_log_and_an_unknown_partition_have_none() -> None:
    unknown = TopicPartition("nowhere", 0)
    with one_partition() as (cluster, client):
        assert newest(client, PARTITION, unknown) == {}
        cluster.append(PARTITION, b"a")
        assert newest(client, PARTITION, unknown).keys() == {PARTITION}


def test_fault_13_older_brokers_do_not_know_it() -> None:
    with one_partition((b"a",)) as (cluster, client):
        cluster.offer(ListOffsetsRequest, VersionRange(0, 6))
        assert newest(client) == {}


@pytest.mark.parametrize(
    "fault", [faults.closing, faults.refusing(ErrorCode.NOT_LEADER_OR_FOLLOWER)], ids=["cut", "no"]
)
def test_what_fails_is_left_out(fault: faults.Fault) -> None:
    with one_partition((b"a",)) as (cluster, client):
        cluster.spoil(ListOffsetsRequest, faults.only(1, fault))
        assert newest(client) == {}


def test_a_leader_that_was_replaced_does_not_count() -> None:
    with replaced_leader() as (_, client):
        assert newest(client) == {}
