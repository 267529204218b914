"""One broker: connects (TCP, TLS, ApiVersions, SASL), then sends requests and receives responses.

`send` and `receive` are separate, so that a caller can have several requests in flight, to one
broker or to several. A broker may be handed from thread to thread, but two at a time are refused.
After any error the connection is closed and never used again: a late
response would be taken for the response to another request.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from kafka_protocol.client.broker.api_versions import (
    FIRST_WITH_API_VERSIONS,
    negotiate_versions,
)
from kafka_protocol.client.broker.authenticate import authenticate
from kafka_protocol.client.broker.connection import BrokerConnection
from kafka_protocol.client.broker.identity import Identity, confirm_identity
from kafka_protocol.client.broker.listener import raise_if_sasl, raise_if_without_tls
from kafka_protocol.client.broker.refusals import (
    OtherPrincipalError,
    TooManyConnectionsError,
    pauses,
)
from kafka_protocol.client.broker.throttling import Throttling
from kafka_protocol.client.clock import Deadline, monotonic_ms
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.network.transport import ClosedByPeerError
from kafka_protocol.errors import (
    BrokerConnectionError,
    EncodeError,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
    UnsupportedVersionError,
)
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.versions.negotiation import BrokerVersions
from kafka_protocol.wire.repeated_request import RepeatedRequest
from kafka_protocol.wire.schema import Request, Response, VersionRange

R = TypeVar("R", bound=Response)

_log = logging.getLogger(__name__)

# Brokers that serve this version of Fetch respond at once, and the client must wait for
# throttle_time_ms; older brokers have waited before they responded (KIP-219).
_CLIENT_THROTTLES_FROM_FETCH = 8


class SentRequest(NamedTuple):
    """A request in flight."""

    broker: Broker
    correlation_id: int


class Broker:
    """A connected broker whose versions are known and which has authenticated the client.

    `node_id` is None while only its bootstrap address is known; with it and the `cluster_id` the
    broker is asked whether it is that one. By the deadline it must be ready for requests.

    Attributes:
        last_response_ms: When the newest response came (`monotonic_ms`).
        silent_since_ms: When the wait began that ended without a response, or None.

    Raises:
        BrokerConnectionError: The connection is refused, or closed at once.
        KafkaTimeoutError: The broker accepted and then did not respond.
        ProtocolError: It is not a Kafka broker, or it expects TLS.
        AuthenticationError: One side refuses the other; TlsError if that happens in TLS, or if the
            listener expects no TLS.
        MisroutedError: The address leads to another broker (KIP-1242).
    """

    def __init__(
        self,
        address: Address,
        node_id: int | None,
        config: ClientConfig,
        deadline: Deadline,
        cluster_id: str | None = None,
    ) -> None:
        self.address = address
        self.node_id = node_id
        self._config = config
        self.is_closed = False
        self._in_use = threading.Lock()
        self._cluster_id = cluster_id
        # Responses read before a renewal of the session, with their correlation ids.
        self._early_responses: deque[tuple[int, Response]] = deque()
        self._throttling = Throttling()
        max_idle_ms = config.connections_max_idle_ms
        self._max_idle_ms = math.inf if max_idle_ms < 0 else max_idle_ms
        self._connect(deadline)
        # When the newest response came, or when the oldest request in flight was sent, if later.
        self._waits_from_ms = self.last_response_ms = monotonic_ms()
        self.silent_since_ms: float | None = None
        self._idle_from = Deadline.after(self._max_idle_ms)

    def _connect(self, deadline: Deadline) -> None:
        """Open a connection, and make it ready for requests."""
        config = self._config
        pauses.wait(self.address, deadline)
        connection = self._open_connection(deadline)
        expected = _expected(self._cluster_id, self.node_id, config)
        before_login = None if config.security.uses_sasl else expected
        waited_ms = deadline.remaining_ms
        try:
            self._connection = negotiate_versions(
                connection,
                lambda: self._open_connection(deadline),
                _without_old_brokers(config, self._cluster_id),
                deadline,
                before_login,
            )
        except KafkaTimeoutError as error:
            raise _no_response(f"ApiVersions to {self}", waited_ms) from error
        except KafkaError as error:
            raise _with_context(error, f"ApiVersions to {self}") from error
        self._authenticate(deadline)
        if expected is not None and before_login is None:
            with self._closing_after_errors(f"ApiVersions to {self}", deadline):
                confirm_identity(self._connection, expected, deadline)
        self._setup_responses = self._connection.protocol.received_responses

    def __repr__(self) -> str:
        return f"<Broker {self}, {self._connection!r}>"

    def __str__(self) -> str:
        role = "bootstrap server" if self.node_id is None else f"broker {self.node_id}"
        return f"{role} ({self.address})"

    @property
    def in_flight(self) -> int:
        """The number of requests whose response has not been received."""
        return self._connection.protocol.in_flight + len(self._early_responses)

    @property
    def has_response(self) -> bool:
        """Whether `receive` would find a response, or the start of one, or fail. Never waits."""
        return self.is_closed or bool(self._early_responses) or self._connection.has_buffered_data

    @property
    def is_idle(self) -> bool:
        """Whether the connection was unused for connections.max.idle.ms, and awaits no response."""
        return self._idle_from.has_passed and not self.in_flight

    @property
    def round_trip_ms(self) -> float:
        """The shortest time from a request to the first bytes of its response."""
        return self._connection.round_trip_ms

    @property
    def is_throttled(self) -> bool:
        """Whether `send` would wait because the client exceeded a quota."""
        return not self._throttling.is_over

    @property
    def versions(self) -> BrokerVersions:
        """The API versions that the broker serves."""
        versions = self._connection.protocol.versions
        if versions is None:
            raise ProtocolError(f"{self} has not negotiated")
        return versions

    def choose(self, request: type[Request], needed: VersionRange | None = None) -> int:
        """Return the version in which `send` would write a request.

        Raises:
            UnsupportedVersionError: No common version. Names the broker.
        """
        try:
            return self.versions.choose(request, needed)
        except UnsupportedVersionError as error:
            raise UnsupportedVersionError(f"{self}: {error}") from error

    def send(
        self,
        request: Request | RepeatedRequest[Any],
        deadline: Deadline,
        needed: VersionRange | None = None,
    ) -> SentRequest:
        """Write a request in one of the `needed` versions, after any throttling for a quota.

        Raises:
            BrokerConnectionError, KafkaTimeoutError: The broker is then closed.
            AuthenticationError: The renewal of the session failed; the broker is then closed.
            UnsupportedVersionError: Nothing was sent.
            RuntimeError: Another thread is using the broker.
        """
        with self._by_one_thread():
            return self._send(request, deadline, needed)

    def _send(
        self,
        request: Request | RepeatedRequest[Any],
        deadline: Deadline,
        needed: VersionRange | None,
    ) -> SentRequest:
        if self.is_throttled:
            self._throttling.wait(f"{request.api_name} to {self}", self.address, deadline)
        self._idle_from = Deadline.after(self._max_idle_ms)
        limit = deadline.capped_at(self._config.request_timeout_ms)
        self._renew_session(limit)
        if not self.in_flight:
            self._waits_from_ms = monotonic_ms()
        try:
            return SentRequest(self, self._connection.send(request, limit, needed=needed))
        except UnsupportedVersionError as error:
            raise UnsupportedVersionError(f"{self}: {error}") from error
        except EncodeError:
            raise
        except KafkaError as error:
            self.close()
            raise _with_context(error, f"{request.api_name} to {self}") from error

    def receive(self, sent: SentRequest, kind: type[R], deadline: Deadline) -> R:
        """Wait for the response to a request, for request.timeout.ms at the most.

        Responses come in the order of the requests. The time counts from when the request was sent
        or the response before it came; from now if a part of the response is there.

        Raises:
            BrokerConnectionError, KafkaTimeoutError, ProtocolError: The broker is then closed.
            AuthenticationError: The listener expects SASL; the broker is then closed.
            RuntimeError: Another thread is using the broker.
        """
        with self._by_one_thread():
            return self._receive(sent, kind, deadline)

    def _receive(self, sent: SentRequest, kind: type[R], deadline: Deadline) -> R:
        early = self._early_responses
        expected = early[0][0] if early else self._connection.protocol.expected_correlation_id
        if expected != sent.correlation_id:
            # Two callers share the connection, or it was opened again in between.
            self.close()
            raise BrokerConnectionError(f"{kind.api_name} to {self}: its response is not the next")
        if early:
            _, response = early.popleft()
        else:
            response = self._receive_next(f"{kind.api_name} to {self}", deadline)
        if not isinstance(response, kind):
            self.close()
            raise ProtocolError(f"{self}: {type(response).__name__}, not {kind.__name__}, came")
        return response

    def request(
        self,
        request: Request,
        kind: type[R],
        deadline: Deadline,
        needed: VersionRange | None = None,
    ) -> R:
        """Send a request, and wait for its response."""
        return self.receive(self.send(request, deadline, needed), kind, deadline)

    def close(self) -> None:
        """Close the connection; safe to call again."""
        if not self.is_closed:
            self._connection.close()
            self.is_closed = True

    @contextmanager
    def _by_one_thread(self) -> Iterator[None]:
        if not self._in_use.acquire(blocking=False):
            raise RuntimeError(
                f"{self} is used by two threads at the same time; give each thread a Cluster"
            )
        try:
            yield
        finally:
            self._in_use.release()

    def _receive_next(self, context: str, deadline: Deadline) -> Response:
        if not self.is_closed and self._connection.has_buffered_data:
            self._waits_from_ms = monotonic_ms()
        waited_ms = monotonic_ms() - self._waits_from_ms
        limit = deadline.capped_at(self._config.request_timeout_ms - waited_ms)
        waited_ms += limit.remaining_ms
        try:
            response = self._connection.receive(limit)
        except KafkaTimeoutError as error:
            self.close()
            self.silent_since_ms = self._waits_from_ms
            raise _no_response(context, waited_ms) from error
        except KafkaError as error:
            self.close()
            self._raise_if_sasl(error, context, limit)
            raise _with_context(error, context) from error
        self._waits_from_ms = self.last_response_ms = monotonic_ms()
        self._note_throttling(response)
        self._idle_from = Deadline.after(self._max_idle_ms)
        return response

    def _note_throttling(self, response: Response) -> None:
        throttle_ms = getattr(response, "throttle_time_ms", 0)
        if throttle_ms <= 0:
            return
        served = self.versions.range_of(FetchRequest)
        if served is not None and served.highest >= _CLIENT_THROTTLES_FROM_FETCH:
            _log.debug("%s throttles this client for %d ms, because of a quota", self, throttle_ms)
            self._throttling.begin(throttle_ms)
            # The broker does not read requests in flight before (KIP-219).
            self._waits_from_ms += throttle_ms

    def _authenticate(self, deadline: Deadline) -> None:
        try:
            with self._closing_after_errors(f"SASL to {self}", deadline):
                self._renew_at = authenticate(self._connection, self._config.security, deadline)
        except TooManyConnectionsError:
            pauses.begin(self.address)
            raise
        pauses.end(self.address)

    @contextmanager
    def _closing_after_errors(self, context: str, deadline: Deadline) -> Iterator[None]:
        waited_ms = deadline.remaining_ms
        try:
            yield
        except KafkaTimeoutError as error:
            self.close()
            raise _no_response(context, waited_ms) from error
        except KafkaError as error:
            self.close()
            raise _with_context(error, context) from error
        except BaseException:
            self.close()
            raise

    def _renew_session(self, deadline: Deadline) -> None:
        """Authenticate again before the broker ends the session (KIP-368).

        No request may be in flight then: the pending responses are read first, and kept.
        """
        if self._renew_at is None or not self._renew_at.has_passed:
            return
        protocol = self._connection.protocol
        while protocol.in_flight:  # point: session-renewal
            correlation_id = protocol.expected_correlation_id
            response = self._receive_next(f"the requests before SASL to {self}", deadline)
            self._early_responses.append((correlation_id, response))
        try:
            self._authenticate(deadline)
        except OtherPrincipalError as error:
            _log.info("%s: %s: the client connects again", self, error)
            self._connect_again(deadline)

    def _connect_again(self, deadline: Deadline) -> None:
        """Go on with a new connection. No request may be in flight."""
        served, before = self.versions.ranges, self._connection.protocol
        self.is_closed = False
        with self._closing_after_errors(f"a new connection to {self}", deadline):
            self._connect(deadline)
            self._connection.protocol.follow(before)
            if self.versions.ranges != served:  # a request may be made for the versions before
                raise BrokerConnectionError("it serves other versions of requests than before")

    def _open_connection(self, deadline: Deadline) -> BrokerConnection:
        try:
            return BrokerConnection(self.address, self._config, deadline)
        except ClosedByPeerError:
            # In a TLS handshake; without TLS nothing is read here.
            raise_if_without_tls(self.address, self._config, deadline)
            raise

    def _raise_if_sasl(self, error: KafkaError, context: str, deadline: Deadline) -> None:
        # A listener that expects SASL serves ApiVersions, and closes on any other request.
        is_first = self._connection.protocol.received_responses == self._setup_responses
        is_candidate = is_first and not self._config.security.uses_sasl
        if is_candidate and isinstance(error, ClosedByPeerError):
            raise_if_sasl(self.address, self._config, deadline, context)


def _without_old_brokers(config: ClientConfig, cluster_id: str | None) -> ClientConfig:
    """The config without a fallback to old brokers: a cluster id needs Kafka 0.10.1 or later."""
    if cluster_id is None:
        return config
    return replace(config, broker_version_fallback=FIRST_WITH_API_VERSIONS)


def _expected(cluster_id: str | None, node_id: int | None, config: ClientConfig) -> Identity | None:
    if cluster_id is None or node_id is None or not config.metadata_cluster_check_enable:
        return None
    return Identity(cluster_id, node_id)


def _no_response(context: str, waited_ms: float) -> KafkaTimeoutError:
    return KafkaTimeoutError(f"{context}: no response within {waited_ms:.0f} ms")


def _with_context(error: KafkaError, context: str) -> KafkaError:
    """The same kind of error, whose text starts with the API and the broker."""
    if isinstance(error, BrokerConnectionError | KafkaTimeoutError | ProtocolError):
        return type(error)(f"{context}: {error}")
    return error
