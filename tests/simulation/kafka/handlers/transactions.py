"""InitProducerId, AddPartitionsToTxn, EndTxn, and what tells of transactions and producers."""

from __future__ import annotations

import re
from typing import Any, Final

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafka_protocol.messages.describe_producers import DescribeProducersResponse
from kafka_protocol.messages.describe_transactions import DescribeTransactionsResponse
from kafka_protocol.messages.end_txn import EndTxnResponse
from kafka_protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_protocol.messages.list_transactions import ListTransactionsResponse
from kafka_protocol.records.transactions import ABORT, COMMIT
from kafka_protocol.topic_partition import TopicPartition, by_topic
from tests.simulation.kafka.call import Call
from tests.simulation.kafka.transactions import Entry, Producer, State

_BUMPS: Final = 5  # of EndTxn (KIP-890)
_ONLY_BROKERS: Final = 4  # of AddPartitionsToTxn
# The first versions that know PRODUCER_FENCED (KIP-588).
_INIT_FENCED: Final = 4
_FENCED: Final = 2
_STATES: Final = {state.value for state in State} | {"PrepareEpochFence", "Dead"}


def _known(error: ErrorCode, version: int, first: int) -> int:
    """PRODUCER_FENCED under the name that the version has for it."""
    if error is ErrorCode.PRODUCER_FENCED and version < first:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return int(error)


# --- InitProducerId ------------------------------------------------------------------------------


def init_producer_id(call: Call) -> None:
    """A producer id, or the next epoch of a transactional id."""
    request, broker = call.request, call.broker

    def done(error: ErrorCode, producer: Producer | None) -> None:
        found = producer or Producer(-1, -1)
        call.respond(
            InitProducerIdResponse(
                error_code=_known(error, call.version, _INIT_FENCED),
                producer_id=found.producer_id,
                producer_epoch=found.epoch,
            )
        )

    name = request.transactional_id
    if name is None:
        refusal = call.refusal()
        done(refusal, None if refusal else Producer(broker.next_producer_id(), 0))
        return
    if not name or (request.producer_id < 0) != (request.producer_epoch < 0):
        done(ErrorCode.INVALID_REQUEST, None)
        return
    if not 0 < request.transaction_timeout_ms <= broker.settings.max_transaction_timeout_ms:
        done(ErrorCode.INVALID_TRANSACTION_TIMEOUT, None)
        return
    error, transactions = call.coordinator(broker.transactions, name)
    if error or transactions is None:
        done(error, None)
        return
    is_known = request.producer_id >= 0
    expected = Producer(request.producer_id, request.producer_epoch) if is_known else None
    transactions.begin(name, request.transaction_timeout_ms, expected, done)


# --- AddPartitionsToTxn --------------------------------------------------------------------------


