"""A transaction coordinator for a scripted cluster (transactions of version 1).

States, epochs and errors are those of Kafka's `TransactionCoordinator`. All nodes share the state,
so a coordinator can move without a loss. Transactions time out when a test calls `time_out`, and
markers can be held back, so that a transaction stays in a PREPARE state.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, Final

from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transactions import Transaction, begin
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafka_protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafka_protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP
from kafka_protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from kafka_protocol.records.batch import BatchHeader
from kafka_protocol.records.transactions import ABORT, COMMIT
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import Request, Response
from tests.fakes import coordinating
from tests.fakes.cluster import NEWEST, ScriptedCluster, Topic
from tests.fakes.handlers import Context
from tests.fakes.log import batch_of, marker
from tests.fakes.producers import Producers
from tests.fakes.reading import PARTITION, read

MAX_TIMEOUT_MS: Final = 900_000  # transaction.max.timeout.ms
MAX_EPOCH: Final = 32_766  # the next transaction gets another producer id

# The first versions that are for transactions above version 1, or for brokers.
_TOO_NEW: Final = {AddPartitionsToTxnRequest: 4, EndTxnRequest: 5}


class State(Enum):
    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_ABORT = "PrepareAbort"
    PREPARE_COMMIT = "PrepareCommit"
    COMPLETE_ABORT = "CompleteAbort"
    COMPLETE_COMMIT = "CompleteCommit"


_PREPARED = {ABORT: State.PREPARE_ABORT, COMMIT: State.PREPARE_COMMIT}
_COMPLETED = {ABORT: State.COMPLETE_ABORT, COMMIT: State.COMPLETE_COMMIT}


@dataclass
class Entry:
    """A coordinator's state of a transactional id.

    Attributes:
        partitions: The partitions, each with the offset of the first record in it, if any.
        timeout_ms: How long its transactions may be open.
        started_ms: When the open transaction began; -1 if there is none.
    """

    producer_id: int
    epoch: int = 0
    state: State = State.EMPTY
    partitions: dict[TopicPartition, int | None] = field(default_factory=dict)
    timeout_ms: int = MAX_TIMEOUT_MS
    started_ms: int = -1

    def refusal(self, producer_id: int, epoch: int, fenced: ErrorCode) -> ErrorCode:
        """The error for a request with this producer id and epoch."""
        if producer_id != self.producer_id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        return ErrorCode.NONE if epoch == self.epoch else fenced


class TransactionalCluster(ScriptedCluster):
    """A scripted cluster with transactions.

    Attributes:
        transactions: The coordinators' state, by transactional id.
        holds_markers: Whether transactions stay in their PREPARE states until `write_markers`.
    """

    def __init__(self, nodes: int = 1, release: str = NEWEST) -> None:
        super().__init__(nodes, release)
        self.transactions: dict[str, Entry] = {}
        self.holds_markers = False

    def add_topic(self, name: str, partitions: int = 1) -> Topic:
        topic = super().add_topic(name, partitions)
        for number, partition in topic.partitions.items():
            partition.producers = _Verified(self, TopicPartition(name, number))
        return topic

    def time_out(self, transactional_id: str) -> None:
        """Abort a transaction, as a coordinator does after transaction.timeout.ms."""
        with self._lock:
            self.fence(self.transactions[transactional_id])

    def write_markers(self) -> None:
        """Write the markers that were held back, and hold back no more."""
        with self._lock:
            self.holds_markers = False
            for entry in self.transactions.values():
                for type_, prepared in _PREPARED.items():
                    if entry.state is prepared:
                        self._complete(entry, type_)

    def fence(self, entry: Entry) -> None:
        """Abort an open transaction and raise the epoch."""
        entry.epoch += 1
        self.decide(entry, ABORT)

    def decide(self, entry: Entry, type_: int) -> None:
        """Commit or abort an open transaction."""
        entry.state = _PREPARED[type_]
        if not self.holds_markers:
            self._complete(entry, type_)

    def _complete(self, entry: Entry, type_: int) -> None:
        ended, entry.partitions = entry.partitions, {}
        entry.started_ms = -1
        entry.state = _COMPLETED[type_]
        for topic_partition, first_offset in ended.items():
            log = self.log(topic_partition)
            if first_offset is None:
                log.append(marker(entry.producer_id, type_))
            else:
                log.end_transaction(entry.producer_id, first_offset, type_)
            self.note_open(topic_partition)

    def note_open(self, topic_partition: TopicPartition) -> None:
        """Update the first unstable offset of a partition."""
        begun = (entry.partitions.get(topic_partition) for entry in self.transactions.values())
        offsets = [offset for offset in begun if offset is not None]
        self.log(topic_partition).first_unstable_offset = min(offsets, default=None)

    def _handlers(self) -> Mapping[type[Request], Callable[[Context, Any], Any]]:
        own = {kind: partial(handler, self) for kind, handler in _HANDLERS.items()}
        return {**super()._handlers(), **own}

    def _serves(self, number: int, kind: type[Request], version: int) -> bool:
        return super()._serves(number, kind, version) and version < _TOO_NEW.get(kind, 99)


class _Verified(Producers):
    """A partition's producers; batches of transactions are checked with the coordinators' state.

    Each transaction has its own epoch, so its sequences begin with 0.
    """

    def __init__(self, cluster: TransactionalCluster, topic_partition: TopicPartition) -> None:
        super().__init__()
        self._cluster = cluster
        self._topic_partition = topic_partition
        self._epochs: dict[tuple[int, int], Producers] = defaultdict(Producers)

    def check(self, header: BatchHeader) -> tuple[ErrorCode, int | None]:
        if not header.is_transactional:
            return super().check(header)
        entry = self._entry_of(header)
        if entry is None or header.producer_epoch != entry.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH, None
        if entry.state is not State.ONGOING or self._topic_partition not in entry.partitions:
            return ErrorCode.TRANSACTION_ABORTABLE, None
        return self._epochs[header.producer_id, header.producer_epoch].check(header)

    def note(self, header: BatchHeader, base_offset: int) -> None:
        if not header.is_transactional:
            super().note(header, base_offset)
            return
        self._epochs[header.producer_id, header.producer_epoch].note(header, base_offset)
        entry = self._entry_of(header)
        if entry is not None and entry.partitions[self._topic_partition] is None:
            entry.partitions[self._topic_partition] = base_offset
            self._cluster.note_open(self._topic_partition)

    def _entry_of(self, header: BatchHeader) -> Entry | None:
        entries = self._cluster.transactions.values()
        return next((e for e in entries if e.producer_id == header.producer_id), None)


def _init_producer_id(
    cluster: TransactionalCluster, context: Context, request: InitProducerIdRequest
) -> InitProducerIdResponse:
    if request.transactional_id is None:
        return coordinating.init_producer_id(context, request)
    error = coordinating.coordinator_error(context, request.transactional_id)
    if error:
        return InitProducerIdResponse(error_code=error)
    if request.transaction_timeout_ms > MAX_TIMEOUT_MS:
        return InitProducerIdResponse(error_code=int(ErrorCode.INVALID_TRANSACTION_TIMEOUT))
    entry = cluster.transactions.get(request.transactional_id)
    if entry is not None and entry.state is State.ONGOING:
        cluster.fence(entry)
        return InitProducerIdResponse(error_code=int(ErrorCode.CONCURRENT_TRANSACTIONS))
    if entry is not None and entry.state in _PREPARED.values():
        return InitProducerIdResponse(error_code=int(ErrorCode.CONCURRENT_TRANSACTIONS))
    if entry is None or entry.epoch >= MAX_EPOCH:
        cluster.producer_ids += 1
        entry = cluster.transactions[request.transactional_id] = Entry(cluster.producer_ids)
    else:
        entry.epoch += 1
        entry.state = State.EMPTY
    return InitProducerIdResponse(producer_id=entry.producer_id, producer_epoch=entry.epoch)


def _add_partitions(
    cluster: TransactionalCluster, context: Context, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse:
    wanted = [
        TopicPartition(topic.name, number)
        for topic in request.v3_and_below_topics
        for number in topic.partitions
    ]
    transactional_id = request.v3_and_below_transactional_id
    error = coordinating.coordinator_error(context, transactional_id)
    entry = cluster.transactions.get(transactional_id)
    if not error:
        error = _why_not_joined(
            entry,
            request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch,
            _fenced(context),
        )
    codes = dict.fromkeys(wanted, error)
    missing = {tp for tp in wanted if not _exists(cluster, tp)}
    if missing and not error:
        codes = dict.fromkeys(wanted, int(ErrorCode.OPERATION_NOT_ATTEMPTED))
        codes |= dict.fromkeys(missing, int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    if entry is not None and not any(codes.values()):
        entry.state = State.ONGOING
        entry.started_ms = now_ms()
        entry.partitions = {**dict.fromkeys(wanted, None), **entry.partitions}
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(
                        partition_index=number,
                        partition_error_code=codes[TopicPartition(topic.name, number)],
                    )
                    for number in topic.partitions
                ],
            )
            for topic in request.v3_and_below_topics
        ]
    )


def _why_not_joined(entry: Entry | None, producer_id: int, epoch: int, fenced: ErrorCode) -> int:
    if entry is None:
        return int(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    refusal = entry.refusal(producer_id, epoch, fenced)
    if not refusal and entry.state in _PREPARED.values():
        refusal = ErrorCode.CONCURRENT_TRANSACTIONS
    return int(refusal)


def _exists(cluster: ScriptedCluster, topic_partition: TopicPartition) -> bool:
    topic = cluster.topics.get(topic_partition.topic)
    return topic is not None and topic_partition.partition in topic.partitions


def _end_txn(
    cluster: TransactionalCluster, context: Context, request: EndTxnRequest
) -> EndTxnResponse:
    error = coordinating.coordinator_error(context, request.transactional_id)
    if not error:
        error = int(_ended(cluster, context, request))
    return EndTxnResponse(error_code=error)


def _ended(cluster: TransactionalCluster, context: Context, request: EndTxnRequest) -> ErrorCode:
    entry = cluster.transactions.get(request.transactional_id)
    if entry is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    type_ = COMMIT if request.committed else ABORT
    refusal = entry.refusal(request.producer_id, request.producer_epoch, _fenced(context))
    if not refusal and entry.state is State.ONGOING:
        cluster.decide(entry, type_)
    elif not refusal and entry.state is _PREPARED[type_]:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    elif not refusal and entry.state is not _COMPLETED[type_]:
        return ErrorCode.INVALID_TXN_STATE
    return refusal


def _describe_transactions(
    cluster: TransactionalCluster, context: Context, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    found = []
    for name in request.transactional_ids:
        entry = cluster.transactions.get(name)
        error = coordinating.coordinator_error(context, name)
        if entry is None:
            error = error or int(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
            entry = Entry(-1)
        found.append(
            DescribeTransactionsResponse.TransactionState(
                error_code=error,
                transactional_id=name,
                transaction_state=entry.state.value,
                producer_id=entry.producer_id,
                producer_epoch=entry.epoch,
                transaction_timeout_ms=entry.timeout_ms,
                transaction_start_time_ms=entry.started_ms,
                topics=[
                    DescribeTransactionsResponse.TransactionState.TopicData(
                        topic=tp.topic, partitions=[tp.partition]
                    )
                    for tp in entry.partitions
                ],
            )
        )
    return DescribeTransactionsResponse(transaction_states=found)


def _list_transactions(
    cluster: TransactionalCluster, context: Context, request: ListTransactionsRequest
) -> ListTransactionsResponse:
    """Those that this node coordinates."""
    if context.error:
        return ListTransactionsResponse(error_code=int(context.error))
    pattern = request.transactional_id_pattern if context.version >= 2 else None
    return ListTransactionsResponse(
        transaction_states=[
            ListTransactionsResponse.TransactionState(
                transactional_id=name,
                producer_id=entry.producer_id,
                transaction_state=entry.state.value,
            )
            for name, entry in cluster.transactions.items()
            if entry.state.value in request.state_filters
            and not coordinating.coordinator_error(context, name)
            and (pattern is None or re.fullmatch(pattern, name))
        ]
    )


def _fenced(context: Context) -> ErrorCode:
    """The fencing error of both APIs: another one since their version 2 (KIP-588)."""
    return ErrorCode.PRODUCER_FENCED if context.version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH


_HANDLERS: dict[type[Request], Callable[[TransactionalCluster, Context, Any], Response]] = {
    AddPartitionsToTxnRequest: _add_partitions,
    DescribeTransactionsRequest: _describe_transactions,
    EndTxnRequest: _end_txn,
    InitProducerIdRequest: _init_producer_id,
    ListTransactionsRequest: _list_transactions,
}


def soon() -> Deadline:
    return Deadline.after(5_000)


@contextmanager
def transactional(
    nodes: int = 1, partitions: int = 1, release: str = NEWEST, **options: Any
) -> Iterator[tuple[TransactionalCluster, Cluster]]:
    """A cluster with transactions and the topic `t`, and a client with read_committed."""
    with TransactionalCluster(nodes, release) as cluster:
        cluster.add_topic("t", partitions)
        with closing(cluster.client(**({"isolation_level": "read_committed"} | options))) as client:
            yield cluster, client


def committed_values(client: Cluster, topic_partition: TopicPartition = PARTITION) -> list[bytes]:
    """The values of the committed records up to the last stable offset."""
    positions = {topic_partition: LATEST_TIMESTAMP}
    until = list_offsets(client, positions, soon())[topic_partition]
    if not until:
        return []
    return [value or b"" for _, value in read(client, 0, until, topic_partition=topic_partition)]


def write_in(
    client: Cluster,
    transaction: Transaction,
    *values: bytes,
    topic_partition: TopicPartition = PARTITION,
) -> Producer:
    """Write a batch for each value, and wait for the acknowledgements."""
    producer = Producer(client, transaction)
    for value in values:
        producer.add(topic_partition, batch_of(value))
    producer.flush()
    return producer


def opened(client: Cluster, *values: bytes, name: str = "a") -> Transaction:
    """An open transaction with these values."""
    transaction = begin(client, name, soon())
    write_in(client, transaction, *values)
    return transaction
