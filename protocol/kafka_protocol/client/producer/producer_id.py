"""An id for a producer, from which brokers tell a batch that comes twice (KIP-98)."""

from __future__ import annotations

import logging
from functools import cache
from typing import NamedTuple

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import Address
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError
from kafka_protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

log = logging.getLogger(__name__)


class ProducerId(NamedTuple):
    """Who writes, and in which of its lives."""

    producer_id: int
    epoch: int


def new_producer_id(cluster: Cluster, deadline: Deadline) -> ProducerId:
    """An id that nobody has had, for a producer without transactions.

    Raises:
        BrokerError: The principal may not have one: IDEMPOTENT_WRITE is lacking, which brokers
            below 2.8 want.
        UnsupportedVersionError: The brokers are older than 0.11.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """

    def ask(broker: Broker, setup: Deadline) -> tuple[InitProducerIdResponse, str]:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=_NO_TIMEOUT)
        return broker.request(request, InitProducerIdResponse, setup), str(broker)

    retry = Retry(cluster.config, deadline, cluster.config.max_block_ms)
    while True:
        try:
            answer, broker = cluster.ask_anyone(ask, deadline)
            if answer.error_code:
                raise BrokerError(
                    answer.error_code,
                    f"InitProducerId to {broker}",
                    _ADVICE.get(answer.error_code),
                )
        except KafkaError as error:
            retry.wait_after(error)
        else:
            return ProducerId(answer.producer_id, answer.producer_epoch)


@cache
def tell_that_there_is_none(brokers: tuple[Address, ...]) -> None:
    """Once in a process, for a producer that should have an id."""
    log.warning(
        "Brokers of %s are older than Kafka 0.11 and know no producer ids: a batch whose answer is "
        "lost is written again and may be there twice",
        ", ".join(map(str, brokers)),
    )


# Java's for a producer without transactions.
_NO_TIMEOUT = 2**31 - 1

_ADVICE: dict[int, str] = {
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: (
        "brokers below 2.8 want the operation IDEMPOTENT_WRITE on the cluster: grant it, or set "
        "kafka.enable.idempotence=false"
    )
}
