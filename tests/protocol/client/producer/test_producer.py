"""Writing: several requests in flight, sequences, and batches that are too large."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.records.batch import BatchHeader, sequence_after
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.fakes import faults
from tests.fakes.broker import Handler
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import batch_of
from tests.fakes.reading import PARTITION, one_partition, write
from tests.fakes.skipping_time import sleeps_take_no_time

UNLIMITED = 10**12
SOON_SECONDS = 10


def values_of(cluster: FakeCluster, topic_partition: TopicPartition = PARTITION) -> list[bytes]:
    return cluster.log(topic_partition).values


def headers_of(cluster: FakeCluster) -> list[BatchHeader]:
    return cluster.log(PARTITION).data_headers


def are_in_sequence(headers: list[BatchHeader]) -> bool:
    return all(
        sequence_after(before.base_sequence, before.records_count) == after.base_sequence
        for before, after in pairwise(headers)
    )


def numbered(count: int, start: int = 0) -> list[bytes]:
    return [b"%d" % number for number in range(start, start + count)]


# --- Several requests in flight ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "most"),
    [({}, 5), ({"max_in_flight": 2}, 2), ({"enable_idempotence": False}, 1)],
    ids=["default", "option", "without sequences"],
)
def test_batches_of_a_partition_in_flight(options: dict[str, Any], most: int) -> None:
    with one_partition(**options) as (cluster, client):
        producer = Producer(client)
        producer.add(PARTITION, batch_of(b"0"))
        producer.flush()
        for value in numbered(9, 1):
            producer.add(PARTITION, batch_of(value))
        producer.push(UNLIMITED)
        asked = 1 + most
        assert Deadline(SOON_SECONDS).wait_for(lambda: len(cluster.asked(ProduceRequest)) == asked)
        assert producer.pending_bytes == 9 * len(batch_of(b"0"))
        producer.flush()
        assert values_of(cluster) == numbered(10)
        assert producer.pending_bytes == 0


def held_until(release: threading.Event, handler: Handler) -> Handler:
    def handle(request: Any, version: int) -> Any:
        release.wait(SOON_SECONDS)
        return handler(request, version)

    return handle


def test_push_receives_arrived_responses_without_waiting() -> None:
    with FakeCluster(nodes=2) as cluster:
        cluster.add_topic("t", partitions=2)
        client = cluster.client()
        producer = Producer(client)
        # The broker with the oldest request does not respond; the other one does.
        release = threading.Event()
        cluster.add_fault(ProduceRequest, partial(held_until, release), node=1)
        for each in (PARTITION, TopicPartition("t", 1)):
            for value in numbered(7):
                producer.add(each, batch_of(value))

        def is_half_done() -> bool:
            producer.push(UNLIMITED)
            return producer.pending_bytes == 7 * len(batch_of(b"0"))

        try:
            assert Deadline(SOON_SECONDS).wait_for(is_half_done)
        finally:
            release.set()
        assert values_of(cluster, TopicPartition("t", 1)) == numbered(7)
        producer.flush()
        assert values_of(cluster) == numbered(7)
        client.close()


def test_the_first_batch_of_a_partition_is_in_flight_alone() -> None:
    with one_partition() as (cluster, client):
        cluster.add_fault(ProduceRequest, error=ErrorCode.NOT_LEADER_OR_FOLLOWER, count=1)
        producer = Producer(client)
        for value in numbered(3):
            producer.add(PARTITION, batch_of(value))
        # A leader that does not know the producer would accept the second batch first.
        producer.flush()
        assert values_of(cluster) == numbered(3)
        assert are_in_sequence(headers_of(cluster))


@pytest.mark.parametrize(
    ("options", "requests"),
    [({}, 1), ({"max_request_bytes": 3 * len(batch_of(b"x"))}, 3)],
    ids=["default", "kafka.max.request.size"],
)
def test_one_request_has_batches_of_all_partitions(options: dict[str, int], requests: int) -> None:
    with FakeCluster(nodes=1) as cluster:
        cluster.add_topic("t", partitions=9)
        client = cluster.client(**options)
        producer = Producer(client)
        for number in range(9):
            producer.add(TopicPartition("t", number), batch_of(b"x"))
        producer.flush()
        assert len(cluster.asked(ProduceRequest)) == requests
        client.close()


def test_abandon_does_not_affect_the_next_producer() -> None:
    with one_partition() as (cluster, client):
        producer = Producer(client)
        producer.add(PARTITION, batch_of(b"a"))
        producer.push(UNLIMITED)
        producer.abandon()
        write(client, b"b")
        # The broker may handle the abandoned request before, later or never.
        assert [value for value in values_of(cluster) if value != b"a"] == [b"b"]


# --- Sequences -----------------------------------------------------------------------------------


def test_batches_have_the_producer_id_and_sequences() -> None:
    with one_partition() as (cluster, client):
        producer = Producer(client)
        for round_ in range(2):
            producer.add(PARTITION, batch_of(b"a", b"b"))
            producer.add(PARTITION, batch_of(b"c"))
            producer.flush()
            assert len(cluster.asked(InitProducerIdRequest)) == 1, round_
        headers = headers_of(cluster)
        assert [header.base_sequence for header in headers] == [0, 2, 3, 5]
        assert len({(header.producer_id, header.producer_epoch) for header in headers}) == 1


def test_without_idempotence_batches_have_no_producer_id() -> None:
    with one_partition(enable_idempotence=False) as (cluster, client):
        write(client, b"a")
        assert headers_of(cluster)[0].producer_id == -1
        assert not cluster.asked(InitProducerIdRequest)


PASSING = (
    ErrorCode.NONE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.REQUEST_TIMED_OUT,
)
LOSSES = {
    "answered": faults.delayed(0),
    "cut": faults.cut_after(11),
    "closed": faults.closing,
    "again": faults.repeated(2),
}


@pytest.mark.no_cover
@settings(max_examples=max(40, settings().max_examples * 2 // 5))
@given(
    st.lists(st.sampled_from(PASSING), max_size=12),
    st.lists(st.sampled_from([*LOSSES]), max_size=12),
    st.sampled_from([0, 200, UNLIMITED]),
)
# A batch that is appended and refused again, while those behind it are appended.
@example(
    [ErrorCode(code) for code in (6, 0, 19, 0, 19, 7, 7, 0, 7, 7, 0, 6)],
    ["again", "cut", "answered", "closed"],
    UNLIMITED,
)
def test_fault_42_every_batch_is_written_once_and_in_order(
    refusals: list[ErrorCode], losses: list[str], max_pending_bytes: int
) -> None:
    partitions = [TopicPartition("t", number) for number in range(3)]
    with FakeCluster(nodes=2) as cluster:
        cluster.add_topic("t", partitions=3)
        client = cluster.client(request_timeout_ms=2_000, retry_backoff_max_ms=2)
        for refusal in refusals:
            cluster.add_fault(ProduceRequest, error=refusal, count=1)
        cluster.add_fault(
            ProduceRequest,
            lambda handler: faults.in_turn(*(LOSSES[loss](handler) for loss in losses), handler),
        )
        producer = Producer(client)
        with closing(client):
            for value in numbered(12):
                for each in partitions:
                    producer.add(each, batch_of(value))
                producer.push(max_pending_bytes)
            producer.flush()
        assert [values_of(cluster, each) for each in partitions] == [numbered(12)] * 3


@pytest.fixture
def forgetful() -> Iterator[tuple[FakeCluster, Cluster, Producer]]:
    """Three batches in the log, of a producer that the broker has forgotten."""
    with one_partition(release="2.4", request_timeout_ms=300, delivery_timeout_ms=2_000) as (
        cluster,
        client,
    ):
        producer = Producer(client)
        for value in numbered(3):
            producer.add(PARTITION, batch_of(value))
        producer.flush()
        cluster.log(PARTITION).forget_producers()
        yield cluster, client, producer


def test_fault_45_a_forgotten_producer_gets_another_id(
    forgetful: tuple[FakeCluster, Cluster, Producer],
) -> None:
    cluster, _, producer = forgetful
    for value in numbered(3, 3):
        producer.add(PARTITION, batch_of(value))
    producer.flush()
    assert values_of(cluster) == numbered(6)
    assert [header.base_sequence for header in headers_of(cluster)] == [0, 1, 2] * 2
    assert len({header.producer_id for header in headers_of(cluster)}) == 2


def test_fault_45_no_other_id_while_an_outcome_is_unknown(
    forgetful: tuple[FakeCluster, Cluster, Producer],
) -> None:
    cluster, _, producer = forgetful
    cluster.add_fault(ProduceRequest, faults.closing, count=1)
    producer.add(PARTITION, batch_of(b"3"))
    with pytest.raises(BrokerError, match=r"Produce to t-0 on broker 1 .*UNKNOWN_PRODUCER_ID"):
        producer.flush()
    assert values_of(cluster) == numbered(3)


def test_fault_45_acknowledged_records_are_lost() -> None:
    with one_partition() as (cluster, client):
        producer = Producer(client)
        producer.add(PARTITION, batch_of(b"a"))
        producer.flush()
        cluster.add_fault(ProduceRequest, error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, count=1)
        producer.add(PARTITION, batch_of(b"b"))
        with pytest.raises(BrokerError, match=r"OUT_OF_ORDER.*write all records again"):
            producer.flush()


@pytest.mark.parametrize(
    "error", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED], ids=str
)
def test_fault_47_a_fenced_producer_writes_nothing(error: ErrorCode) -> None:
    with one_partition() as (cluster, client):
        cluster.add_fault(ProduceRequest, error=error, count=1)
        with pytest.raises(BrokerError, match=error.name):
            write(client, b"a")
        assert values_of(cluster) == []


def test_a_refused_producer_id_names_the_acl() -> None:
    with one_partition() as (cluster, client):
        cluster.add_fault(
            InitProducerIdRequest, error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, count=1
        )
        with pytest.raises(BrokerError, match=r"InitProducerId.*IDEMPOTENT_WRITE"):
            write(client, b"a")


# --- Batches that are too large ------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 7, 64])
def test_fault_44_a_too_large_batch_is_split(count: int) -> None:
    with one_partition() as (cluster, client):
        cluster.add_topic("t", config={"max.message.bytes": "300"})
        values = [value * 50 for value in numbered(count)]
        producer = Producer(client)
        for start in range(0, count, 16):
            producer.add(PARTITION, batch_of(*values[start : start + 16]))
        producer.flush()
        assert values_of(cluster) == values
        assert are_in_sequence(headers_of(cluster))
        assert producer.pending_bytes == 0


def test_fault_44_a_too_large_record_is_an_error_with_its_size() -> None:
    with one_partition() as (cluster, client):
        cluster.add_topic("t", config={"max.message.bytes": "300"})
        with pytest.raises(KafkaError, match=r"t-0 on .* 1,07\d bytes.*max\.message\.bytes"):
            write(client, b"x" * 1_000)
        assert values_of(cluster) == []


# --- Limits of retries ---------------------------------------------------------------------------


def test_the_option_retries_limits_the_tries() -> None:
    with one_partition(retries=2) as (cluster, client):
        cluster.add_fault(ProduceRequest, error=ErrorCode.NOT_ENOUGH_REPLICAS, count=9)
        with pytest.raises(BrokerError, match=r"NOT_ENOUGH_REPLICAS.*min\.insync\.replicas"):
            write(client, b"a")
        assert len(cluster.asked(ProduceRequest)) == 3


def test_fault_43_the_delivery_time_limits_the_tries() -> None:
    with one_partition(delivery_timeout_ms=2_000) as (cluster, client), sleeps_take_no_time():
        cluster.add_fault(
            ProduceRequest, faults.refusing(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        )
        with pytest.raises(BrokerError, match=r"NOT_ENOUGH_REPLICAS.*min\.insync\.replicas"):
            write(client, b"a")
        assert len(cluster.asked(ProduceRequest)) > 1
