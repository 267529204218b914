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
    renumber,
    response_header_version,
)
from kafka_protocol.messages.api_versions import ApiVersionsResponse
from kafka_protocol.negotiation import BrokerVersions
from kafka_protocol.primitives import Out
from kafka_protocol.schema import Request, Response, VersionRange

# The broker's own limit for requests (socket.request.max.bytes), librdkafka's for responses.
DEFAULT_MAX_RESPONSE_BYTES: Final = 100 * 1024 * 1024

# Whoever polls gets the same answer again and again; larger ones are read once.
_LARGEST_KEPT_BYTES: Final = 64 * 1024


class _InFlight(NamedTuple):
    """A request that waits for its answer."""

    correlation_id: int
    response: type[Response]
    version: int


class _Asked(NamedTuple):
    """A request, with its frame."""

    request: Request
    version: int
    frame: bytes


class _Answer(NamedTuple):
    """An answer, with the bytes that it came in."""

    kind: type[Response]
    version: int
    body: bytes
    response: Response


class Connection:
    """One side of one connection.

    Requests that were sent and answers are values, not to be changed: the same request may give
    the same bytes again, and the same bytes the same answer.

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
        self._asked = _Asked(Request(), -1, b"")  # the last small request
        self._before = _Answer(Response, -1, b"", Response())  # the last small answer

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
    def has_come(self) -> bool:
        """Whether bytes have been received that no answer was made of yet."""
        return self._frames.has_come

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
        frame = self._encode(request, version, correlation_id)
        self._next_correlation_id = (correlation_id + 1) & p.MAX_INT32
        self._in_flight.append(_InFlight(correlation_id, request.response, version))
        return frame

    def _encode(self, request: Request, version: int, correlation_id: int) -> Out:
        """Encode a request, but for one that is sent again, as by a poll."""
        before, its_version, frame = self._asked
        if before is request and its_version == version:
            return renumber(frame, correlation_id)
        pieces = encode_request(request, version, correlation_id, self._client_id)
        if sum(map(len, pieces)) > _LARGEST_KEPT_BYTES:
            return pieces
        self._asked = _Asked(request, version, b"".join(pieces))
        return [self._asked.frame]

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
        return self._decode(expected, body)

    def _decode(self, expected: _InFlight, body: memoryview) -> Response:
        """Decode an answer, but for one that is the same as the one before, as of a poll."""
        kind, version, before, response = self._before
        if kind is expected.response and version == expected.version and body == before:
            return response
        response = read_message(expected.response, expected.version, body)
        if len(body) <= _LARGEST_KEPT_BYTES:
            self._before = _Answer(expected.response, expected.version, bytes(body), response)
        return response


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
