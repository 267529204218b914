"""Find the open transactions of a pattern of ids, and end them by fencing (KIP-664).

For transactions whose writer will not end them: until then readers of committed records wait. Needs
no producer, and does not know the writers.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from kafka_protocol.client.broker.broker import Broker, SentRequest
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.coordinators import with_coordinator
from kafka_protocol.client.cluster.exchange import exchange
from kafka_protocol.client.producer.coordinated import CoordinatedApi, send_until_settled
from kafka_protocol.client.producer.producer_id import ProducerId
from kafka_protocol.client.producer.transactions import retry_until
from kafka_protocol.errors import BrokerError, KafkaError, OutOfStepError
from kafka_protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafka_protocol.messages.find_coordinator import TRANSACTION
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from kafka_protocol.topic_partition import TopicPartition

# States of a coordinator (Kafka's TransactionState).
EMPTY: Final = "Empty"
ONGOING: Final = "Ongoing"

_HAS_PATTERN: Final = 2  # the version of ListTransactions

# How long a broker that is down may delay the others. Its coordinators move to them.
_CONNECT_MS: Final = 2_000


class TransactionState(NamedTuple):
    """The state of a transactional id, as its coordinator knows it.

    Attributes:
        producer: The producer that has the id.
        name: The state.
        started_ms: When the open transaction began, in ms since 1970; -1 without one.
        timeout_ms: How long after that the coordinator aborts it.
        partitions: The partitions of the open transaction.
    """

    producer: ProducerId
    name: str
    started_ms: int
    timeout_ms: int
    partitions: frozenset[TopicPartition]


class OpenTransactions(NamedTuple):
    """The ids of open transactions, and the errors of the brokers that could not list theirs."""

    ids: frozenset[str]
    errors: tuple[KafkaError, ...]

    @property
    def unreached(self) -> int:
        """The number of brokers that did not respond."""
        return sum(not isinstance(each, BrokerError) for each in self.errors)


def transaction_state(
    cluster: Cluster, transactional_id: str, deadline: Deadline
) -> TransactionState:
    """The state of a transactional id.

    Raises:
        BrokerError: Brokers do not know the id, or the principal may not describe it.
        UnsupportedVersionError: The brokers are older than 3.0.
        BrokerConnectionError, KafkaTimeoutError: The coordinator cannot be reached.
    """
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])

    def describe(coordinator: Broker) -> TransactionState:
        response = coordinator.request(request, DescribeTransactionsResponse, deadline)
        context = f"DescribeTransactions of {transactional_id!r} to {coordinator}"
        for state in response.transaction_states:
            if state.transactional_id == transactional_id:
                if state.error_code:
                    raise BrokerError(state.error_code, context)
                return _state(state)
        raise OutOfStepError(f"{context}: the response lacks it")

    retry = retry_until(deadline, cluster.config)
    return with_coordinator(cluster, (TRANSACTION, transactional_id), describe, deadline, retry)


def _state(state: DescribeTransactionsResponse.TransactionState) -> TransactionState:
    return TransactionState(
        ProducerId(state.producer_id, state.producer_epoch),
        state.transaction_state,
        state.transaction_start_time_ms,
        state.transaction_timeout_ms,
        frozenset(
            TopicPartition(topic.topic, partition)
            for topic in state.topics
            for partition in topic.partitions
        ),
    )


def list_open(cluster: Cluster, pattern: str, deadline: Deadline) -> OpenTransactions:
    """The open transactions whose ids match a pattern, from every broker.

    Brokers below 4.1 do not know patterns and list all ids (KIP-1152): the caller selects.

    Raises:
        UnsupportedVersionError: The brokers are older than 3.0.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """
    retry = retry_until(deadline, cluster.config)
    listed = _list_once(cluster, pattern, deadline)
    while loading := [e for e in listed.errors if isinstance(e, BrokerError) and e.retriable]:
        try:
            retry.wait_if_all_retriable(loading)
            again = _list_once(cluster, pattern, deadline)
        except KafkaError:
            break
        if again.unreached > listed.unreached:
            # The deadline has cut requests off; the earlier responses say more.
            break
        listed = again
    return listed


def _list_once(cluster: Cluster, pattern: str, deadline: Deadline) -> OpenTransactions:
    brokers, unreachable = cluster.all_brokers(deadline.capped_at(_CONNECT_MS))
    versions = {broker: broker.choose(ListTransactionsRequest) for broker in brokers}

    def send(broker: Broker) -> SentRequest:
        request = ListTransactionsRequest(
            state_filters=[ONGOING],
            producer_id_filters=[],
            transactional_id_pattern=pattern if versions[broker] >= _HAS_PATTERN else None,
        )
        return broker.send(request, deadline)

    exchanged = exchange(brokers, send, ListTransactionsResponse, deadline)
    errors = [*unreachable, *exchanged.unsent.values(), *exchanged.unanswered.values()]
    ids: set[str] = set()
    for broker, response in exchanged.responses.values():
        ids.update(each.transactional_id for each in response.transaction_states)
        if response.error_code:
            errors.append(BrokerError(response.error_code, f"ListTransactions to {broker}"))
    return OpenTransactions(frozenset(ids), tuple(errors))


def fence_all(
    cluster: Cluster, transactional_ids: Collection[str], deadline: Deadline
) -> dict[str, KafkaError | None]:
    """Abort the open transactions of these ids, and fence the producers that began them.

    Returns:
        None for each that is done, otherwise the error.
    """
    timeout_ms = cluster.config.transaction_timeout_ms

    def request(transactional_id: str) -> InitProducerIdRequest:
        return InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
        )

    api = CoordinatedApi(
        name="InitProducerId of transactional id",
        id_of=str,
        request=request,
        response=InitProducerIdResponse,
        versions=InitProducerIdRequest.versions,
        code=lambda response: response.error_code,
        has_no_effect=lambda _: True,
    )
    return send_until_settled(cluster, transactional_ids, api, deadline).errors
