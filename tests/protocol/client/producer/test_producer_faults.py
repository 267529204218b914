"""Faults of writes: after any fault of Produce, each batch is written once and in order."""

from __future__ import annotations

import itertools
from contextlib import closing
from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError, OutOfStepError
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import VersionRange
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import Fault
from tests.fakes.log import batch_of
from tests.fakes.reading import PARTITION, one_partition, write
from tests.fakes.skipping_time import sleeps_take_no_time

Topic = ProduceResponse.TopicProduceResponse


def values_of(cluster: FakeCluster, topic_partition: TopicPartition) -> list[bytes]:
    return cluster.log(topic_partition).values


# --- Lost responses ------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", faults.LOST.values(), ids=faults.LOST)
def test_fault_04_08_and_42_a_lost_response_loses_no_batch(fault: Fault) -> None:
    with one_partition(request_timeout_ms=100) as (cluster, client):
        cluster.add_fault(ProduceRequest, fault, count=1)
        producer = Producer(client)
        for value in (b"a", b"b", b"c"):
            producer.add(PARTITION, batch_of(value))
        producer.flush()
        assert values_of(cluster, PARTITION) == [b"a", b"b", b"c"]
        assert producer.pending_bytes == 0


# --- Responses with wrong parts ------------------------------------------------------------------


def without_partition(response: ProduceResponse) -> None:
    response.responses[0].partition_responses.clear()


def of_another_partition(response: ProduceResponse) -> None:
    response.responses[0].partition_responses[0].index = 9


def of_another_topic(response: ProduceResponse) -> None:
    response.responses[0].name = "other"
    response.responses[0].topic_id = response.responses[0].topic_id.__class__(int=99)


@pytest.mark.many_inputs
@pytest.mark.parametrize("version", [12, 13])
@pytest.mark.parametrize("change", [without_partition, of_another_partition, of_another_topic])
def test_fault_39_a_batch_without_an_outcome_is_sent_again(change: Any, version: int) -> None:
    with one_partition(delivery_timeout_ms=5_000, retry_backoff_ms=500) as (cluster, client):
        cluster.offer(ProduceRequest, VersionRange(0, version))
        cluster.offer(MetadataRequest, VersionRange(0, 9 if version < 13 else 13))
        cluster.add_fault(ProduceRequest, faults.changed(change), count=1)
        write(client, b"a")
        assert values_of(cluster, PARTITION) == [b"a"]
        cluster.add_fault(ProduceRequest, faults.changed(change))
        with (
            pytest.raises(OutOfStepError, match=r"Produce to t-0 on broker 1.*lacks the part"),
            sleeps_take_no_time(),
        ):
            write(client, b"b")


@pytest.mark.parametrize(("highest", "magic"), [(1, 0), (2, 1), (3, 2)])
def test_the_leaders_version_of_produce_decides_the_magic(highest: int, magic: int) -> None:
    with one_partition() as (cluster, client):
        cluster.offer(ProduceRequest, VersionRange(0, highest))
        assert Producer(client).message_format(PARTITION) == magic


def contradictory(response: ProduceResponse) -> None:
    """An error and a success for the same partition."""
    results = response.responses[0].partition_responses
    refusal = Topic.PartitionProduceResponse(error_code=int(ErrorCode.NOT_ENOUGH_REPLICAS))
    results.insert(0, refusal)


def test_fault_39_of_two_outcomes_the_error_counts() -> None:
    with one_partition() as (cluster, client):
        cluster.add_fault(ProduceRequest, faults.changed(contradictory), count=1)
        write(client, b"a")
        assert len(cluster.asked(ProduceRequest)) == 2


# --- Leaders -------------------------------------------------------------------------------------


def test_fault_16_leaders_of_many_partitions_move() -> None:
    """Each partition keeps its order, and a refused batch is written once."""
    partitions = [TopicPartition("t", number) for number in range(9)]
    with FakeCluster(nodes=3) as cluster:
        cluster.add_topic("t", partitions=9)
        client = cluster.client()
        moved = itertools.count()

        def move(_response: ProduceResponse) -> None:
            partition = partitions[next(moved) % 9]
            cluster.move_leader(partition, cluster.leader(partition) % 3 + 1)

        cluster.add_fault(ProduceRequest, faults.changed(move))
        producer = Producer(client)
        with closing(client):
            for round_, tp in itertools.product(range(20), partitions):
                producer.add(tp, batch_of(b"%d" % round_))
            producer.flush()
        for tp in partitions:
            assert values_of(cluster, tp) == [b"%d" % round_ for round_ in range(20)]


def test_fault_19_one_leader_down_does_not_delay_others() -> None:
    partitions = [TopicPartition("t", number) for number in range(3)]
    with FakeCluster(nodes=3) as cluster:
        cluster.add_topic("t", partitions=3)
        with closing(cluster.client(delivery_timeout_ms=300)) as client:
            client.topics(["t"], Deadline.after(5_000))
            cluster.stop(2)
            producer = Producer(client)
            for tp in partitions:
                producer.add(tp, batch_of(b"x"))
            with pytest.raises(KafkaError):
                producer.flush()
            assert [values_of(cluster, tp) for tp in partitions] == [[b"x"], [], [b"x"]]
            cluster.start(2)
            producer.flush()
            assert [values_of(cluster, tp) for tp in partitions] == [[b"x"]] * 3


SUCCESSES = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)


# --- Errors --------------------------------------------------------------------------------------


@pytest.mark.no_cover
@pytest.mark.parametrize("error", [error for error in ErrorCode if error.retriable])
def test_fault_40_and_43_retriable_errors_are_retried(error: ErrorCode) -> None:
    with one_partition() as (cluster, client):
        cluster.add_fault(ProduceRequest, error=error, count=2)
        write(client, b"a")
        assert values_of(cluster, PARTITION) == [b"a"]


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "error",
    [
        error
        for error in ErrorCode
        if not error.retriable
        and error not in SUCCESSES
        and error is not ErrorCode.UNKNOWN_PRODUCER_ID  # leads to a new id
    ],
)
def test_final_errors_are_raised_at_once(error: ErrorCode) -> None:
    with one_partition() as (cluster, client):
        cluster.add_fault(ProduceRequest, error=error, count=1)
        with pytest.raises(BrokerError, match=rf"Produce to t-0 on broker 1 .*{error.name}"):
            write(client, b"a")
        assert len(cluster.asked(ProduceRequest)) == 1
        assert values_of(cluster, PARTITION) == []
