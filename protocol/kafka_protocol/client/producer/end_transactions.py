"""Transactions that are to end, many at once: are they open still, and what became of each.

The requests to each coordinator go out together. Who asks may be another process than the one
that wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from kafka_protocol.client.broker.broker import Sent
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.producer.transactions import (
    ADD_VERSIONS,
    NOT_OPEN,
    OutcomeUnknownError,
    Transaction,
    explained,
    join_request,
    patient_retry,
)
from kafka_protocol.errors import (
    BrokerConnectionError,
    BrokerError,
    ErrorCode,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
)
from kafka_protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from kafka_protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_protocol.messages.find_coordinator import TRANSACTION
from kafka_protocol.schema import Request, Response, VersionRange
from kafka_protocol.topic_partition import TopicPartition

# Those of transactions of version 1: from 5 on the broker raises the epoch (KIP-890).
_END_VERSIONS: Final = VersionRange(0, 4)


def end(cluster: Cluster, transaction: Transaction, committed: bool, deadline: Deadline) -> None:
    """Commit a transaction, or abort it. Safe to repeat in the same way, by whomever.

    Not for one that no partition joined, which brokers take for none.

    Raises:
        KafkaError: It is not known to be done; as from `end_all`.
    """
    error = end_all(cluster, [transaction], committed, deadline)[transaction]
    if error is not None:
        raise error


def end_all(
    cluster: Cluster, transactions: Collection[Transaction], committed: bool, deadline: Deadline
) -> dict[Transaction, KafkaError | None]:
    """End many transactions in the same way.

    Returns:
        For each None where its coordinator said so: it is decided for good, and seen soon. Else

        * `TransactionFencedError`: nothing was done, for it was not open any more. Who ended it in
          an earlier call may have done so in the same way.
        * `OutcomeUnknownError`: no answer came before the deadline, or one that leaves it open.
        * another `KafkaError`: nothing was done, for example since the principal may not.
    """

    def request(transaction: Transaction) -> EndTxnRequest:
        return EndTxnRequest(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.epoch,
            committed=committed,
        )

    def code(response: EndTxnResponse) -> int:
        return response.error_code

    how = "commit" if committed else "abort"
    question = _Question(f"EndTxn to {how}", request, EndTxnResponse, _END_VERSIONS, code)
    outcomes, in_doubt = _ask_until_answered(cluster, transactions, question, deadline)
    return {
        # Fenced, say, after an answer that was lost: it may have been ended before it was fenced.
        each: _unknown(each, error) if error is not None and each in in_doubt else error
        for each, error in outcomes.items()
    }


def are_open(
    cluster: Cluster, joined: Mapping[Transaction, TopicPartition], deadline: Deadline
) -> dict[Transaction, KafkaError | None]:
    """Whether transactions can be committed still. Brokers of every release can be asked that.

    Args:
        cluster: Whom to ask.
        joined: The transactions, each with a partition that joined it.
        deadline: When to give up.

    Returns:
        For each None where it is open; else `TransactionFencedError`, or why that is not known.
    """

    def code(response: AddPartitionsToTxnResponse) -> int:
        topics = response.results_by_topic_v3_and_below
        codes = [result.partition_error_code for t in topics for result in t.results_by_partition]
        return max(codes, default=int(ErrorCode.UNKNOWN_SERVER_ERROR))

    question = _Question(
        "AddPartitionsToTxn, again, to",
        lambda transaction: join_request(transaction, [joined[transaction]]),
        AddPartitionsToTxnResponse,
        ADD_VERSIONS,
        code,
    )
    return _ask_until_answered(cluster, joined, question, deadline)[0]


class _Question(NamedTuple):
    """What is asked of each transaction: how it begins in messages, and how to ask and to read."""

    name: str
    request: Callable[[Transaction], Request]
    response: type[Response]
    versions: VersionRange
    code: Callable[[Any], int]


class _Answer(NamedTuple):
    """What a question came to; after some errors what it asks for may be done all the same."""

    error: KafkaError | None
    may_be_done: bool = False


def _ask_until_answered(
    cluster: Cluster, transactions: Collection[Transaction], question: _Question, deadline: Deadline
) -> tuple[dict[Transaction, KafkaError | None], set[Transaction]]:
    """The answers, and for whom an earlier try may have had its effect."""
    outcomes: dict[Transaction, KafkaError | None] = {}
    in_doubt: set[Transaction] = set()
    left = [*dict.fromkeys(transactions)]
    retry = patient_retry(cluster.config, deadline)
    while left:
        answers = _ask_once(cluster, left, question, deadline)
        in_doubt |= {each for each, answer in answers.items() if answer.may_be_done}
        again = {each: a.error for each, a in answers.items() if a.error and a.error.retriable}
        for each in answers.keys() - again.keys():
            outcomes[each] = _told(each, answers[each].error, cluster.config)
        try:
            if again:
                retry.wait_after_any([*again.values()])
        except KafkaError:
            in_doubt |= again.keys()
            return outcomes | again, in_doubt
        left = [*again]
    return outcomes, in_doubt


def _ask_once(
    cluster: Cluster, transactions: Collection[Transaction], question: _Question, deadline: Deadline
) -> dict[Transaction, _Answer]:
    ids = {transaction.transactional_id for transaction in transactions}
    try:
        coordinators = cluster.coordinators(TRANSACTION, ids, deadline)
    except KafkaError as error:
        return {transaction: _Answer(error) for transaction in transactions}
    answers: dict[Transaction, _Answer] = {}
    sent: dict[Transaction, Sent] = {}
    for transaction in transactions:
        coordinator = coordinators[transaction.transactional_id]
        if isinstance(coordinator, KafkaError):
            answers[transaction] = _Answer(coordinator)
            continue
        try:
            request = question.request(transaction)
            sent[transaction] = coordinator.send(request, deadline, question.versions)
        except KafkaError as error:
            answers[transaction] = _Answer(error, isinstance(error, _LOST))
    for transaction, each in sent.items():
        answers[transaction] = _answer(each, transaction, question, deadline)
    return answers


def _answer(
    sent: Sent, transaction: Transaction, question: _Question, deadline: Deadline
) -> _Answer:
    try:
        code = question.code(sent.broker.receive(sent, question.response, deadline))
    except KafkaError as error:
        return _Answer(error, may_be_done=True)
    if not code:
        return _Answer(None)
    refusal = BrokerError(code, f"{question.name} {transaction} to {sent.broker}")
    return _Answer(refusal, refusal.error not in _NOTHING_DONE)


def _told(
    transaction: Transaction, error: KafkaError | None, config: ClientConfig
) -> KafkaError | None:
    return None if error is None else explained(error, transaction, config)


def _unknown(transaction: Transaction, error: KafkaError) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        f"{error}. What became of {transaction} is not known: end it again in the same way"
    )


# After these nobody knows whether a request got there.
_LOST: Final = (BrokerConnectionError, KafkaTimeoutError, ProtocolError)

# With these a coordinator says that the request had no effect. Not so with NOT_COORDINATOR and
# COORDINATOR_NOT_AVAILABLE: the decision may be in its log, for the next coordinator to find.
_NOTHING_DONE: Final = frozenset(
    {
        *NOT_OPEN,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTION_ABORTABLE,
    }
)
