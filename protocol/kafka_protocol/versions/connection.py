"""The requests and responses of one connection to a broker, without I/O.

`send(request)` returns the bytes to write, `receive_data(bytes)` stores bytes that were read, and
`next_response()` decodes the next response, or returns None while bytes are missing. A broker
responds in the order of the requests, so several may be in flight. No clock, no socket and no
callback in this module.

After a `ProtocolError`, close the connection and open a new one.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final, NamedTuple

from kafka_protocol.errors import DecodeError, ErrorCode, OutOfStepError, ProtocolError
from kafka_protocol.messages.api_versions import ApiVersionsResponse
from kafka_protocol.versions.negotiation import BrokerVersions
from kafka_protocol.wire import primitives as p
from kafka_protocol.wire.codec import read_message
from kafka_protocol.wire.framing import (
    FrameBuffer,
    encode_request,
    read_response_header,
    response_header_version,
)
from kafka_protocol.wire.primitives import Out
from kafka_protocol.wire.repeated_request import RepeatedRequest
from kafka_protocol.wire.schema import Request, Response, VersionRange

# The broker's own limit for requests (socket.request.max.bytes), librdkafka's for responses.
DEFAULT_MAX_RESPONSE_BYTES: Final = 100 * 1024 * 1024


class _InFlight(NamedTuple):
    """A request without its response yet."""

    correlation_id: int
    response: type[Response]
    version: int
    repeated: RepeatedRequest[Any] | None


class Connection:
    """The client's side of one connection.

    Args:
        client_id: Sent with each request; brokers log it and count quotas by it.
        max_response_bytes: The largest response to accept.
    """

    def __init__(
        self, client_id: str, max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES
    ) -> None:
        self.versions: BrokerVersions | None = None
        self._client_id = client_id
        self._frames = FrameBuffer(max_response_bytes)
        self._in_flight: deque[_InFlight] = deque()
        self._next_correlation_id = 0
        self._received_frames = 0

    def __repr__(self) -> str:
        return (
            f"<Connection {self._next_correlation_id} sent, {self._received_frames} answered, "
            f"{len(self._in_flight)} in flight>"
        )

    def follow(self, before: Connection) -> None:
        """Number requests after the ones of a connection before: no response fits two of them."""
        self._next_correlation_id = max(self._next_correlation_id, before._next_correlation_id)

    @property
    def in_flight(self) -> int:
        """The number of requests without a response."""
        return len(self._in_flight)

    @property
    def last_correlation_id(self) -> int:
        """The correlation id of the newest request in flight; -1 without one."""
        return self._in_flight[-1].correlation_id if self._in_flight else -1

    @property
    def expected_correlation_id(self) -> int:
        """The correlation id of the next response; -1 without a request in flight."""
        return self._in_flight[0].correlation_id if self._in_flight else -1

    @property
    def expected_api(self) -> str:
        """The name of the API of the next response; empty without a request in flight."""
        return self._in_flight[0].response.api_name if self._in_flight else ""

    @property
    def missing_bytes(self) -> int:
        """The known number of missing bytes of the next response, at least 1; a hint for reads."""
        return self._frames.missing_bytes

    @property
    def has_buffered_data(self) -> bool:
        """Whether received bytes are not decoded yet."""
        return self._frames.has_buffered_data

    @property
    def received_responses(self) -> int:
        """The number of responses that were received."""
        return self._received_frames

    def send(
        self,
        request: Request | RepeatedRequest[Any],
        *,
        version: int | None = None,
        needed: VersionRange | None = None,
    ) -> Out:
        """Encode a request and put it in flight; returns the pieces to write, in order.

        The version is by default the highest common one within `needed`; see
        `BrokerVersions.choose`.

        Raises:
            EncodeError: A value does not fit.
            UnsupportedVersionError: No version can carry it.
        """
        repeated, message = (
            (request, request.request) if isinstance(request, RepeatedRequest) else (None, request)
        )
        if version is None:
            if self.versions is None:
                raise ProtocolError("negotiate versions before sending any other request")
            version = self.versions.choose(type(message), needed)
        correlation_id = self._next_correlation_id
        if repeated is None:
            frame = encode_request(message, version, correlation_id, self._client_id)
        else:
            frame = repeated.encode(version, correlation_id, self._client_id)
        self._next_correlation_id = (correlation_id + 1) & p.MAX_INT32
        self._in_flight.append(_InFlight(correlation_id, message.response, version, repeated))
        return frame

    def receive_data(self, data: bytes) -> None:
        """Store bytes that were read."""
        self._frames.receive_data(data)

    @property
    def receive_buffer(self) -> memoryview | None:
        """A buffer for the missing bytes, or None: pass them to `receive_data` then."""
        return self._frames.receive_buffer

    def bytes_received(self, count: int) -> None:
        """Count bytes that were written to the beginning of `receive_buffer`."""
        self._frames.bytes_received(count)

    def next_response(self) -> Response | None:
        """The next response, in the order of the requests; None while bytes are missing.

        Raises:
            ProtocolError: The bytes are not the expected response.
        """
        frame = self._frames.next_frame()
        if frame is None:
            return None
        if not self._in_flight:
            raise OutOfStepError(f"received a response of {len(frame)} bytes without a request")
        self._received_frames += 1
        expected = self._in_flight.popleft()
        header_version = response_header_version(expected.response, expected.version)
        correlation_id, pos = read_response_header(frame, header_version)
        if correlation_id != expected.correlation_id:
            raise OutOfStepError(
                f"received correlation id {correlation_id}, expected {expected.correlation_id} "
                f"({expected.response.__name__})"
            )
        body = frame[pos:]
        if expected.response is ApiVersionsResponse and _is_unsupported_version(body):
            return _read_unsupported_version(body)
        if expected.repeated is not None:
            return expected.repeated.decode(expected.version, body)
        return read_message(expected.response, expected.version, body)


def _is_unsupported_version(body: memoryview) -> bool:
    error_code, _ = p.read_int16(body, 0)
    return error_code == ErrorCode.UNSUPPORTED_VERSION


def _read_unsupported_version(body: memoryview) -> ApiVersionsResponse:
    """Read a v0 response: brokers use it if they lack the request's version (KIP-511).

    The ranges after the error code are a hint. Ignore them if they are not readable: librdkafka's
    mock cluster writes the layout of another version.
    """
    try:
        return read_message(ApiVersionsResponse, 0, body)
    except DecodeError:
        return ApiVersionsResponse(error_code=int(ErrorCode.UNSUPPORTED_VERSION))
