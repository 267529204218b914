"""Negotiates the API versions on a new connection: ApiVersions (KIP-35), or an old broker's.

A broker older than 0.10 does not know ApiVersions: 0.8 closes the connection, 0.9 may not respond
at all. A newer broker does the same while it restarts or is stopped, and must not be taken for an
old one: its records would be read in an old format, without their headers. So a broker counts as
old only if it responds to an old request, and after that still not to ApiVersions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from kafka_protocol.client.broker.connection import BrokerConnection
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.network.transport import ClosedByPeerError
from kafka_protocol.errors import ErrorCode, KafkaTimeoutError, OutOfStepError
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.negotiation import (
    FIRST_VERSION_TO_TRY,
    assumed_versions,
    next_version_to_try,
    versions_from,
)
from kafka_protocol.releases import parse_release
from kafka_protocol.version import __version__

SOFTWARE_NAME: Final = "pyspark-pykafka"

OpenConnection: TypeAlias = Callable[[], BrokerConnection]

# All brokers up to 3.9 serve this; without topics it has no effect and costs them nothing.
_OLD_REQUEST: Final = ListOffsetsRequest(topics=[])
_FIRST_WITH_API_VERSIONS: Final = (0, 10)


def negotiate_versions(
    first: BrokerConnection, open_another: OpenConnection, config: ClientConfig, deadline: Deadline
) -> BrokerConnection:
    """Find out which versions a broker serves; returns a connection that knows them.

    `first` is a new connection, and `open_another` opens one more, at most twice. All but the
    returned one are closed.

    Raises:
        BrokerConnectionError: The broker accepts no connection, or closes each of them.
        KafkaTimeoutError: It accepted a connection and then did not respond.
        ProtocolError: It is not a Kafka broker, or it expects TLS.
        BrokerError: It returned an error instead of its versions.
    """
    opened = [first]

    def open_and_keep() -> BrokerConnection:
        opened.append(open_another())
        return opened[-1]

    chosen: BrokerConnection | None = None
    try:
        chosen = _choose_connection(first, open_and_keep, config, deadline)
        return chosen
    finally:
        for connection in opened:
            if connection is not chosen:
                connection.close()


def _choose_connection(
    first: BrokerConnection, open_another: OpenConnection, config: ClientConfig, deadline: Deadline
) -> BrokerConnection:
    if not config.api_version_request:
        return _assume(first, config)
    timeout_ms = min(config.api_version_request_timeout_ms, deadline.remaining_ms / 2)
    negotiation = _Negotiation(first, deadline)
    try:
        return negotiation.wait(deadline.capped_at(timeout_ms))
    except (ClosedByPeerError, KafkaTimeoutError):
        if parse_release(config.broker_version_fallback) >= _FIRST_WITH_API_VERSIONS:
            raise
    second = open_another()
    if not _serves_old_request(second, negotiation, deadline):
        return negotiation.wait(deadline)
    if negotiation.is_closed:
        # It closes on ApiVersions and serves the old request. Try again: it may have restarted.
        negotiation = _Negotiation(open_another(), deadline)
    try:
        return negotiation.wait(deadline.capped_at(timeout_ms / 2))
    except (ClosedByPeerError, KafkaTimeoutError):
        return _assume(second, config)


def _assume(connection: BrokerConnection, config: ClientConfig) -> BrokerConnection:
    connection.protocol.versions = assumed_versions(config.broker_version_fallback)
    return connection


class _Negotiation:
    """ApiVersions on one connection, from the newest version of the API down (KIP-511)."""

    def __init__(self, connection: BrokerConnection, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline
        self.is_closed = False
        self._send(FIRST_VERSION_TO_TRY)

    def _send(self, version: int) -> None:
        self._version = version
        request = ApiVersionsRequest(
            client_software_name=SOFTWARE_NAME, client_software_version=__version__
        )
        self._connection.send(request, self._deadline, version=version)

    def wait(self, deadline: Deadline) -> BrokerConnection:
        """Return the connection when it knows its versions; can be repeated after a time-out."""
        try:
            while True:
                response = self._connection.receive(deadline)
                if not isinstance(response, ApiVersionsResponse):
                    raise OutOfStepError(f"{type(response).__name__} came without a request")
                if response.error_code == ErrorCode.NONE:
                    self._connection.protocol.versions = versions_from(response)
                    return self._connection
                self._send(next_version_to_try(self._version, response))
        except ClosedByPeerError:
            self.is_closed = True
            raise


def _serves_old_request(
    connection: BrokerConnection, negotiation: _Negotiation, deadline: Deadline
) -> bool:
    """Whether the broker responds to a request that brokers from 4.0 on do not know."""
    try:
        connection.send(_OLD_REQUEST, deadline, version=0)
        connection.receive(deadline)
    except ClosedByPeerError as error:
        if negotiation.is_closed:
            raise ClosedByPeerError(
                f"{error}, on ApiVersions as well as on an old request; it is going down, expects "
                "TLS or SASL, or is not a Kafka broker"
            ) from error
        return False
    return True
