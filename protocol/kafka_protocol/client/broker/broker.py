"""One connection to one broker, brought up: connect, TLS, ApiVersions, SASL; then requests.

Sends are separate from receives, so that a caller can have several requests in flight, here or
on several brokers. After any error on the way the connection is closed and never used again: an
answer that came late would be taken for the answer to something else.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import NamedTuple, TypeVar

from kafka_protocol.client.broker.api_versions import bring_up
from kafka_protocol.client.broker.authenticate import authenticate
from kafka_protocol.client.broker.connection import Wire
from kafka_protocol.client.clock import Deadline, pause
from kafka_protocol.client.config.client import Address, ClientConfig
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
from kafka_protocol.negotiation import BrokerVersions
from kafka_protocol.schema import Request, Response, VersionRange

R = TypeVar("R", bound=Response)

_log = logging.getLogger(__name__)

# Brokers that serve that version of Fetch answer at once, and say how long not to ask again;
# older ones have waited before they answered (KIP-219).
_FETCH_OF_THROTTLED_CLIENTS = 8


class Sent(NamedTuple):
    """A request on its way."""

    broker: Broker
    correlation_id: int


class Broker:
    """A broker that is connected, that knows its versions and who the client is.

    Args:
        address: Where it listens.
        node_id: Its number; None while only its bootstrap address is known.
        config: Client id, limits and time-outs.
        deadline: When bringing it up must be done.

    Raises:
        BrokerConnectionError: Nobody accepts, or the connection closed at once.
        KafkaTimeoutError: It accepted and then said nothing.
        ProtocolError: It is no Kafka broker, or speaks TLS.
        AuthenticationError: One side refuses the other; TlsError where it is about TLS.
    """

    def __init__(
        self, address: Address, node_id: int | None, config: ClientConfig, deadline: Deadline
    ) -> None:
        self.address = address
        self.node_id = node_id
        self._config = config
        self.is_closed = False
        wire = Wire(address, config, deadline)
        waited_ms = deadline.remaining_ms
        try:
            self._wire = bring_up(wire, lambda: Wire(address, config, deadline), config, deadline)
        except KafkaTimeoutError as error:
            raise _no_answer(f"ApiVersions to {self}", waited_ms) from error
        except KafkaError as error:
            raise _named(error, f"ApiVersions to {self}") from error
        # Answers that came before anybody waited for them, with their correlation ids.
        self._early: deque[tuple[int, Response]] = deque()
        self._throttled = Deadline.after(0)
        self._authenticate(deadline)

    def __repr__(self) -> str:
        return f"<Broker {self}, {self._wire!r}>"

    def __str__(self) -> str:
        who = "bootstrap server" if self.node_id is None else f"broker {self.node_id}"
        return f"{who} ({self.address})"

    @property
    def in_flight(self) -> int:
        """How many requests wait for an answer."""
        return self._wire.connection.in_flight + len(self._early)

    @property
    def has_answered(self) -> bool:
        """Whether `receive` would find an answer, or the beginning of one. Never waits."""
        return self.is_closed or bool(self._early) or self._wire.has_come

    @property
    def is_throttled(self) -> bool:
        """Whether a quota was exceeded here, so that `send` would wait."""
        return not self._throttled.has_passed

    @property
    def versions(self) -> BrokerVersions:
        """What the broker serves."""
        versions = self._wire.connection.versions
        if versions is None:
            raise ProtocolError(f"{self} has not negotiated")
        return versions

    def choose(self, request: type[Request], needed: VersionRange | None = None) -> int:
        """The version that `send` would write a request in.

        Raises:
            UnsupportedVersionError: There is none; names the broker.
        """
        try:
            return self.versions.choose(request, needed)
        except UnsupportedVersionError as error:
            raise UnsupportedVersionError(f"{self}: {error}") from error

    def send(
        self, request: Request, deadline: Deadline, needed: VersionRange | None = None
    ) -> Sent:
        """Write a request; what is returned gets its answer from `receive`.

        Where the broker throttles the client, for a quota that was exceeded, it waits first.

        Args:
            request: What to ask.
            deadline: When the write must be done.
            needed: The versions that can carry it, where not all can.

        Raises:
            BrokerConnectionError, KafkaTimeoutError: The broker is closed then.
            AuthenticationError: Likewise; the session had to be renewed.
            UnsupportedVersionError: Nothing was sent.
        """
        self._wait_for_quota(request, deadline)
        limit = deadline.or_sooner(self._config.request_timeout_ms)
        self._renew_session(limit)
        try:
            return Sent(self, self._wire.send(request, limit, needed=needed))
        except UnsupportedVersionError as error:
            raise UnsupportedVersionError(f"{self}: {error}") from error
        except EncodeError:
            raise
        except KafkaError as error:
            self.close()
            raise _named(error, f"{request.api_name} to {self}") from error

    def receive(self, sent: Sent, kind: type[R], deadline: Deadline) -> R:
        """Wait for the answer to a request. Answers are taken in the order of the requests.

        Args:
            sent: What `send` returned.
            kind: The answer's class.
            deadline: When to stop waiting; at most request.timeout.ms are waited.

        Raises:
            BrokerConnectionError, KafkaTimeoutError, ProtocolError: The broker is closed then.
        """
        due = self._early[0][0] if self._early else self._wire.connection.due
        if due != sent.correlation_id:
            # Two that share a connection, or a connection that was made anew in between.
            self.close()
            raise BrokerConnectionError(f"{kind.api_name} to {self}: its answer is not due")
        if self._early:
            _, response = self._early.popleft()
        else:
            response = self._next(f"{kind.api_name} to {self}", deadline)
        if not isinstance(response, kind):
            self.close()
            raise ProtocolError(f"{self}: {type(response).__name__} came, {kind.__name__} was due")
        return response

    def request(
        self,
        request: Request,
        kind: type[R],
        deadline: Deadline,
        needed: VersionRange | None = None,
    ) -> R:
        """Send, and wait for the answer."""
        return self.receive(self.send(request, deadline, needed), kind, deadline)

    def close(self) -> None:
        """Close the connection; safe to call again."""
        if not self.is_closed:
            self._wire.close()
            self.is_closed = True

    def _next(self, what: str, deadline: Deadline) -> Response:
        """The answer that is due, from the wire."""
        limit = deadline.or_sooner(self._config.request_timeout_ms)
        waited_ms = limit.remaining_ms
        try:
            response = self._wire.receive(limit)
        except KafkaTimeoutError as error:
            self.close()
            raise _no_answer(what, waited_ms) from error
        except KafkaError as error:
            self.close()
            raise _named(error, what, self._hint(error)) from error
        self._note_quota(response)
        return response

    def _note_quota(self, response: Response) -> None:
        throttle_ms = getattr(response, "throttle_time_ms", 0)
        if throttle_ms <= 0:
            return
        served = self.versions.range_of(FetchRequest)
        if served is not None and served.highest >= _FETCH_OF_THROTTLED_CLIENTS:
            _log.debug("%s throttles this client for %d ms, for a quota", self, throttle_ms)
            self._throttled = Deadline.after(throttle_ms)

    def _wait_for_quota(self, request: Request, deadline: Deadline) -> None:
        """The broker does not read from this connection before that (KIP-219)."""
        if not self.is_throttled:
            return
        throttled_ms, left_ms = self._throttled.remaining_ms, deadline.remaining_ms
        if throttled_ms > left_ms:
            raise KafkaTimeoutError(
                f"{request.api_name} to {self}: the broker throttles this client for another "
                f"{throttled_ms:.0f} ms, for a quota that was exceeded, and {left_ms:.0f} ms are "
                "left"
            )
        pause(throttled_ms)

    def _authenticate(self, deadline: Deadline) -> None:
        what = f"SASL to {self}"
        waited_ms = deadline.remaining_ms
        try:
            self._renew_at = authenticate(self._wire, self._config.security, deadline)
        except KafkaTimeoutError as error:
            self.close()
            raise _no_answer(what, waited_ms) from error
        except KafkaError as error:
            self.close()
            raise _named(error, what) from error

    def _renew_session(self, deadline: Deadline) -> None:
        """Authenticate again before the broker ends the session, with nothing in flight (KIP-368).

        What is in flight is answered first, and kept for whoever asked.
        """
        if self._renew_at is None or not self._renew_at.has_passed:
            return
        while self._wire.connection.in_flight:
            due = self._wire.connection.due
            self._early.append((due, self._next(f"the requests before SASL to {self}", deadline)))
        self._authenticate(deadline)

    def _hint(self, error: KafkaError) -> str:
        """A listener that wants SASL answers ApiVersions, and cuts off whatever comes next."""
        if self._wire.connection.answered <= 1 and isinstance(error, ClosedByPeerError):
            return ", at the first request after ApiVersions; does this listener want SASL?"
        return ""


def _no_answer(what: str, waited_ms: float) -> KafkaTimeoutError:
    return KafkaTimeoutError(f"{what}: no answer within {waited_ms:.0f} ms")


def _named(error: KafkaError, what: str, hint: str = "") -> KafkaError:
    """The same kind of error, with the API and the broker in front."""
    if isinstance(error, BrokerConnectionError | KafkaTimeoutError | ProtocolError):
        return type(error)(f"{what}: {error}{hint}")
    return error
