"""Transactions: begun, and joined by partitions, at their coordinator (KIP-98).

Each begins with an InitProducerId of its own, so each has an epoch of its own, and whoever had the
id before is fenced. What comes late, an EndTxn above all, is of an older epoch then and touches no
later transaction. That is what transactions of version 2 do on the broker (KIP-890); so version 1
is spoken to all brokers, and is safe with old ones too. Who writes in a transaction is `produce`,
how one ends says `transaction_ends`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline, Retry, now_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.producer.producer_id import ProducerId
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
from kafka_protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafka_protocol.schema import VersionRange
from kafka_protocol.topic_partition import TopicPartition, by_topic

T = TypeVar("T")

# Those of transactions of version 1. From Produce 12 on the broker adds the partition itself
# (KIP-890); AddPartitionsToTxn 4 is for brokers.
PRODUCE_VERSIONS: Final = VersionRange(3, 11)
ADD_VERSIONS: Final = VersionRange(0, 3)

# How long to wait for the end of the transaction before at first: its markers are written by then,
# most of the time. Java's for the same.
_FIRST_PAUSE_MS: Final = 20


class Transaction(NamedTuple):
    """A transaction that was begun. Travels between processes; any of them may end it.

    Attributes:
        transactional_id: Whose transactions follow each other, one open at a time.
        producer_id: Who writes.
        epoch: In which of its lives: no other transaction of that id has it.
        begun_ms: When it was begun, in ms since 1970; for messages.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    begun_ms: int

    @property
    def producer(self) -> ProducerId:
        """Whose batches are its own."""
        return ProducerId(self.producer_id, self.epoch)

    def __str__(self) -> str:
        return f"transaction {self.transactional_id!r} (producer {self.producer_id}:{self.epoch})"


