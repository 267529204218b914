"""One connection to one broker, brought up: connect, ApiVersions; then requests with deadlines.

Sends are separate from receives, so that a caller can have several requests in flight, here or
on several brokers. After any error on the way the connection is closed and never used again: an
answer that came late would be taken for the answer to something else.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

from kafka_protocol import negotiation
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config import Address, ClientConfig
from kafka_protocol.client.transport import ClosedByPeerError, Transport, connect
from kafka_protocol.connection import Connection
from kafka_protocol.errors import (
    BrokerConnectionError,
    ErrorCode,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
    UnsupportedVersionError,
)
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.negotiation import BrokerVersions
from kafka_protocol.schema import Request, Response, VersionRange
from kafka_protocol.version import __version__

R = TypeVar("R", bound=Response)

SOFTWARE_NAME: Final = "pyspark-pykafka"


class Sent(NamedTuple):
    """A request on its way."""

    broker: Broker
    correlation_id: int


class Broker:
    """A broker that is connected, and knows its versions.

    Args:
        address: Where it listens.
        node_id: Its number; None while only its bootstrap address is known.
        config: Client id, limits and time-outs.
        deadline: When bringing it up must be done.

    Raises:
        BrokerConnectionError: Nobody accepts, or the connection closed at once.
        KafkaTimeoutError: It accepted and then said nothing.
        ProtocolError: It is no Kafka broker, or speaks TLS.
    """

    def __init__(
        self, address: Address, node_id: int | None, config: ClientConfig, deadline: Deadline
    ) -> None:
        self.address = address
        self.node_id = node_id
        self._config = config
        self.is_closed = True
        try:
            self._bring_up(deadline)
        except KafkaError:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<Broker {self}, {self._transport!r}, {self._connection!r}>"

    def __str__(self) -> str:
        who = "bootstrap server" if self.node_id is None else f"broker {self.node_id}"
        return f"{who} ({self.address})"

    @property
    def in_flight(self) -> int:
        """How many requests wait for an answer."""
        return self._connection.in_flight

    @property
    def versions(self) -> BrokerVersions:
        """What the broker serves."""
        if self._connection.versions is None:
            raise ProtocolError(f"{self} has not negotiated")
        return self._connection.versions

    def send(
        self, request: Request, deadline: Deadline, needed: VersionRange | None = None
    ) -> Sent:
        """Write a request; what is returned gets its answer from `receive`.

        Args:
            request: What to ask.
            deadline: When the write must be done.
            needed: The versions that can carry it, where not all can.

        Raises:
            BrokerConnectionError, KafkaTimeoutError: The broker is closed then.
            UnsupportedVersionError: Nothing was sent.
        """
        try:
            pieces = self._connection.send(request, needed=needed)
        except UnsupportedVersionError as error:
            if self.versions is negotiation.BEFORE_API_VERSIONS:
                # A guess, so the next try begins anew.
                self.close()
                raise BrokerConnectionError(
                    f"{self} closed the connection on ApiVersions, twice. It is going down, wants "
                    f"TLS, or is older than Kafka 0.10: {error}"
                ) from error
            raise UnsupportedVersionError(f"{self}: {error}") from error
        try:
            limit = deadline.or_sooner(self._config.request_timeout_ms)
            self._transport.write(pieces, limit)
        except KafkaError as error:
            self.close()
            raise _named(error, f"{request.api_name} to {self}") from error
        return self._newest()

    def receive(self, sent: Sent, kind: type[R], deadline: Deadline) -> R:
        """Wait for the answer to a request. Answers are taken in the order of the requests.

        Args:
            sent: What `send` returned.
            kind: The answer's class.
            deadline: When to stop waiting; at most request.timeout.ms are waited.

        Raises:
            BrokerConnectionError, KafkaTimeoutError, ProtocolError: The broker is closed then.
        """
        if self._connection.due != sent.correlation_id:
            # Two that share a connection, or a connection that was made anew in between.
            self.close()
            raise BrokerConnectionError(f"{kind.api_name} to {self}: its answer is not due")
        limit = deadline.or_sooner(self._config.request_timeout_ms)
        waited_ms = limit.remaining_ms
        try:
            response = self._next_response(limit)
        except KafkaTimeoutError as error:
            self.close()
            raise KafkaTimeoutError(
                f"{kind.api_name} to {self}: no answer within {waited_ms:.0f} ms"
            ) from error
        except KafkaError as error:
            self.close()
            hint = self._hint(error, kind)
            raise _named(error, f"{kind.api_name} to {self}", hint) from error
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
            self._transport.close()
            self.is_closed = True

    def _bring_up(self, deadline: Deadline) -> None:
        """Connect and negotiate. A broker that is going down closes connections too: ask twice."""
        for _ in range(2):
            self._open(deadline)
            try:
                self._connection.versions = self._negotiate(deadline)
            except ClosedByPeerError:
                self.close()
            else:
                return
        self._open(deadline)
        self._connection.versions = negotiation.BEFORE_API_VERSIONS

    def _open(self, deadline: Deadline) -> None:
        self._transport: Transport = connect(self.address, deadline)
        self._connection = Connection(self._config.client_id, self._config.max_response_bytes)
        self.is_closed = False

    def _hint(self, error: KafkaError, kind: type[Response]) -> str:
        """A listener that wants SASL answers ApiVersions, and cuts off whatever comes next."""
        is_first = kind is not ApiVersionsResponse and self._connection.answered <= 1
        if is_first and isinstance(error, ClosedByPeerError):
            return ", at the first request after ApiVersions; does this listener want SASL?"
        return ""

    def _newest(self) -> Sent:
        return Sent(self, self._connection.newest)

    def _next_response(self, deadline: Deadline) -> Response:
        connection = self._connection
        while (response := connection.next_response()) is None:
            connection.receive_data(self._transport.read(connection.missing_bytes, deadline))
        return response

    def _negotiate(self, deadline: Deadline) -> BrokerVersions:
        """ApiVersions, from the newest version down (KIP-35, KIP-511)."""
        request = ApiVersionsRequest(
            client_software_name=SOFTWARE_NAME, client_software_version=__version__
        )
        version = negotiation.FIRST_TRY
        while True:
            self._transport.write(self._connection.send(request, version=version), deadline)
            response = self.receive(self._newest(), ApiVersionsResponse, deadline)
            if response.error_code == ErrorCode.NONE:
                return negotiation.versions_from(response)
            version = negotiation.step_down(version, response)


def _named(error: KafkaError, what: str, hint: str = "") -> KafkaError:
    """The same kind of error, with the API and the broker in front."""
    if isinstance(error, BrokerConnectionError | KafkaTimeoutError | ProtocolError):
        return type(error)(f"{what}: {error}{hint}")
    return error
