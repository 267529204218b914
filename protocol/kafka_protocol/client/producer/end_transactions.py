"""Commit or abort transactions, or check that they are open: many at once.

All requests are in flight together. The process may be another one than the writer's. Never begins
a transaction, nor writes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from kafka_protocol.client.broker.broker import Broker, SentRequest
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.exchange import exchange
from kafka_protocol.client.producer.transactions import (
    ADD_VERSIONS,
    NOT_OPEN,
    OutcomeUnknownError,
    Transaction,
    add_partitions_request,
    explain,
    retry_until,
)
from kafka_protocol.errors import (
    BrokerConnectionError,
    BrokerError,
    ErrorCode,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
)
from kafka_protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)
from kafka_protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_protocol.messages.find_coordinator import TRANSACTION
from kafka_protocol.schema import Request, Response, VersionRange
from kafka_protocol.topic_partition import TopicPartition

# The versions of transactions of version 1: from 5 on the broker raises the epoch (KIP-890).
_END_VERSIONS: Final = VersionRange(0, 4)

# After these errors a request that could not be sent may have arrived all the same.
_MAYBE_SENT: Final = (BrokerConnectionError, KafkaTimeoutError, ProtocolError)

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

    name = f"EndTxn to {'commit' if committed else 'abort'}"
    api = _Api(name, request, EndTxnResponse, _END_VERSIONS, lambda response: response.error_code)
    errors, in_doubt = _send_until_settled(cluster, transactions, api, deadline)
    return {
        # A fenced one, for example, may have been ended by a try without a response.
        each: _unknown(each, error) if error is not None and each in in_doubt else error
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

    name = "AddPartitionsToTxn, again, to"
    api = _Api(name, request, AddPartitionsToTxnResponse, ADD_VERSIONS, code)
    return _send_until_settled(cluster, partitions, api, deadline)[0]


class _Api(NamedTuple):
    """A request for each transaction, and the error code in its response."""

    name: str  # the beginning of error texts
    request: Callable[[Transaction], Request]
    response: type[Response]
    versions: VersionRange
    code: Callable[[Any], int]


class _Result(NamedTuple):
    """The result of one try; after some errors the request may have had its effect."""

    error: KafkaError | None
    may_be_done: bool = False


def _send_until_settled(
    cluster: Cluster, transactions: Collection[Transaction], api: _Api, deadline: Deadline
) -> tuple[dict[Transaction, KafkaError | None], set[Transaction]]:
    """The final errors, and the transactions for which an earlier try may have had its effect."""
    errors: dict[Transaction, KafkaError | None] = {}
    in_doubt: set[Transaction] = set()
    left = [*dict.fromkeys(transactions)]
    retry = retry_until(deadline, cluster.config)
    while left:
        results = _send_once(cluster, left, api, deadline)
        in_doubt |= {each for each, result in results.items() if result.may_be_done}
        again = {each: r.error for each, r in results.items() if r.error and r.error.retriable}
        for each in results.keys() - again.keys():
            error = results[each].error
            errors[each] = error and explain(error, each, cluster.config)
        try:
            if again:
                retry.wait_if_all_retriable([*again.values()])
        except KafkaError:
            in_doubt |= again.keys()
            return errors | again, in_doubt
        left = [*again]
    return errors, in_doubt


def _send_once(
    cluster: Cluster, transactions: Collection[Transaction], api: _Api, deadline: Deadline
) -> dict[Transaction, _Result]:
    ids = {transaction.transactional_id for transaction in transactions}
    try:
        coordinators = cluster.coordinators(TRANSACTION, ids, deadline)
    except KafkaError as error:
        return {transaction: _Result(error) for transaction in transactions}
    results: dict[Transaction, _Result] = {}
    reached: dict[Transaction, Broker] = {}
    for transaction in transactions:
        coordinator = coordinators[transaction.transactional_id]
        if isinstance(coordinator, KafkaError):
            results[transaction] = _Result(coordinator)
        else:
            reached[transaction] = coordinator

    def send(transaction: Transaction) -> SentRequest:
        return reached[transaction].send(api.request(transaction), deadline, api.versions)

    exchanged = exchange(reached, send, api.response, deadline)
    for transaction, unsent in exchanged.unsent.items():
        results[transaction] = _Result(unsent, isinstance(unsent, _MAYBE_SENT))
    for transaction, unanswered in exchanged.unanswered.items():
        results[transaction] = _Result(unanswered, may_be_done=True)
    for transaction, (broker, response) in exchanged.responses.items():
        results[transaction] = _result(api, transaction, broker, api.code(response))
    return {transaction: results[transaction] for transaction in transactions}


def _result(api: _Api, transaction: Transaction, broker: Broker, code: int) -> _Result:
    if not code:
        return _Result(None)
    error = BrokerError(code, f"{api.name} {transaction} to {broker}")
    return _Result(error, error.error not in _NO_EFFECT)


def _unknown(transaction: Transaction, error: KafkaError) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        f"{error}. The outcome of {transaction} is unknown: end it again in the same way"
    )