class TransactionFencedError(KafkaError):
    """A transaction is not its owner's any more: another one took the id over, or it was ended.

    Nothing that is asked of it has any effect; what it wrote is rolled back, unless it was
    committed before.

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
    """Whether a transaction was ended, and how, is not known. It may still be, by a late request.

    Ending it again in the same way is safe, and so is to begin another one with the same id.
    """


def begin(cluster: Cluster, transactional_id: str, deadline: Deadline) -> Transaction:
    """Begin a transaction; aborts what is open under the id, and fences whoever had it.

    Args:
        cluster: Where to write.
        transactional_id: Whose transaction.
        deadline: When to give up.

    Raises:
        KafkaConfigError: Idempotence is off.
        TransactionFencedError: Somebody else began one at the same time.
        BrokerError: The principal may not use the id; kafka.transaction.timeout.ms is more than
            the brokers allow; or the transaction before is still being ended at the deadline.
        UnsupportedVersionError: The brokers are older than 0.11.
        BrokerConnectionError, KafkaTimeoutError: The coordinator cannot be reached.
    """
    config = cluster.config
    if not config.enable_idempotence:
        raise KafkaConfigError(
            "Transactions need idempotence: do not set kafka.enable.idempotence, kafka.acks, "
            "kafka.retries and kafka.max.in.flight.requests.per.connection to what switches it off"
        )
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=config.transaction_timeout_ms
    )

    def ask(coordinator: Broker) -> Transaction:
        begun_ms = now_ms()
        response = coordinator.request(request, InitProducerIdResponse, deadline)
        context = f"InitProducerId for transactional id {transactional_id!r} to {coordinator}"
        refusal = BrokerError(response.error_code, context)
        if refusal.error in NOT_OPEN:
            raise TransactionFencedError(
                f"{refusal}: somebody else began a transaction at the same time",
                may_have_timed_out=False,
            )
        if refusal.code:
            raise _advised(refusal, config)
        return Transaction(
            transactional_id, response.producer_id, response.producer_epoch, begun_ms
        )

    return _ask_coordinator(cluster, transactional_id, ask, deadline)


def add_partitions(
    cluster: Cluster,
    transaction: Transaction,
    partitions: Collection[TopicPartition],
    deadline: Deadline,
) -> None:
    """Let partitions join a transaction, all or none; necessary before the first write to each.

    Raises:
        TransactionFencedError: It is not open any more.
        BrokerError: A partition does not exist, or may not be written to.
        BrokerConnectionError, KafkaTimeoutError: The coordinator cannot be reached.
    """
    request = join_request(transaction, partitions)

    def ask(coordinator: Broker) -> None:
        response = coordinator.request(request, AddPartitionsToTxnResponse, deadline, ADD_VERSIONS)
        codes = {
            TopicPartition(topic.name, result.partition_index): result.partition_error_code
            for topic in response.results_by_topic_v3_and_below
            for result in topic.results_by_partition
        }
        context = f"to {transaction} to {coordinator}"
        for each in partitions:
            if each not in codes:
                raise OutOfStepError(f"AddPartitionsToTxn {context}: the answer lacks {each}")
        for each, code in codes.items():
            # One that failed keeps the others out, and says why itself.
            if code not in (ErrorCode.NONE, ErrorCode.OPERATION_NOT_ATTEMPTED):
                refusal = BrokerError(code, f"AddPartitionsToTxn of {each} {context}")
                raise explained(refusal, transaction, cluster.config)
        if any(codes.values()):
            raise OutOfStepError(f"AddPartitionsToTxn {context}: nothing was added, for no reason")

    _ask_coordinator(cluster, transaction.transactional_id, ask, deadline)


def join_request(
    transaction: Transaction, partitions: Collection[TopicPartition]
) -> AddPartitionsToTxnRequest:
    """What `add_partitions` sends. Those that have joined may be named again."""
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transaction.transactional_id,
        v3_and_below_producer_id=transaction.producer_id,
        v3_and_below_producer_epoch=transaction.epoch,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=topic, partitions=[each.partition for each in joining])
            for topic, joining in by_topic(sorted(partitions)).items()
        ],
    )


def explained(error: KafkaError, transaction: Transaction, config: ClientConfig) -> KafkaError:
    """The same failure, with what it means for a transaction."""
    if not isinstance(error, BrokerError):
        return error
    if error.error not in NOT_OPEN:
        return _advised(error, config)
    open_ms = now_ms() - transaction.begun_ms
    if open_ms < config.transaction_timeout_ms:
        return TransactionFencedError(
            f"{error}: {NOT_OPEN[error.error]} ({transaction})", may_have_timed_out=False
        )
    return TransactionFencedError(
        f"{error}: {transaction} has been open for {open_ms / 1000:.1f} s, and "
        f"kafka.transaction.timeout.ms is {config.transaction_timeout_ms}, so brokers may have "
        "aborted it: raise that (brokers allow as much as their transaction.max.timeout.ms), or "
        "write less in one transaction",
        may_have_timed_out=True,
    )


def _advised(error: BrokerError, config: ClientConfig) -> BrokerError:
    advice = _ADVICE.get(error.error)
    if advice is None:
        return error
    said = filter(None, (error.broker_message, advice.format(config.transaction_timeout_ms)))
    return BrokerError(error.code, error.context, "; ".join(said))


def _ask_coordinator(
    cluster: Cluster, transactional_id: str, ask: Callable[[Broker], T], deadline: Deadline
) -> T:
    retry = patient_retry(cluster.config, deadline)
    return cluster.ask_coordinator(TRANSACTION, transactional_id, ask, deadline, retry)


def patient_retry(config: ClientConfig, deadline: Deadline) -> Retry:
    """Tries for as long as there is time: what was written already is worth a wait."""
    sooner = replace(config, retry_backoff_ms=min(config.retry_backoff_ms, _FIRST_PAUSE_MS))
    return Retry(sooner, deadline, deadline.remaining_ms)


_FENCED: Final = (
    "another attempt has begun a transaction with the same id since, which aborted this one if it "
    "was open"
)

# Why a transaction that is younger than its time-out is not open.
NOT_OPEN: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.INVALID_PRODUCER_EPOCH: _FENCED,
    ErrorCode.PRODUCER_FENCED: _FENCED,
    ErrorCode.INVALID_TXN_STATE: "it was ended before, or no partition has joined it",
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: (
        "another attempt has used the same id since, or brokers have forgotten it, as they do "
        "after transactional.id.expiration.ms"
    ),
}

_TO_BE_ABORTED: Final = "the transaction has to be aborted, and everything written again"

_ADVICE: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: (
        "kafka.transaction.timeout.ms is {}, which is more than the brokers' "
        "transaction.max.timeout.ms: lower the one, or raise the other"
    ),
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (
        "grant the principal DESCRIBE and WRITE on the transactional id"
    ),
    ErrorCode.CONCURRENT_TRANSACTIONS: (
        "the transaction before is still being ended: check that the brokers that hold its "
        "partitions are up"
    ),
    ErrorCode.TRANSACTION_ABORTABLE: _TO_BE_ABORTED,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: _TO_BE_ABORTED,
    ErrorCode.UNKNOWN_PRODUCER_ID: _TO_BE_ABORTED,
}
