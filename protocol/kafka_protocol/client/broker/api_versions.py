"""Negotiates the API versions on a new connection: ApiVersions (KIP-35), or an old broker's.

Some brokers and proxies, such as Azure Event Hubs, close the connection on a version of ApiVersions
that they do not know, instead of UNSUPPORTED_VERSION (KIP-511). Lower versions are tried then, each
on a new connection, as franz-go does.

A broker older than 0.10 does not know ApiVersions: 0.8 closes the connection, 0.9 may not respond
at all. A newer broker does the same while it restarts or is stopped, and must not be taken for an
old one: its records would be read, and written, in an old format, without their headers. So a
broker counts as old only if it responds to an old request, and after that still not to ApiVersions.
One that has responded to ApiVersions in any way is not old.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from kafka_protocol.client.broker.connection import BrokerConnection
from kafka_protocol.client.broker.identity import Identity, api_versions_request, misrouted
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.network.transport import ClosedByPeerError
from kafka_protocol.errors import ErrorCode, KafkaTimeoutError, OutOfStepError
from kafka_protocol.messages.api_versions import ApiVersionsResponse
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.versions.negotiation import (
    FIRST_VERSION_TO_TRY,
    assumed_versions,
    next_version_to_try,
    versions_from,
)
from kafka_protocol.versions.releases import parse_release

OpenConnection: TypeAlias = Callable[[], BrokerConnection]

# All brokers up to 3.9 serve this; without topics it has no effect and costs them nothing.
_OLD_REQUEST: Final = ListOffsetsRequest(topics=[])
FIRST_WITH_API_VERSIONS: Final = "0.10.0"

# The versions to try, each after the broker closed the connection on the one before. A broker
# that closes on the newest knows 3, which most clients send; each one with ApiVersions knows 0.
_VERSIONS_TO_TRY: Final = (FIRST_VERSION_TO_TRY, 3, 0)  # point: closed-on-api-versions
_REMEMBERED_MS: Final = 600_000
# By address: the version that worked after the broker closed on a higher one, and until when to
# begin with it. For the whole process, so that only one connection has to find out. All versions
# list the same ranges, so a version that is too low, after an upgrade or a restart, does no harm.
_remembered: dict[Address, tuple[int, Deadline]] = {}


def negotiate_versions(
    first: BrokerConnection,
    open_another: OpenConnection,
    config: ClientConfig,
    deadline: Deadline,
    expected: Identity | None = None,
) -> BrokerConnection:
    """Find out which versions a broker serves; returns a connection that knows them.

    `first` is a new connection, and `open_another` opens one more, at most four times. All but the
    returned one are closed. A broker from 4.4 on checks that it is the `expected` one.

    Raises:
        BrokerConnectionError: The broker accepts no connection, or closes each of them.
        KafkaTimeoutError: It accepted a connection and then did not respond.
        ProtocolError: It is not a Kafka broker, or it expects TLS.
        BrokerError: It returned an error instead of its versions.
        MisroutedError: It is not the expected broker.
    """
    opened = [first]

    def open_and_keep() -> BrokerConnection:
        opened.append(open_another())
        return opened[-1]

    chosen: BrokerConnection | None = None
    try:
        if config.api_version_request:
            version = _first_version(first.address)
            negotiation = _Negotiation(first, version, open_and_keep, deadline, expected)
            chosen = _choose_connection(negotiation, config, deadline)
        else:
            chosen = _assume(first, config)
        return chosen
    finally:
        for connection in opened:
            if connection is not chosen:
                connection.close()


def _choose_connection(
    negotiation: _Negotiation, config: ClientConfig, deadline: Deadline
) -> BrokerConnection:
    if parse_release(config.broker_version_fallback) >= parse_release(FIRST_WITH_API_VERSIONS):
        return negotiation.wait(deadline.capped_at(config.api_version_request_timeout_ms))
    timeout_ms = min(config.api_version_request_timeout_ms, deadline.remaining_ms / 2)
    try:
        return negotiation.wait(deadline.capped_at(timeout_ms))
    except (ClosedByPeerError, KafkaTimeoutError):
        if negotiation.has_response:
            raise
    second = negotiation.open_another()
    # point: old-brokers
    if not _serves_old_request(second, negotiation, deadline) or negotiation.is_answered:
        return negotiation.wait(deadline)
    # It may have restarted since, or only the response was lost.
    negotiation.begin_again(_VERSIONS_TO_TRY[-1])
    try:
        return negotiation.wait(deadline.capped_at(timeout_ms / 2))
    except (ClosedByPeerError, KafkaTimeoutError):
        return _assume(second, config)


def _assume(connection: BrokerConnection, config: ClientConfig) -> BrokerConnection:
    connection.protocol.versions = assumed_versions(config.broker_version_fallback)
    return connection


def _first_version(address: Address) -> int:
    version, until = _remembered.get(address, (FIRST_VERSION_TO_TRY, Deadline.after(0)))
    return FIRST_VERSION_TO_TRY if until.has_passed else version


def _remember(address: Address, version: int) -> None:
    for other, (_, until) in [*_remembered.items()]:
        if until.has_passed:
            _remembered.pop(other, None)
    _remembered[address] = version, Deadline.after(_REMEMBERED_MS)


class _Negotiation:
    """ApiVersions from one version down.

    After UNSUPPORTED_VERSION the next request is on the same connection (KIP-511), after a close
    on another one.

    Attributes:
        has_response: The broker has responded, be it with an error.
        is_closed: It closed the connection on every version.
    """

    def __init__(
        self,
        connection: BrokerConnection,
        version: int,
        open_another: OpenConnection,
        deadline: Deadline,
        expected: Identity | None,
    ) -> None:
        self._connection = connection
        self._expected = expected
        self.open_another = open_another
        self._deadline = deadline
        self._has_closed = False
        self.has_response = False
        self.is_closed = False
        self._send(version)

    @property
    def is_answered(self) -> bool:
        """Whether a response, or the start of one, can be read without waiting."""
        return not self.is_closed and self._connection.has_buffered_data

    def begin_again(self, version: int) -> None:
        """Forget that the broker closed connections, and send a version on a new one."""
        self.is_closed = self._has_closed = False
        self._open_and_send(version)

    def _open_and_send(self, version: int) -> None:
        self._connection = self.open_another()
        self._send(version)

    def _send(self, version: int) -> None:
        self._version = version
        request = api_versions_request(self._expected)
        self._connection.send(request, self._deadline, version=version)

    def wait(self, deadline: Deadline) -> BrokerConnection:
        """Return a connection that knows its versions; can be repeated after a time-out."""
        while True:
            try:
                self._wait_for_versions(deadline)
                break
            except ClosedByPeerError:
                lower = [version for version in _VERSIONS_TO_TRY if version < self._version]
                if not lower:
                    self.is_closed = True
                    raise
                self._has_closed = True
                self._open_and_send(lower[0])
        if self._has_closed:
            _remember(self._connection.address, self._version)
        return self._connection

    def _wait_for_versions(self, deadline: Deadline) -> None:
        while True:
            response = self._connection.receive(deadline)
            self.has_response = True
            if not isinstance(response, ApiVersionsResponse):
                raise OutOfStepError(f"{type(response).__name__} came without a request")
            if response.error_code == ErrorCode.NONE:
                self._connection.protocol.versions = versions_from(response)
                return
            if response.error_code == ErrorCode.REBOOTSTRAP_REQUIRED and self._expected:
                raise misrouted(self._connection, self._expected, deadline)
            self._send(next_version_to_try(self._version, response))


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
