"""Producer ids, by which brokers recognise a batch that arrives twice (KIP-98): InitProducerId."""

from __future__ import annotations

import logging
from functools import cache
from typing import Final, NamedTuple

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

log = logging.getLogger(__name__)

# Java's value for a producer without transactions.
_NO_TIMEOUT: Final = 2**31 - 1

_ADVICE: Final[dict[int, str]] = {
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: (
        "brokers below 2.8 want the operation IDEMPOTENT_WRITE on the cluster: grant it, or set "
        "kafka.enable.idempotence=false"
    )
}


class ProducerId(NamedTuple):
    """The id of a producer, and its epoch."""

    producer_id: int
    epoch: int


def init_producer_id(
    broker: Broker,
    deadline: Deadline,
    transactional_id: str | None = None,
    transaction_timeout_ms: int = _NO_TIMEOUT,
) -> ProducerId | BrokerError:
    """Send InitProducerId to any broker, or to the coordinator of a transactional id.

    Returns:
        A producer id, or the error in the response.
    """
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=transaction_timeout_ms
    )
    response = broker.request(request, InitProducerIdResponse, deadline)
    if response.error_code:
        owner = "" if transactional_id is None else f" for transactional id {transactional_id!r}"
        context = f"InitProducerId{owner} to {broker}"
        return BrokerError(response.error_code, context, _ADVICE.get(response.error_code))
    return ProducerId(response.producer_id, response.producer_epoch)


def new_producer_id(cluster: Cluster, deadline: Deadline) -> ProducerId:
    """A new id, for a producer without transactions.

    Raises:
        BrokerError: The principal lacks IDEMPOTENT_WRITE, which brokers below 2.8 want.
        UnsupportedVersionError: The brokers are older than 0.11.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """
    retry = Retry(cluster.config, deadline, cluster.config.max_block_ms)

    def request() -> ProducerId:
        result = cluster.with_any_broker(init_producer_id, deadline)
        if isinstance(result, BrokerError):
            raise result
        return result

    return retry.until_done(request)


@cache
def warn_of_missing_ids(brokers: tuple[Address, ...]) -> None:
    """Warn once in a process, for a producer that should have an id."""
    log.warning(
        "Brokers of %s are older than Kafka 0.11 and have no producer ids: a batch whose response "
        "is lost is written again, so it may be in the topic twice",
        ", ".join(map(str, brokers)),
    )
