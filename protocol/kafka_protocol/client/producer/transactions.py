"""Begin a transaction at its coordinator, and add partitions to it (KIP-98).

Each transaction begins with InitProducerId, so each has its own epoch, and fences the id's earlier
owner. A late request, such as an EndTxn, then has an older epoch and cannot affect a later
transaction. Transactions of version 2 (KIP-890) do this on the broker; version 1 with an epoch each
is as safe, also with old brokers, so only version 1 is used here. Neither writes records
(`producer`) nor ends transactions (`end_transactions`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline, Retry, now_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.coordinators import with_coordinator
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.producer.producer_id import ProducerId, init_producer_id
from kafka_protocol.errors import (
    BrokerError,
    ErrorCode,
    KafkaConfigError,
    KafkaError,
    OutOfStepError,
)
from kafka_protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kafka_protocol.messages.find_coordinator import TRANSACTION
from kafka_protocol.topic_partition import TopicPartition, by_topic
from kafka_protocol.wire.schema import VersionRange

T = TypeVar("T")

# The versions of transactions of version 1. From Produce 12 on the broker adds the partition itself
# (KIP-890); AddPartitionsToTxn 4 is for brokers.
PRODUCE_VERSIONS: Final = VersionRange(3, 11)
ADD_VERSIONS: Final = VersionRange(0, 3)

# The first wait for the end of the previous transaction, in ms: most of the time its markers are
# written by then. Java's value.
_FIRST_PAUSE_MS: Final = 20


class Transaction(NamedTuple):
    """A begun transaction. It is pickled between processes; any of them may end it."""

    transactional_id: str  # has at most one open transaction
    producer_id: int
    epoch: int  # of the producer; no other transaction of the id has it
    begun_ms: int  # since 1970, for error texts

    @property
    def producer(self) -> ProducerId:
        """The id and epoch in its batches."""
        return ProducerId(self.producer_id, self.epoch)

    def __str__(self) -> str:
        return f"transaction {self.transactional_id!r} (producer {self.producer_id}:{self.epoch})"


class TransactionFencedError(KafkaError):
    """A transaction is no longer open: a later one began with the id, or it was ended.

    The request had no effect. Its records are aborted, unless it was committed before.

    Args:
        reason: One sentence, with the transactional id.
        may_have_timed_out: Whether it was open for longer than transaction.timeout.ms, so that
            brokers may have aborted it.
    """

    def __init__(self, reason: str, may_have_timed_out: bool) -> None:
        self.may_have_timed_out = may_have_timed_out
        super().__init__(reason, may_have_timed_out)

    def __str__(self) -> str:
        return str(self.args[0])


class OutcomeUnknownError(KafkaError):
    """The outcome of a transaction is unknown. A late request may still end it.

    It is safe to end it again in the same way, or to begin another one with the same id.
    """


def begin(cluster: Cluster, transactional_id: str, deadline: Deadline) -> Transaction:
    """Begin a transaction; aborts an open one of the id, and fences the id's earlier owner.

    Raises:
        KafkaConfigError: Idempotence is off.
        TransactionFencedError: Another transaction of the id began at the same time.
        BrokerError: The principal may not use the id; kafka.transaction.timeout.ms is more than
            the brokers allow; or the previous transaction is still being ended at the deadline.
        UnsupportedVersionError: The brokers are older than 0.11.
        BrokerConnectionError, KafkaTimeoutError: The coordinator cannot be reached.
    """
    config = cluster.config
    if not config.enable_idempotence:
        raise KafkaConfigError(
            "Transactions need idempotence: do not set kafka.enable.idempotence, kafka.acks, "
            "kafka.retries and kafka.max.in.flight.requests.per.connection to values that "
            "switch it off"
        )

    def init(coordinator: Broker) -> Transaction:
        begun_ms = now_ms()
        result = init_producer_id(
            coordinator, deadline, transactional_id, config.transaction_timeout_ms
        )
        if isinstance(result, ProducerId):
            return Transaction(transactional_id, *result, begun_ms)
        if result.error in NOT_OPEN:
            raise TransactionFencedError(
                f"{result}: another transaction began at the same time", may_have_timed_out=False
            )
        raise _with_advice(result, config)

    return _with_coordinator(cluster, transactional_id, init, deadline)


def add_partitions(
    cluster: Cluster,
    transaction: Transaction,
    partitions: Collection[TopicPartition],
    deadline: Deadline,
) -> None:
    """Add all partitions to a transaction, or fail; needed before the first batch for each.

    Raises:
        TransactionFencedError: It is no longer open.
        BrokerError: A partition does not exist, or the principal may not write to it.
        BrokerConnectionError, KafkaTimeoutError: The coordinator cannot be reached.
    """
    request = add_partitions_request(transaction, partitions)

    def add(coordinator: Broker) -> None:
        response = coordinator.request(request, AddPartitionsToTxnResponse, deadline, ADD_VERSIONS)
        codes = {
            TopicPartition(topic.name, result.partition_index): result.partition_error_code
            for topic in response.results_by_topic_v3_and_below
            for result in topic.results_by_partition
        }
        context = f"to {transaction} to {coordinator}"
        for each in partitions:
            if each not in codes:
                raise OutOfStepError(f"AddPartitionsToTxn {context}: the response lacks {each}")
        for each, code in codes.items():
            # One partition's error keeps the others out: report that one.
            if code not in (ErrorCode.NONE, ErrorCode.OPERATION_NOT_ATTEMPTED):
                refusal = BrokerError(code, f"AddPartitionsToTxn of {each} {context}")
                raise explain(refusal, transaction, cluster.config)
        if any(codes.values()):
            raise OutOfStepError(f"AddPartitionsToTxn {context}: no partition was added")

    _with_coordinator(cluster, transaction.transactional_id, add, deadline)


def add_partitions_request(
    transaction: Transaction, partitions: Collection[TopicPartition]
) -> AddPartitionsToTxnRequest:
    """The request of `add_partitions`. Partitions that were added before may be repeated."""
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transaction.transactional_id,
        v3_and_below_producer_id=transaction.producer_id,
        v3_and_below_producer_epoch=transaction.epoch,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=topic, partitions=[each.partition for each in added])
            for topic, added in by_topic(sorted(partitions)).items()
        ],
    )


def explain(error: KafkaError, transaction: Transaction, config: ClientConfig) -> KafkaError:
    """The same error, with its meaning for a transaction, and advice."""
    if not isinstance(error, BrokerError):
        return error
    if error.error not in NOT_OPEN:
        return _with_advice(error, config)
    open_ms = now_ms() - transaction.begun_ms
    if open_ms < config.transaction_timeout_ms:
        return TransactionFencedError(
            f"{error}: {NOT_OPEN[error.error]} ({transaction})", may_have_timed_out=False
        )
    return TransactionFencedError(
        f"{error}: {transaction} has been open for {open_ms / 1000:.1f} s, and "
        f"kafka.transaction.timeout.ms is {config.transaction_timeout_ms}, so brokers may have "
        "aborted it: raise that option (up to the brokers' transaction.max.timeout.ms), or write "
        "less in one transaction",
        may_have_timed_out=True,
    )


def _with_advice(error: BrokerError, config: ClientConfig) -> BrokerError:
    advice = _ADVICE.get(error.error)
    if advice is None:
        return error
    details = filter(None, (error.broker_message, advice.format(config.transaction_timeout_ms)))
    return BrokerError(error.code, error.context, "; ".join(details))


def _with_coordinator(
    cluster: Cluster, transactional_id: str, call: Callable[[Broker], T], deadline: Deadline
) -> T:
    retry = retry_until(deadline, cluster.config)
    return with_coordinator(cluster, (TRANSACTION, transactional_id), call, deadline, retry)


def retry_until(deadline: Deadline, config: ClientConfig) -> Retry:
    """Retries until the deadline, however long brokers are unreachable: a failure costs a task."""
    sooner = replace(config, retry_backoff_ms=min(config.retry_backoff_ms, _FIRST_PAUSE_MS))
    return Retry(sooner, deadline, deadline.remaining_ms)


_FENCED: Final = (
    "another attempt has begun a transaction with the same id since, which aborted this one if it "
    "was open"
)

# Why a transaction is not open although its time-out has not passed.
NOT_OPEN: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.INVALID_PRODUCER_EPOCH: _FENCED,
    ErrorCode.PRODUCER_FENCED: _FENCED,
    ErrorCode.INVALID_TXN_STATE: "it was ended before, or has no partitions",
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: (
        "another attempt has used the same id since, or brokers have forgotten it, as they do "
        "after transactional.id.expiration.ms"
    ),
}

_TO_BE_ABORTED: Final = "the transaction must be aborted, and all its records written again"

_ADVICE: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: (
        "kafka.transaction.timeout.ms is {}, which is more than the brokers' "
        "transaction.max.timeout.ms: lower the one, or raise the other"
    ),
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (
        "grant the principal DESCRIBE and WRITE on the transactional id"
    ),
    ErrorCode.CONCURRENT_TRANSACTIONS: (
        "the previous transaction is still being ended: check that the brokers that hold its "
        "partitions are up"
    ),
    ErrorCode.TRANSACTION_ABORTABLE: _TO_BE_ABORTED,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: _TO_BE_ABORTED,
    ErrorCode.UNKNOWN_PRODUCER_ID: _TO_BE_ABORTED,
}
