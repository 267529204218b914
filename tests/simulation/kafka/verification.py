"""A leader asks the coordinator whether a batch belongs to an open transaction (KIP-890)."""

from __future__ import annotations

from typing import Final

from kafka_protocol.errors import ErrorCode
from kafka_protocol.records.batch import BatchHeader
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.call import Call
from tests.simulation.kafka.coordinators import TRANSACTIONS_TOPIC, partition_of
from tests.simulation.kafka.images import NO_LEADER
from tests.simulation.kafka.replica import Done, Replica
from tests.simulation.kafka.transactions import Producer

_KNOWS_ABORTABLE: Final = 11  # of Produce
_ADDS: Final = 12

# What the coordinator's errors mean to a producer: it may try again.
_RETRIED: Final = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def verify(call: Call, replica: Replica, header: BatchHeader | None, done: Done) -> None:
    """Call with the error for a batch of a transaction; at once where nothing is asked."""
    if (
        header is None
        or not call.broker.release.verifies_transactions
        or replica.producers.has_open(header.producer_id, header.producer_epoch)
    ):
        done(ErrorCode.NONE)
        return
    name = call.request.transactional_id
    coordinator = call.broker.peers.get(_coordinator_of(call, name))
    if name is None or coordinator is None or not coordinator.is_up:
        done(ErrorCode.NOT_ENOUGH_REPLICAS)
        return
    producer = Producer(header.producer_id, header.producer_epoch)
    broker = call.broker
    delay = broker.settings.request

    is_done = False

    def finish(error: ErrorCode) -> None:
        nonlocal is_done
        if not is_done:
            is_done = True
            done(_as_produce_error(error, call.version))

    def answer(error: ErrorCode) -> None:
        broker.after(broker.draw(delay), lambda: finish(error))

    def ask() -> None:
        error, transactions = coordinator.transactions.find(name)
        if error or transactions is None:
            answer(error)
        elif call.version >= _ADDS:
            transactions.add(name, producer, [replica.topic_partition], answer)
        else:
            answer(transactions.verify(name, producer, replica.topic_partition))

    coordinator.after(broker.draw(delay), ask)
    # The coordinator may be killed, or asleep.
    broker.after(call.request.timeout_ms, lambda: finish(ErrorCode.COORDINATOR_NOT_AVAILABLE))


def _coordinator_of(call: Call, name: str | None) -> int:
    topic = call.broker.image.topics.get(TRANSACTIONS_TOPIC)
    if topic is None or name is None:
        return NO_LEADER
    number = partition_of(name, len(topic.partitions))
    return call.broker.leader_of(TopicPartition(TRANSACTIONS_TOPIC, number))


def _as_produce_error(error: ErrorCode, version: int) -> ErrorCode:
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.CONCURRENT_TRANSACTIONS and version >= _ADDS:
        return error
    if error is ErrorCode.TRANSACTION_ABORTABLE and version < _KNOWS_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    return ErrorCode.NOT_ENOUGH_REPLICAS if error in _RETRIED else error
