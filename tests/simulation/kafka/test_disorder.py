"""Brokers under faults of all kinds: what they acknowledged is there, once, and replicas agree."""

from __future__ import annotations

from collections import Counter
from typing import Final, TypeVar

import pytest

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kafka_protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_protocol.messages.find_coordinator import (
    TRANSACTION,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_protocol.messages.produce import ProduceResponse
from kafka_protocol.records.batch import Producer
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import Request, Response
from tests.simulation.kafka.cluster import SimulatedCluster
from tests.simulation.kafka.requests import batch, produce_request, produced
from tests.simulation.kafka.settings import BrokerSettings
from tests.simulation.kafka.world import Client, VirtualTime

_PARTITIONS: Final = 3
_WRITES: Final = 60
_TRANSACTIONS: Final = 20
_PATIENCE_MS: Final = 1_500
_TRIES: Final = 200
_SETTINGS: Final = BrokerSettings(min_insync_replicas=2, session_ms=500, replica_lag_ms=1_000)

R = TypeVar("R", bound=Response)


class _Disorder:
    """A cluster, and a fault now and then."""

    def __init__(self, seed: int) -> None:
        self.time = VirtualTime(seed)
        self.cluster = SimulatedCluster(self.time, settings=_SETTINGS)
        self.cluster.create_topic("t", _PARTITIONS)
        self.time.run(100)

    def disturb(self) -> None:
        """One fault, of one node, which ends by itself."""
        faults = (self._kill, self._pause, self._isolate, self._elect, self._keep_stale)
        self.time.random.choice(faults)(self.time.random.randint(1, 3))

    def _kill(self, node: int) -> None:
        if self.cluster.brokers[node].is_up:
            self.cluster.kill(node)
            self.time.call_after(2_000, lambda: self.cluster.start(node))

    def _pause(self, node: int) -> None:
        if self.cluster.brokers[node].is_running:
            self.cluster.pause(node)
            self.time.call_after(1_200, lambda: self._wake(node))

    def _wake(self, node: int) -> None:
        if self.cluster.brokers[node].is_paused:
            self.cluster.resume(node)

    def _isolate(self, node: int) -> None:
        self.cluster.isolate(node)
        self.time.call_after(2_500, lambda: self.cluster.rejoin(node))

    def _elect(self, node: int) -> None:
        for topic in [*self.cluster.controller.topics.values()]:
            for number in range(len(topic.partitions)):
                self.cluster.elect(TopicPartition(topic.name, number), node)

    def _keep_stale(self, node: int) -> None:
        self.cluster.keep_stale(node, 800)

    def ask(self, node: int, request: Request, kind: type[R], version: int) -> R | None:
        """The response, if there is one soon."""
        broker = self.cluster.brokers.get(node)
        if broker is None or not broker.is_up:
            return None
        client = Client(self.cluster, self.time, node)
        client.send(request, version)
        self.time.run_until(lambda: bool(client.responses) or client.is_closed, _PATIENCE_MS)
        client.session.closed_by_client()
        found = client.responses[0] if client.responses else None
        return found if isinstance(found, kind) else None

    def produce(self, partition: TopicPartition, request: Request) -> bool:
        """Whether a batch is acknowledged; an error must be one that can be retried."""
        response = self.ask(self.cluster.leader(partition), request, ProduceResponse, 11)
        if response is None:
            return False
        error = ErrorCode(produced(response).error_code)
        assert not error or error.retriable, error
        return not error


class _Writer:
    """An idempotent producer of one partition, which repeats a batch until it is acknowledged."""

    def __init__(self, world: _Disorder, number: int) -> None:
        self.world = world
        self.partition = TopicPartition("t", number)
        self.written: list[bytes] = []

    def write(self) -> None:
        sequence = len(self.written)
        value = b"%d-%d" % (self.partition.partition, sequence)
        records = batch(value, producer=Producer(7_000 + self.partition.partition, 0, sequence))
        request = produce_request(records, self.partition, timeout_ms=1_000)
        for _ in range(_TRIES):
            if self.world.produce(self.partition, request):
                self.written.append(value)
                return
            self.world.time.run(100)
        raise AssertionError(f"{value!r} could not be written")


@pytest.mark.parametrize("seed", range(12))
def test_acknowledged_records_survive_everything_but_unclean_elections(seed: int) -> None:
    world = _Disorder(seed)
    writers = [_Writer(world, number) for number in range(_PARTITIONS)]
    for step in range(_WRITES):
        if step % 4 == 0:
            world.disturb()
        writers[step % _PARTITIONS].write()
    world.time.run(30_000)
    for writer in writers:
        log = world.cluster.log(writer.partition)
        assert [record.value for record in log] == writer.written
        told = {
            record.offset: record.value for record in world.cluster.acknowledged(writer.partition)
        }
        assert told.items() <= {record.offset: record.value for record in log}.items()
        _check_replicas(world.cluster, writer.partition)
        _check_sequences(world.cluster, writer)


def _check_replicas(cluster: SimulatedCluster, partition: TopicPartition) -> None:
    image = cluster.controller.topics[partition.topic].partitions[partition.partition]
    assert set(image.isr) == {1, 2, 3}
    replicas = [broker.replicas[partition] for broker in cluster.brokers.values()]
    assert len({tuple(replica.log.batches) for replica in replicas}) == 1
    assert len({replica.high_watermark for replica in replicas}) == 1
    assert sum(replica.is_leader for replica in replicas) == 1


def _check_sequences(cluster: SimulatedCluster, writer: _Writer) -> None:
    last = Counter(
        (known.epoch, known.last_sequence)
        for broker in cluster.brokers.values()
        for known in broker.replicas[writer.partition].producers.known.values()
    )
    assert last == {(0, len(writer.written) - 1): 3}


@pytest.mark.parametrize("seed", range(6))
def test_replicas_agree_also_after_unclean_elections(seed: int) -> None:
    world = _Disorder(seed)
    partitions = [TopicPartition("t", number) for number in range(_PARTITIONS)]
    for step in range(_WRITES):
        partition = partitions[step % _PARTITIONS]
        if step % 3 == 0:
            world.disturb()
        if step % 5 == 0:
            world.cluster.elect(partition, world.time.random.randint(1, 3), unclean=True)
        world.produce(partition, produce_request(batch(b"%d" % step), partition, acks=1))
    world.time.run(30_000)
    for partition in partitions:
        _check_replicas(world.cluster, partition)
        written = [record.value for record in world.cluster.log(partition)]
        assert set(written) <= {b"%d" % step for step in range(_WRITES)}


class _Transactional:
    """Transactions of one id, one after the other, each over all partitions."""

    def __init__(self, world: _Disorder) -> None:
        self.world = world
        self.expected: dict[bytes, str] = {}

    def coordinate(self, request: Request, kind: type[R], version: int) -> R | None:
        node = self.world.time.random.randint(1, 3)
        find = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=["x"])
        found = self.world.ask(node, find, FindCoordinatorResponse, 4)
        if found is None or found.coordinators[0].error_code:
            return None
        return self.world.ask(found.coordinators[0].node_id, request, kind, version)

    def begin(self) -> tuple[int, int]:
        request = InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=60_000)
        for _ in range(_TRIES):
            response = self.coordinate(request, InitProducerIdResponse, 4)
            if response is not None and not response.error_code:
                return response.producer_id, response.producer_epoch
            assert response is None or ErrorCode(response.error_code).retriable
            self.world.time.run(100)
        raise AssertionError("no transaction could be begun")

    def run(self, number: int) -> None:
        producer = self.begin()
        self._add(producer)
        for partition in range(_PARTITIONS):
            value = b"%d-%d" % (number, partition)
            where = TopicPartition("t", partition)
            records = batch(value, producer=Producer(*producer, 0, is_transactional=True))
            request = produce_request(records, where, transactional_id="x", timeout_ms=1_000)
            while not self.world.produce(where, request):
                self.world.time.run(100)
            self.expected[value] = "committed" if number % 3 else "aborted"
        self._end(producer, commits=number % 3 != 0)

    def _add(self, producer: tuple[int, int]) -> None:
        topic = AddPartitionsToTxnTopic(name="t", partitions=[*range(_PARTITIONS)])
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="x",
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=[topic],
        )
        for _ in range(_TRIES):
            response = self.coordinate(request, AddPartitionsToTxnResponse, 3)
            if response is not None:
                results = response.results_by_topic_v3_and_below[0].results_by_partition
                code = ErrorCode(results[0].partition_error_code)
                assert not code or code.retriable, code
                if not code:
                    return
            self.world.time.run(100)
        raise AssertionError("no partition could be added")

    def _end(self, producer: tuple[int, int], *, commits: bool) -> None:
        request = EndTxnRequest(
            transactional_id="x",
            producer_id=producer[0],
            producer_epoch=producer[1],
            committed=commits,
        )
        for _ in range(_TRIES):
            response = self.coordinate(request, EndTxnResponse, 4)
            if response is not None:
                code = ErrorCode(response.error_code)
                assert not code or code.retriable, code
                if not code:
                    return
            self.world.time.run(100)
        raise AssertionError("the transaction could not be ended")


@pytest.mark.parametrize("seed", range(12))
def test_transactions_end_as_they_were_told_to(seed: int) -> None:
    world = _Disorder(seed)
    client = _Transactional(world)
    for number in range(_TRANSACTIONS):
        world.disturb()
        client.run(number)
    world.time.run(30_000)
    found: dict[bytes, str] = {}
    for number in range(_PARTITIONS):
        partition = TopicPartition("t", number)
        records = world.cluster.log(partition)
        found |= {record.value or b"": record.outcome for record in records}
        assert len({record.value for record in records}) == len(records) == _TRANSACTIONS
        assert world.cluster.last_stable_offset(partition) == world.cluster.high_watermark(
            partition
        )
        _check_replicas(world.cluster, partition)
    assert found == client.expected
