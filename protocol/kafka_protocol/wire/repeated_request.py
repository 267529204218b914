"""A request that polls one broker: encoded once, and an equal response is decoded once.

No I/O: `connection` sends it as any other request.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from kafka_protocol.wire.codec import read_message
from kafka_protocol.wire.framing import encode_request, with_correlation_id
from kafka_protocol.wire.primitives import Out
from kafka_protocol.wire.schema import Request, Response

Q = TypeVar("Q", bound=Request)


class RepeatedRequest(Generic[Q]):
    """A request that is sent again and again, to one broker, for polling.

    It is encoded once, and a response with the same bytes as the last one is not decoded again: the
    same object is returned. So modify neither a sent request nor a response.
    """

    def __init__(self, request: Q) -> None:
        self.request = request
        self._frame = _EncodedRequest(-1, b"")
        self._last = _DecodedResponse(-1, b"", Response())

    def __repr__(self) -> str:
        return f"<RepeatedRequest {self.api_name}>"

    @property
    def api_name(self) -> str:
        """The name of the API."""
        return self.request.api_name

    def encode(self, version: int, correlation_id: int, client_id: str) -> Out:
        """The frame, as pieces."""
        if self._frame.version != version:
            pieces = encode_request(self.request, version, correlation_id, client_id)
            self._frame = _EncodedRequest(version, b"".join(pieces))
        return with_correlation_id(self._frame.data, correlation_id)

    def decode(self, version: int, body: memoryview) -> Response:
        """The response with this body, from a copy of it."""
        data = bytes(body)
        if (version, data) != self._last[:2]:  # point: repeated-requests
            response = read_message(self.request.response, version, memoryview(data))
            self._last = _DecodedResponse(version, data, response)
        return self._last.response


class _EncodedRequest(NamedTuple):
    """The frame of a request."""

    version: int
    data: bytes


class _DecodedResponse(NamedTuple):
    """A response and the bytes that it was decoded from."""

    version: int
    body: bytes
    response: Response
