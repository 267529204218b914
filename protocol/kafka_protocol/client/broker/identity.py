"""The two ends of a connection, as ApiVersions names them: the client's name, the broker's id.

An address may lead to another broker than the one that metadata names there: an old DNS entry, a
port forward, a load balancer. From Kafka 4.4 on the client says which broker it means, and any
other broker refuses (KIP-1242). Older brokers are not checked. No retries and no choice of versions
here.
"""

from __future__ import annotations

import logging
from typing import Final, NamedTuple, TypeVar

from kafka_protocol.client.broker.connection import BrokerConnection
from kafka_protocol.client.clock import Deadline
from kafka_protocol.errors import (
    BrokerError,
    ErrorCode,
    KafkaError,
    MisroutedError,
    OutOfStepError,
)
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.version import __version__
from kafka_protocol.versions.negotiation import versions_from
from kafka_protocol.wire.schema import Request, Response

R = TypeVar("R", bound=Response)

_log = logging.getLogger(__name__)

SOFTWARE_NAME: Final = "pyspark-pykafka"

_WITH_IDENTITY: Final = 5  # the version of ApiVersions
_PROBE_MS: Final = 1_000


class Identity(NamedTuple):
    """The cluster id and node id of a broker. Brokers refuse requests with only one of them."""

    cluster_id: str
    node_id: int


def api_versions_request(expected: Identity | None) -> ApiVersionsRequest:
    """The request of this client, to the expected broker only, if one is given."""
    cluster_id, node_id = expected or (None, -1)  # point: broker-identity
    return ApiVersionsRequest(
        client_software_name=SOFTWARE_NAME,
        client_software_version=__version__,
        cluster_id=cluster_id,
        node_id=node_id,
    )


def confirm_identity(connection: BrokerConnection, expected: Identity, deadline: Deadline) -> None:
    """Check the identity on a connection that knows its versions; nothing before Kafka 4.4.

    For SASL listeners: they do not look at it in the ApiVersions before authentication.

    Raises:
        MisroutedError: It is another broker.
        BrokerError: The broker refused for another reason.
    """
    versions = connection.protocol.versions
    served = None if versions is None else versions.range_of(ApiVersionsRequest)
    if served is None or _WITH_IDENTITY not in served:
        return
    response = _ask_identity(connection, expected, deadline)
    if response.error_code == ErrorCode.REBOOTSTRAP_REQUIRED:
        raise misrouted(connection, expected, deadline)
    if response.error_code:
        raise BrokerError(response.error_code, "ApiVersions")


def misrouted(
    connection: BrokerConnection, expected: Identity, deadline: Deadline
) -> MisroutedError:
    """The error for a broker that refused the expected identity. Asks it who it is instead."""
    actual = _actual_broker(connection, expected, deadline.capped_at(_PROBE_MS))
    return MisroutedError(
        f"metadata of cluster {expected.cluster_id} says that {connection.address} is broker "
        f"{expected.node_id}, but the address leads to {actual}. Check the broker's "
        "advertised.listeners, and DNS entries, port forwards, proxies and load balancers on the "
        "way from here"
    )


def _actual_broker(connection: BrokerConnection, expected: Identity, deadline: Deadline) -> str:
    """Name the broker that is there instead, as exactly as its responses do."""
    try:
        connection.protocol.versions = versions_from(_ask_identity(connection, None, deadline))
        metadata = _ask(connection, MetadataRequest(topics=[]), MetadataResponse, deadline)
        if metadata.cluster_id not in (None, expected.cluster_id):
            return f"a broker of cluster {metadata.cluster_id}"
        for broker in metadata.brokers:
            each = Identity(expected.cluster_id, broker.node_id)
            if _ask_identity(connection, each, deadline).error_code == ErrorCode.NONE:
                return f"broker {broker.node_id} of the same cluster"
    except KafkaError as error:
        _log.debug("%s does not say which broker it is: %s", connection.address, error)
    return "another broker"


def _ask_identity(
    connection: BrokerConnection, expected: Identity | None, deadline: Deadline
) -> ApiVersionsResponse:
    request = api_versions_request(expected)
    return _ask(connection, request, ApiVersionsResponse, deadline, _WITH_IDENTITY)


def _ask(
    connection: BrokerConnection,
    request: Request,
    kind: type[R],
    deadline: Deadline,
    version: int | None = None,
) -> R:
    connection.send(request, deadline, version=version)
    response = connection.receive(deadline)
    if not isinstance(response, kind):
        raise OutOfStepError(f"{type(response).__name__} came, not {kind.__name__}")
    return response
