"""Transactions: states, epochs, fencing, markers that come late, coordinators that move."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kafka_protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafka_protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.messages.find_coordinator import (
    TRANSACTION,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from kafka_protocol.messages.produce import ProduceResponse
from kafka_protocol.records.batch import Producer as BatchProducer
from kafka_protocol.records.batch import read_batches
from kafka_protocol.records.record import decode_records
from kafka_protocol.records.transactions import AbortedTransaction, AbortedTransactions
from tests.simulation.kafka.cluster import SimulatedCluster
from tests.simulation.kafka.requests import (
    TP,
    batch,
    fetch_request,
    fetched,
    produce_request,
    produced,
    values,
)
from tests.simulation.kafka.settings import BrokerSettings, Delay
from tests.simulation.kafka.transactions import Producer
from tests.simulation.kafka.world import Client, VirtualTime

_ID = "a"
_TIMEOUT_MS = 60_000


class Writer:
    """A client of transactions that finds the coordinator itself, and asks once."""

    def __init__(self, cluster: SimulatedCluster, time: VirtualTime) -> None:
        self.cluster = cluster
        self.time = time
        self.producer = Producer(-1, -1)

    def coordinator(self) -> Client:
        while True:
            any_ = next(n for n, broker in self.cluster.brokers.items() if broker.is_running)
            request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[_ID])
            found = Client(self.cluster, self.time, any_).ask(request, FindCoordinatorResponse, 4)
            if not found.coordinators[0].error_code:
                return Client(self.cluster, self.time, found.coordinators[0].node_id)
            self.time.run(10)

    def init(self, version: int = 5, timeout_ms: int = _TIMEOUT_MS) -> int:
        request = InitProducerIdRequest(transactional_id=_ID, transaction_timeout_ms=timeout_ms)
        response = self.coordinator().ask(request, InitProducerIdResponse, version)
        if not response.error_code:
            self.producer = Producer(response.producer_id, response.producer_epoch)
        return response.error_code

    def begin(self, **options: Any) -> None:
        """InitProducerId until it works."""
        while error := self.init(**options):
            assert ErrorCode(error).retriable
            self.time.run(10)

    def add(self, version: int = 3) -> int:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=_ID,
            v3_and_below_producer_id=self.producer.producer_id,
            v3_and_below_producer_epoch=self.producer.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name="t", partitions=[0])],
        )
        response = self.coordinator().ask(request, AddPartitionsToTxnResponse, version)
        (topic,) = response.results_by_topic_v3_and_below
        return topic.results_by_partition[0].partition_error_code

    def write(self, value: bytes, sequence: int = 0, version: int = 11) -> int:
        producer = BatchProducer(*self.producer, sequence, is_transactional=True)
        request = produce_request(batch(value, producer=producer), transactional_id=_ID)
        client = Client(self.cluster, self.time, self.cluster.leader(TP))
        return int(produced(client.ask(request, ProduceResponse, version)).error_code)

    def end(self, committed: bool, version: int = 4) -> int:
        request = EndTxnRequest(
            transactional_id=_ID,
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.epoch,
            committed=committed,
        )
        response = self.coordinator().ask(request, EndTxnResponse, version)
        if version >= 5 and not response.error_code:
            self.producer = Producer(response.producer_id, response.producer_epoch)
        return response.error_code

    def state(self) -> str:
        request = DescribeTransactionsRequest(transactional_ids=[_ID])
        (found,) = self.coordinator().ask(request, DescribeTransactionsResponse).transaction_states
        assert not found.error_code
        return found.transaction_state


@pytest.fixture
def writer(cluster: SimulatedCluster, time: VirtualTime) -> Writer:
    return Writer(cluster, time)


def _open(writer: Writer, value: bytes = b"v") -> None:
    writer.begin()
    assert not writer.add()
    assert not writer.write(value)


def _read_committed(cluster: SimulatedCluster, time: VirtualTime) -> list[bytes | None]:
    client = Client(cluster, time, cluster.leader(TP))
    data = fetched(client.ask(fetch_request(0, is_committed=True), FetchResponse, 12))
    aborted = AbortedTransactions(
        AbortedTransaction(a.producer_id, a.first_offset) for a in data.aborted_transactions
    )
    found = []
    for each in read_batches(memoryview(data.records)):
        if not aborted.advance(each):
            found += [record.value for record in decode_records(each)]
    return found


@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_ends_for_readers_when_its_marker_is_replicated(
    cluster: SimulatedCluster, time: VirtualTime, writer: Writer, committed: bool
) -> None:
    _open(writer)
    assert writer.state() == "Ongoing"
    assert cluster.last_stable_offset(TP) == 0 < cluster.high_watermark(TP)
    assert _read_committed(cluster, time) == []
    assert not writer.end(committed)
    time.run(100)
    assert writer.state() == ("CompleteCommit" if committed else "CompleteAbort")
    assert cluster.last_stable_offset(TP) == cluster.high_watermark(TP) == 2
    expected = [b"v"] if committed else []
    assert _read_committed(cluster, time) == values(cluster.committed(TP)) == expected
    assert [r.outcome for r in cluster.log(TP)] == ["committed" if committed else "aborted"]


def test_init_aborts_an_open_transaction_and_fences_its_producer(
    cluster: SimulatedCluster, time: VirtualTime, writer: Writer
) -> None:
    _open(writer)
    old = writer.producer
    assert writer.init() == ErrorCode.CONCURRENT_TRANSACTIONS
    writer.begin()
    assert writer.producer.producer_id == old.producer_id
    assert writer.producer.epoch > old.epoch
    assert values(cluster.committed(TP)) == []
    writer.producer = old
    assert writer.add() == ErrorCode.PRODUCER_FENCED
    assert writer.add(version=1) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert writer.write(b"late", 1) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert writer.end(True) == ErrorCode.PRODUCER_FENCED


def test_a_transaction_times_out(
    cluster: SimulatedCluster, time: VirtualTime, writer: Writer
) -> None:
    _open(writer)
    time.run(_TIMEOUT_MS + 11_000)
    assert writer.state() == "CompleteAbort"
    assert writer.end(True) == ErrorCode.PRODUCER_FENCED
    assert [r.outcome for r in cluster.log(TP)] == ["aborted"]


def test_an_end_is_answered_alike_when_it_is_repeated(time: VirtualTime, writer: Writer) -> None:
    writer.begin()
    assert writer.end(True) == ErrorCode.INVALID_TXN_STATE
    assert not writer.add()
    assert not writer.end(True)
    time.run(100)
    assert not writer.end(True)
    assert writer.end(False) == ErrorCode.INVALID_TXN_STATE


def test_while_markers_are_late_the_next_transaction_waits(time: VirtualTime) -> None:
    cluster = SimulatedCluster(time, settings=BrokerSettings(markers=Delay(500, 600)))
    cluster.create_topic("t")
    time.run(100)
    writer = Writer(cluster, time)
    _open(writer)
    assert not writer.end(True)
    assert writer.state() == "PrepareCommit"
    assert writer.init() == ErrorCode.CONCURRENT_TRANSACTIONS
    assert writer.add() == ErrorCode.CONCURRENT_TRANSACTIONS
    assert writer.end(True) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert cluster.last_stable_offset(TP) == 0
    time.run(2_000)
    assert writer.state() == "CompleteCommit"
    assert cluster.last_stable_offset(TP) == 2


@pytest.mark.parametrize("when", ["open", "ended"])
@pytest.mark.parametrize("how", ["moved", "killed"])
def test_another_coordinator_goes_on(
    cluster: SimulatedCluster, time: VirtualTime, writer: Writer, when: str, how: str
) -> None:
    _open(writer)
    if when == "ended":
        assert not writer.end(True)
    coordinator = writer.coordinator().session.broker.node
    if how == "moved":
        assert cluster.move_coordinator("transaction", _ID)
    else:
        cluster.kill(coordinator)
    time.run(12_000)
    if when == "open":
        assert writer.state() == "Ongoing"
        assert not writer.write(b"w", 1)
        assert not writer.end(True)
        time.run(2_000)
    assert writer.state() == "CompleteCommit"
    assert values(cluster.committed(TP)) == ([b"v", b"w"] if when == "open" else [b"v"])
    assert writer.coordinator().session.broker.node != coordinator


def test_a_batch_outside_a_transaction_is_refused(time: VirtualTime, writer: Writer) -> None:
    writer.begin()
    assert writer.write(b"v") == ErrorCode.TRANSACTION_ABORTABLE
    assert writer.write(b"v", version=10) == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("fault", ["killed", "paused"])
def test_a_batch_that_cannot_be_verified_may_be_sent_again(
    time: VirtualTime, cluster: SimulatedCluster, writer: Writer, fault: str
) -> None:
    writer.begin()
    assert not writer.add()
    coordinator = writer.coordinator().session.broker.node
    if coordinator == cluster.leader(TP):
        cluster.move_coordinator("transaction", _ID)
        time.run(500)
        coordinator = writer.coordinator().session.broker.node
    (cluster.kill if fault == "killed" else cluster.pause)(coordinator)
    assert writer.write(b"v") == ErrorCode.NOT_ENOUGH_REPLICAS
    time.run(12_000)
    assert not writer.write(b"v")


def test_before_3_6_a_late_batch_opens_a_transaction_that_nobody_ends(time: VirtualTime) -> None:
    cluster = SimulatedCluster(time, release="3.5")
    cluster.create_topic("t")
    time.run(100)
    writer = Writer(cluster, time)
    while writer.init(version=4):
        time.run(10)
    assert not writer.add()
    assert not writer.write(b"v", version=9)
    assert not writer.end(False, version=3)
    time.run(1_000)
    assert not writer.write(b"late", 1, version=9)
    time.run(200_000)
    assert cluster.last_stable_offset(TP) == 2 < cluster.high_watermark(TP)
    assert [record.outcome for record in cluster.log(TP)] == ["aborted", "open"]


def test_with_version_2_each_end_brings_the_next_epoch(
    cluster: SimulatedCluster, time: VirtualTime, writer: Writer
) -> None:
    writer.begin()
    topic_id = cluster.controller.topics["t"].topic_id
    before = writer.producer
    assert not writer.write(b"v", version=12)
    assert topic_id in cluster.topic_ids("t")
    assert not writer.end(True, version=5)
    assert writer.producer == (before.producer_id, before.epoch + 1)
    time.run(100)
    after, writer.producer = writer.producer, before
    assert not writer.end(True, version=5)
    assert writer.producer == after
    writer.producer = before
    assert writer.end(False, version=5) == ErrorCode.INVALID_TXN_STATE
    writer.producer = after
    assert not writer.write(b"w", version=12)
    assert not writer.end(False, version=5)
    time.run(100)
    assert values(cluster.committed(TP)) == [b"v"]


def test_epochs_that_are_used_up_bring_another_producer_id(writer: Writer) -> None:
    writer.begin()
    first = writer.producer
    shard = writer.coordinator().session.broker.transactions.find(_ID)[1]
    assert shard is not None
    shard.entries[_ID] = shard.entries[_ID]._replace(epoch=32_766)
    writer.begin()
    assert writer.producer.producer_id != first.producer_id
    assert writer.producer.epoch == 0


def test_open_transactions_are_listed_by_their_coordinator(
    cluster: SimulatedCluster, time: VirtualTime, writer: Writer
) -> None:
    _open(writer)
    found: list[str] = []
    for node in cluster.brokers:
        request = ListTransactionsRequest(state_filters=["Ongoing"], transactional_id_pattern="a+")
        response = Client(cluster, time, node).ask(request, ListTransactionsResponse)
        found += [state.transactional_id for state in response.transaction_states]
    assert found == [_ID]


def test_a_time_out_above_the_maximum_is_refused(writer: Writer) -> None:
    writer.begin()
    assert writer.init(timeout_ms=900_001) == ErrorCode.INVALID_TRANSACTION_TIMEOUT
