"""A conversation with one broker, without I/O.

Three verbs: `send(request)` gives the bytes to write, `receive_data(bytes)` takes bytes as they
were read and only stores them, `next_response()` parses and returns the next answer, or None
while bytes are missing. Nothing blocks here; no clock, no socket, no callback. A broker answers
in the order in which it was asked, so several requests may be in flight.

After a `ProtocolError` the stream is out of step: close it and begin anew.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from kafka_protocol import primitives as p
from kafka_protocol.codec import read_message
from kafka_protocol.errors import DecodeError, ErrorCode, OutOfStepError, ProtocolError
from kafka_protocol.framing import (
    FrameBuffer,
    encode_request,
    read_response_header,
    response_header_version,
)
from kafka_protocol.messages.api_versions import ApiVersionsResponse
from kafka_protocol.negotiation import BrokerVersions
from kafka_protocol.primitives import Out
from kafka_protocol.schema import Request, Response, VersionRange

# The broker's own limit for requests (socket.request.max.bytes), librdkafka's for responses.
DEFAULT_MAX_RESPONSE_BYTES: Final = 100 * 1024 * 1024


class _InFlight(NamedTuple):
    """A request that waits for its answer."""

    correlation_id: int
    response: type[Response]
    version: int


class Connection:
    """One side of one connection.

    Args:
        client_id: Sent with each request; brokers log it and count quotas by it.
        max_response_bytes: The largest answer to accept.
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

    @property
    def in_flight(self) -> int:
        """How many requests wait for an answer."""
        return len(self._in_flight)

    @property
    def newest(self) -> int:
        """The correlation id of the request that was sent last; -1 where none waits."""
        return self._in_flight[-1].correlation_id if self._in_flight else -1

    @property
    def due(self) -> int:
        """The correlation id of the answer that comes next; -1 where none is due."""
        return self._in_flight[0].correlation_id if self._in_flight else -1

    @property
    def missing_bytes(self) -> int:
        """How many bytes the next answer still lacks, as far as is known; a hint for reads."""
        return self._frames.missing_bytes

    @property
    def answered(self) -> int:
        """How many answers have come."""
        return self._received_frames

    def send(
        self, request: Request, *, version: int | None = None, needed: VersionRange | None = None
    ) -> Out:
        """Encode a request and put it in flight.

        Args:
            request: What to ask.
            version: The version to write it in; the highest common one where nothing is said.
            needed: The versions that can carry the request; see `BrokerVersions.choose`.

        Returns:
            The pieces to write, in order.

        Raises:
            EncodeError: A value does not fit.
            UnsupportedVersionError: No version can carry it.
        """
        if version is None:
            if self.versions is None:
                raise ProtocolError("versions are negotiated before anything else is sent")
            version = self.versions.choose(type(request), needed)
        correlation_id = self._next_correlation_id
        frame = encode_request(request, version, correlation_id, self._client_id)
        self._next_correlation_id = (correlation_id + 1) & p.MAX_INT32
        self._in_flight.append(_InFlight(correlation_id, request.response, version))
        return frame

    def receive_data(self, data: bytes) -> None:
        """Store bytes as they were read."""
        self._frames.receive_data(data)

    @property
    def room(self) -> memoryview | None:
        """Where the missing bytes can be read to; None where they have to be received."""
        return self._frames.room

    def received(self, count: int) -> None:
        """Count bytes that were read to the beginning of `room`."""
        self._frames.received(count)

    def next_response(self) -> Response | None:
        """The next answer, in the order of the requests; None while bytes are missing.

        Raises:
            ProtocolError: The bytes are no answer to what was asked.
        """
        frame = self._frames.next_frame()
        if frame is None:
            return None
        if not self._in_flight:
            raise OutOfStepError(f"an answer of {len(frame)} bytes came that nothing had asked for")
        self._received_frames += 1
        expected = self._in_flight.popleft()
        header_version = response_header_version(expected.response, expected.version)
        correlation_id, pos = read_response_header(frame, header_version)
        if correlation_id != expected.correlation_id:
            raise OutOfStepError(
                f"the answer has correlation id {correlation_id}, and {expected.correlation_id} "
                f"({expected.response.__name__}) was due"
            )
        body = frame[pos:]
        if expected.response is ApiVersionsResponse and _is_refusal(body):
            return _read_refusal(body)
        return read_message(expected.response, expected.version, body)


def _is_refusal(body: memoryview) -> bool:
    error_code, _ = p.read_int16(body, 0)
    return error_code == ErrorCode.UNSUPPORTED_VERSION


def _read_refusal(body: memoryview) -> ApiVersionsResponse:
    """A broker that does not know the version of an ApiVersions request answers in v0 (KIP-511).

    What follows the error code is a hint, and counts as none where it cannot be read: librdkafka's
    mock cluster writes it in the layout of another version.
    """
    try:
        return read_message(ApiVersionsResponse, 0, body)
    except DecodeError:
        return ApiVersionsResponse(error_code=int(ErrorCode.UNSUPPORTED_VERSION))
