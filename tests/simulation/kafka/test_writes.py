"""Produce: what is refused, repeated, converted, and what a broker remembers of producers."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_protocol.messages.produce import ProduceResponse
from kafka_protocol.records.batch import Producer
from tests.simulation.kafka.cluster import SimulatedCluster
from tests.simulation.kafka.conftest import Connect
from tests.simulation.kafka.requests import (
    TP,
    batch,
    fetch_request,
    fetched,
    produce_request,
    produced,
    values,
)
from tests.simulation.kafka.world import Client, VirtualTime

_BY_NAME = 12
_ID = 4711


def _write(client: Client, sequence: int, *written: bytes, epoch: int = 0, version: int = 7) -> Any:
    producer = Producer(_ID, epoch, sequence)
    records = batch(*(written or (b"%d" % sequence,)), producer=producer)
    return produced(client.ask(produce_request(records), ProduceResponse, version))


def test_a_repeated_batch_is_answered_with_its_first_offset(
    cluster: SimulatedCluster, connect: Connect
) -> None:
    client = connect()
    assert [_write(client, sequence).base_offset for sequence in (0, 1, 2)] == [0, 1, 2]
    again = _write(client, 1)
    assert (again.error_code, again.base_offset) == (0, 1)
    assert values(cluster.log(TP)) == [b"0", b"1", b"2"]
    assert len(cluster.acknowledged(TP)) == 3


def test_sequences_survive_a_failover(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    _write(connect(), 0)
    _write(connect(), 1)
    old = cluster.leader(TP)
    cluster.kill(old)
    time.run_until(lambda: cluster.leader(TP) != old)
    time.run(100)
    client = connect()
    assert _write(client, 1).base_offset == 1
    assert _write(client, 3).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert _write(client, 2).base_offset == 2


def test_a_batch_that_was_cut_off_is_not_taken_for_repeated(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    first = cluster.leader(TP)
    cluster.isolate(first)
    cluster.keep_stale(first, 2_000)
    client = connect()
    other = next(node for node in cluster.brokers if node != first)
    cluster.elect(TP, other)
    time.run(100)
    records = batch(b"lost", producer=Producer(_ID, 0, 0))
    response = client.ask(produce_request(records, acks=1), ProduceResponse, _BY_NAME)
    assert not produced(response).error_code
    cluster.rejoin(first)
    time.run(3_000)
    assert cluster.brokers[first].replicas[TP].log.end_offset == 0
    cluster.elect(TP, first)
    time.run(100)
    _write(connect(first), 0, b"new")
    assert values(cluster.log(TP)) == [b"new"]


@pytest.mark.parametrize(
    ("release", "error"), [("2.4", ErrorCode.UNKNOWN_PRODUCER_ID), ("2.5", ErrorCode.NONE)]
)
def test_a_producer_whose_records_are_deleted_is_unknown_after_a_restart(
    time: VirtualTime, release: str, error: ErrorCode
) -> None:
    cluster = SimulatedCluster(time, nodes=1, release=release)
    cluster.create_topic("t")
    time.run(100)
    for sequence in range(3):
        _write(Client(cluster, time), sequence)
    cluster.delete_records(TP, 3)
    cluster.stop(1)
    cluster.start(1)
    time.run(2_000)
    assert _write(Client(cluster, time), 3).error_code == error


def test_a_producer_is_forgotten_by_the_times_of_its_records(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    _write(connect(), 0)
    time.run(86_400_000)
    assert _write(connect(), 5).error_code == 0


def test_a_deleted_batch_is_still_known_as_repeated(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    _write(connect(), 0)
    cluster.delete_records(TP, 1)
    assert _write(connect(), 0).base_offset == 0


def test_ids_are_never_given_twice(cluster: SimulatedCluster, time: VirtualTime) -> None:
    found = set()
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
    for _ in range(3):
        for node in cluster.brokers:
            for _ in range(2):
                response = Client(cluster, time, node).ask(request, InitProducerIdResponse)
                found.add(response.producer_id)
        cluster.kill(2)
        cluster.start(2)
    assert len(found) == 18


def test_in_an_upgrade_from_0_10_batches_are_stored_as_old_messages(time: VirtualTime) -> None:
    cluster = SimulatedCluster(time, nodes=2, release="0.10.2")
    cluster.create_topic("t", replication=2)
    time.run(100)
    cluster.stop(1)
    cluster.start(1, "2.0")
    time.run(2_000)
    assert cluster.elect(TP, 1)
    time.run(100)
    client = Client(cluster, time, 1)
    plain = produce_request(batch(b"a", b"b"))
    assert not produced(client.ask(plain, ProduceResponse, 6)).error_code
    refused = _write(client, 0, version=6).error_code
    assert refused == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    data = fetched(client.ask(fetch_request(0), FetchResponse, 8)).records
    assert bytes(data)[16] == 1
    cluster.stop(2)
    cluster.start(2, "2.0")
    time.run(2_000)
    assert _write(client, 0, version=6).base_offset == 2
    assert values(cluster.log(TP)) == [b"a", b"b", b"0"]


def test_nobody_else_appends_a_format_that_brokers_do_not_know(time: VirtualTime) -> None:
    cluster = SimulatedCluster(time, nodes=1, release="0.10.2")
    cluster.create_topic("t")
    time.run(100)
    with pytest.raises(ValueError, match="message format 2"):
        cluster.append_as(TP, batch(b"a"))


def test_another_clients_batches_are_acknowledged_when_they_are_replicated(
    cluster: SimulatedCluster, time: VirtualTime
) -> None:
    told: list[int] = []
    assert cluster.append_as(TP, batch(b"a"), told.append) == 0
    assert not told
    time.run(50)
    assert told == [0]
    assert values(cluster.acknowledged(TP)) == [b"a"]


def test_a_quota_mutes_the_connection(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    cluster.set_quota(1_000)
    client = connect()
    response = client.ask(produce_request(batch(b"v" * 3_000)), ProduceResponse, _BY_NAME)
    assert 1_500 < response.throttle_time_ms < 3_000
    begun = time.now_ms
    client.ask(fetch_request(0), FetchResponse, _BY_NAME)
    assert time.now_ms - begun >= response.throttle_time_ms


def test_before_2_0_a_quota_delays_the_response(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    cluster.set_quota(1_000)
    begun = time.now_ms
    response = connect().ask(produce_request(batch(b"v" * 3_000)), ProduceResponse, 5)
    assert time.now_ms - begun >= response.throttle_time_ms > 1_500