def add_partitions(call: Call) -> None:
    """Add partitions of existing topics to a transaction, all or none."""
    if call.version >= _ONLY_BROKERS:
        call.close()
        return
    request = call.request
    wanted = [
        TopicPartition(topic.name, number)
        for topic in request.v3_and_below_topics
        for number in topic.partitions
    ]

    def done(error: ErrorCode) -> None:
        _respond_added(call, dict.fromkeys(wanted, _known(error, call.version, _FENCED)))

    name = request.v3_and_below_transactional_id
    producer = Producer(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
    missing = [each for each in wanted if call.broker.image.partition(each) is None]
    if missing:
        codes = dict.fromkeys(wanted, int(ErrorCode.OPERATION_NOT_ATTEMPTED))
        codes |= dict.fromkeys(missing, int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        _respond_added(call, codes)
        return
    if not name:
        done(ErrorCode.INVALID_REQUEST)
        return
    error, transactions = call.coordinator(call.broker.transactions, name)
    if error or transactions is None:
        done(error)
    else:
        transactions.add(name, producer, wanted, done)


def _respond_added(call: Call, codes: dict[TopicPartition, int]) -> None:
    call.respond(
        AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=[
                AddPartitionsToTxnTopicResult(
                    name=topic,
                    results_by_partition=[
                        AddPartitionsToTxnPartitionResult(
                            partition_index=each.partition, partition_error_code=codes[each]
                        )
                        for each in added
                    ],
                )
                for topic, added in by_topic(codes).items()
            ]
        )
    )


# --- EndTxn --------------------------------------------------------------------------------------


def end_txn(call: Call) -> None:
    """Commit or abort; answered when it is decided, before the markers are written."""
    request = call.request

    def done(error: ErrorCode, producer: Producer | None) -> None:
        response = EndTxnResponse(error_code=_known(error, call.version, _FENCED))
        if call.version >= _BUMPS and producer is not None:
            response.producer_id, response.producer_epoch = producer
        call.respond(response)

    error, transactions = call.coordinator(call.broker.transactions, request.transactional_id)
    if error or transactions is None:
        done(error, None)
        return
    transactions.end(
        request.transactional_id,
        Producer(request.producer_id, request.producer_epoch),
        COMMIT if request.committed else ABORT,
        bumps=call.version >= _BUMPS,
        done=done,
    )


# --- What tells of transactions ------------------------------------------------------------------


def describe_transactions(call: Call) -> None:
    """The state of transactional ids, from their coordinator."""
    call.respond(
        DescribeTransactionsResponse(
            transaction_states=[_described(call, name) for name in call.request.transactional_ids]
        )
    )


def _described(call: Call, name: str) -> Any:
    Described = DescribeTransactionsResponse.TransactionState
    error, transactions = call.coordinator(call.broker.transactions, name)
    entry = transactions.entries.get(name) if transactions is not None else None
    if entry is None:
        return Described(
            error_code=int(error or ErrorCode.TRANSACTIONAL_ID_NOT_FOUND), transactional_id=name
        )
    return Described(
        transactional_id=name,
        transaction_state=entry.state.value,
        transaction_timeout_ms=entry.timeout_ms,
        transaction_start_time_ms=entry.started_ms,
        producer_id=entry.producer_id,
        producer_epoch=entry.epoch,
        topics=[
            Described.TopicData(topic=topic, partitions=[each.partition for each in partitions])
            for topic, partitions in by_topic(entry.partitions).items()
        ],
    )


def list_transactions(call: Call) -> None:
    """The transactional ids that this broker coordinates."""
    request, broker = call.request, call.broker
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    error = call.refusal() or (loading if broker.transactions.is_loading else ErrorCode.NONE)
    if error:
        call.respond(ListTransactionsResponse(error_code=int(error)))
        return
    pattern = request.transactional_id_pattern if call.version >= 2 else None
    least_ms = request.duration_filter if call.version >= 1 else -1
    states = set(request.state_filters)
    ids = set(request.producer_id_filters)

    def is_wanted(name: str, entry: Entry) -> bool:
        open_ms = broker.now_ms - entry.started_ms  # long, as in Kafka, where none is open
        return (
            (not states or entry.state.value in states)
            and (not ids or entry.producer_id in ids)
            and (least_ms < 0 or open_ms > least_ms)
            and (not pattern or re.fullmatch(pattern, name) is not None)
        )

    call.respond(
        ListTransactionsResponse(
            unknown_state_filters=sorted(states - _STATES),
            transaction_states=[
                ListTransactionsResponse.TransactionState(
                    transactional_id=name,
                    producer_id=entry.producer_id,
                    transaction_state=entry.state.value,
                )
                for shard in broker.transactions.all_loaded
                for name, entry in shard.entries.items()
                if is_wanted(name, entry)
            ],
        )
    )


def describe_producers(call: Call) -> None:
    """The producers of partitions, as any replica knows them."""
    call.respond(
        DescribeProducersResponse(
            topics=[
                DescribeProducersResponse.TopicResponse(
                    name=topic.name,
                    partitions=[
                        _partition_producers(call, topic.name, number)
                        for number in topic.partition_indexes
                    ],
                )
                for topic in call.request.topics
            ]
        )
    )


def _partition_producers(call: Call, topic: str, number: int) -> Any:
    Partition = DescribeProducersResponse.TopicResponse.PartitionResponse
    error, replica = call.leader(topic, number, or_follower=True)
    known = {} if replica is None or error else replica.producers.known
    return Partition(
        partition_index=number,
        error_code=int(error),
        active_producers=[
            Partition.ProducerState(
                producer_id=producer_id,
                producer_epoch=each.epoch,
                last_sequence=each.last_sequence,
                last_timestamp=each.last_ms,
                coordinator_epoch=each.coordinator_epoch,
                current_txn_start_offset=-1 if each.first_offset is None else each.first_offset,
            )
            for producer_id, each in known.items()
        ],
    )
