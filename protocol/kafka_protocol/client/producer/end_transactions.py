"""Commit or abort transactions, or check that they are open: many at once.

All requests are in flight together. The process may be another one than the writer's. Never begins
a transaction, nor writes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.producer.coordinated import CoordinatedApi, send_until_settled
from kafka_protocol.client.producer.transactions import (
    ADD_VERSIONS,
    NOT_OPEN,
    OutcomeUnknownError,
    Transaction,
    add_partitions_request,
    explain,
)
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError
from kafka_protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)
from kafka_protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import VersionRange

# The versions of transactions of version 1: from 5 on the broker raises the epoch (KIP-890).
_END_VERSIONS: Final = VersionRange(0, 4)  # point: own-epoch

# With these errors a coordinator says that the request had no effect. Not so with NOT_COORDINATOR
# and COORDINATOR_NOT_AVAILABLE: the decision may be in its log, for the next coordinator to find.
_NO_EFFECT: Final = frozenset(
    {
        *NOT_OPEN,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTION_ABORTABLE,
    }
)


def end(cluster: Cluster, transaction: Transaction, deadline: Deadline, *, committed: bool) -> None:
    """Commit or abort a transaction. Safe to repeat in the same way, in any process.

    Not for a transaction without partitions, which brokers do not know.

    Raises:
        KafkaError: As returned by `end_all`.
    """
    error = end_all(cluster, [transaction], deadline, committed=committed)[transaction]
    if error is not None:
        raise error


def end_all(
    cluster: Cluster, transactions: Collection[Transaction], deadline: Deadline, *, committed: bool
) -> dict[Transaction, KafkaError | None]:
    """Commit or abort many transactions.

    Returns:
        None for each where the coordinator confirmed it: it is final, and soon visible. Otherwise

        * `TransactionFencedError`: no effect, since it was not open. An earlier call may have ended
          it in the same way.
        * `OutcomeUnknownError`: no response before the deadline, or an inconclusive one.
        * another `KafkaError`: no effect, for example since the principal lacks an ACL.
    """

    def request(transaction: Transaction) -> EndTxnRequest:
        return EndTxnRequest(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.epoch,
            committed=committed,
        )

    api = CoordinatedApi(
        name=f"EndTxn to {'commit' if committed else 'abort'}",
        id_of=_id_of,
        request=request,
        response=EndTxnResponse,
        versions=_END_VERSIONS,
        code=lambda response: response.error_code,
        has_no_effect=_has_no_effect,
    )
    settled = send_until_settled(cluster, transactions, api, deadline)
    errors = _explained(settled.errors, cluster)
    return {
        # A fenced one, for example, may have been ended by a try without a response.
        each: _unknown(each, error) if error is not None and each in settled.in_doubt else error
        for each, error in errors.items()
    }


def check_open(
    cluster: Cluster, partitions: Mapping[Transaction, TopicPartition], deadline: Deadline
) -> dict[Transaction, KafkaError | None]:
    """Check whether transactions are open, by AddPartitionsToTxn, which every release has.

    Each comes with a partition that was added to it before.

    Returns:
        None for each that is open; otherwise `TransactionFencedError`, or the error of the check.
    """

    def request(transaction: Transaction) -> AddPartitionsToTxnRequest:
        return add_partitions_request(transaction, [partitions[transaction]])

    def code(response: AddPartitionsToTxnResponse) -> int:
        topics = response.results_by_topic_v3_and_below
        codes = [result.partition_error_code for t in topics for result in t.results_by_partition]
        return max(codes, default=int(ErrorCode.UNKNOWN_SERVER_ERROR))

    api = CoordinatedApi(
        name="AddPartitionsToTxn, again, to",
        id_of=_id_of,
        request=request,
        response=AddPartitionsToTxnResponse,
        versions=ADD_VERSIONS,
        code=code,
        has_no_effect=_has_no_effect,
    )
    return _explained(send_until_settled(cluster, partitions, api, deadline).errors, cluster)


def _id_of(transaction: Transaction) -> str:
    return transaction.transactional_id


def _has_no_effect(error: BrokerError) -> bool:
    return error.error in _NO_EFFECT


def _explained(
    errors: Mapping[Transaction, KafkaError | None], cluster: Cluster
) -> dict[Transaction, KafkaError | None]:
    """The same errors; where no further try can help, with their meaning and advice."""
    return {
        each: error if error is None or error.retriable else explain(error, each, cluster.config)
        for each, error in errors.items()
    }


def _unknown(transaction: Transaction, error: KafkaError) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        f"{error}. The outcome of {transaction} is unknown: end it again in the same way"
    )
