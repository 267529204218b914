"""Requests and responses of a connection; response bytes are received in several pieces."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_protocol.errors import (
    DecodeError,
    EncodeError,
    ErrorCode,
    ProtocolError,
    UnsupportedVersionError,
)
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafka_protocol.versions.connection import Connection
from kafka_protocol.versions.negotiation import BrokerVersions
from kafka_protocol.wire import primitives as p
from kafka_protocol.wire.framing import response_header_version
from kafka_protocol.wire.repeated_request import RepeatedRequest
from kafka_protocol.wire.schema import Request, Response, VersionRange
from tests.protocol.strategies import encode, full

VERSIONS = BrokerVersions(
    {
        MetadataRequest.api_key: VersionRange(0, 9),
        FetchRequest.api_key: VersionRange(4, 11),
        SaslHandshakeRequest.api_key: VersionRange(0, 1),
    },
    "as a test says",
)


def connected(*requests: Request) -> Connection:
    """A connection that sent these requests."""
    connection = Connection("me")
    connection.versions = VERSIONS
    for request in requests:
        connection.send(request)
    return connection


def response_frame(correlation_id: int, response: Response, version: int) -> bytes:
    """The frame that a broker sends."""
    has_tagged_fields = response_header_version(type(response), version) == 1
    frame = correlation_id.to_bytes(4, "big") + b"\x00" * has_tagged_fields
    frame += encode(response, version)
    return len(frame).to_bytes(4, "big") + frame


# --- Sizes of the received pieces --------------------------------------------------------------

Receive = Callable[[Connection, bytes], list[Response]]


def drain(connection: Connection) -> list[Response]:
    responses = []
    while (response := connection.next_response()) is not None:
        responses.append(response)
    return responses


def whole(connection: Connection, data: bytes) -> list[Response]:
    connection.receive_data(data)
    return drain(connection)


def byte_by_byte(connection: Connection, data: bytes) -> list[Response]:
    responses = []
    for i in range(len(data)):
        responses += whole(connection, data[i : i + 1])
    return responses


def with_the_start_of_the_next(connection: Connection, data: bytes) -> list[Response]:
    responses = whole(connection, data + b"\x00\x00\x00")
    assert connection.missing_bytes == 1
    return responses


in_pieces = pytest.mark.parametrize("receive", [whole, byte_by_byte, with_the_start_of_the_next])


# --- Requests and responses --------------------------------------------------------------------

METADATA = MetadataResponse(
    brokers=[MetadataResponse.MetadataResponseBroker(node_id=1, host="b1", port=9092)],
    controller_id=1,
    cluster_id="c",
)
FETCHED = FetchResponse(throttle_time_ms=3, session_id=7)
HANDSHAKE = SaslHandshakeResponse(mechanisms=["PLAIN"])


def test_send_returns_the_frame() -> None:
    connection = connected()
    sent = b"".join(connection.send(SaslHandshakeRequest(mechanism="PLAIN")))
    assert sent == (
        b"\x00\x00\x00\x13"  # size
        b"\x00\x11\x00\x01"  # SaslHandshake v1: the highest common version
        b"\x00\x00\x00\x00"  # correlation id
        b"\x00\x02me"  # client id
        b"\x00\x05PLAIN"
    )


@in_pieces
def test_pipelined_responses_in_the_order_of_the_requests(receive: Receive) -> None:
    connection = connected(MetadataRequest())
    connection.send(FetchRequest(), needed=VersionRange(4, 7))
    connection.send(SaslHandshakeRequest(), version=0)
    assert connection.in_flight == 3
    data = (
        response_frame(0, METADATA, 9)
        + response_frame(1, FETCHED, 7)
        + response_frame(2, HANDSHAKE, 0)
    )
    assert receive(connection, data) == [METADATA, FETCHED, HANDSHAKE]
    assert connection.in_flight == 0


def test_requests_and_responses_may_alternate() -> None:
    connection = connected()
    for correlation_id in range(3):
        connection.send(MetadataRequest(), version=5)
        assert whole(connection, response_frame(correlation_id, METADATA, 5)) == [METADATA]


def test_no_response_without_bytes() -> None:
    connection = connected(MetadataRequest())
    assert connection.next_response() is None
    connection.receive_data(b"")
    assert connection.next_response() is None
    assert connection.received_responses == 0
    assert connection.missing_bytes == 4


def test_repr_shows_the_state() -> None:
    connection = connected()
    assert repr(connection) == "<Connection 0 sent, 0 answered, 0 in flight>"
    connection.send(MetadataRequest())
    connection.send(MetadataRequest())
    whole(connection, response_frame(0, METADATA, 9))
    assert repr(connection) == "<Connection 2 sent, 1 answered, 1 in flight>"
    assert connection.received_responses


def test_payload_of_a_response_is_a_view_of_its_frame() -> None:
    connection = connected()
    connection.send(FetchRequest(), version=4)
    (response,) = whole(connection, response_frame(0, full(FetchResponse, 4), 4))
    assert isinstance(response, FetchResponse)
    assert isinstance(response.responses[0].partitions[0].records, memoryview)


# --- Versions ----------------------------------------------------------------------------------


def test_no_request_before_versions_are_negotiated() -> None:
    connection = Connection("me")
    with pytest.raises(ProtocolError, match="negotiate versions before sending"):
        connection.send(MetadataRequest())
    assert connection.in_flight == 0


def test_fault_12_no_version_can_carry_the_request() -> None:
    connection = connected()
    with pytest.raises(UnsupportedVersionError, match="this needs 12-13, the broker offers 0-9"):
        connection.send(MetadataRequest(), needed=VersionRange(12, 99))
    assert connection.in_flight == 0


def test_request_that_does_not_fit_is_not_in_flight() -> None:
    connection = connected()
    with pytest.raises(EncodeError, match="topics is None"):
        connection.send(MetadataRequest(topics=None), version=0)
    assert repr(connection) == "<Connection 0 sent, 0 answered, 0 in flight>"


def test_api_versions_can_be_sent_before_negotiation() -> None:
    connection = Connection("me")
    connection.send(ApiVersionsRequest(), version=3)
    response = full(ApiVersionsResponse, 3)
    response.error_code = 0
    assert whole(connection, response_frame(0, response, 3)) == [response]


@pytest.mark.parametrize(
    "ranges",
    [[], [ApiVersionsResponse.ApiVersion(api_key=18, max_version=2)]],
    ids=["before 2.4", "with the hint of KIP-511"],
)
def test_fault_11_unsupported_version_has_the_layout_of_v0(
    ranges: list[ApiVersionsResponse.ApiVersion],
) -> None:
    connection = Connection("me")
    connection.send(ApiVersionsRequest(), version=4)
    refused = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=ranges)
    assert whole(connection, response_frame(0, refused, 0)) == [refused]


def test_fault_11_unsupported_version_with_an_unreadable_hint() -> None:
    """librdkafka's mock cluster writes the hint in a layout close to that of v3."""
    hint = b"\x01\x00\x12\x00\x00\x00\x02\x00\x00\x00\x00"
    frame = bytes(4) + b"\x00\x23" + hint
    connection = Connection("me")
    connection.send(ApiVersionsRequest(), version=4)
    assert whole(connection, len(frame).to_bytes(4, "big") + frame) == [
        ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    ]


def test_another_error_keeps_the_layout_of_the_request() -> None:
    connection = Connection("me")
    connection.send(ApiVersionsRequest(), version=4)
    response = ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST, throttle_time_ms=7)
    assert whole(connection, response_frame(0, response, 4)) == [response]


# --- Wrong responses ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requests", "received", "error"),
    [
        (1, [1], r"correlation id 1, expected 0 \(MetadataResponse\)"),
        (1, [2**31 - 1], r"correlation id 2147483647, expected 0 \(MetadataResponse\)"),
        (2, [1, 0], r"correlation id 1, expected 0 \(MetadataResponse\)"),
        (0, [0], r"a response of \d+ bytes without a request"),
        (1, [0, 0], r"a response of \d+ bytes without a request"),
    ],
    ids=["the next", "the last", "wrong order", "without a request", "repeated"],
)
def test_fault_08_wrong_correlation_ids(requests: int, received: list[int], error: str) -> None:
    connection = connected(*[MetadataRequest() for _ in range(requests)])
    connection.receive_data(b"".join(response_frame(each, METADATA, 9) for each in received))
    for _ in range(len(received) - requests):
        if requests:
            assert connection.next_response() == METADATA
    with pytest.raises(ProtocolError, match=error):
        connection.next_response()


def test_fault_09_response_larger_than_the_limit() -> None:
    connection = Connection("me", max_response_bytes=20)
    connection.send(SaslHandshakeRequest(), version=1)
    connection.receive_data(b"\x00\x00\x00\x15")
    with pytest.raises(ProtocolError, match="accepted are 4 to 20"):
        connection.next_response()


@pytest.mark.parametrize("version", [0, 3])
def test_fault_09_response_without_an_error_code(version: int) -> None:
    connection = Connection("me")
    connection.send(ApiVersionsRequest(), version=version)
    connection.receive_data(b"\x00\x00\x00\x05" + bytes(4) + b"\x00")
    with pytest.raises(DecodeError):
        connection.next_response()


full_responses = pytest.mark.parametrize(
    ("response", "version"),
    [
        (full(MetadataResponse, 9), 9),
        (full(FetchResponse, 4), 4),
        (full(SaslHandshakeResponse, 1), 1),
    ],
    ids=["Metadata", "Fetch", "SaslHandshake"],
)


def waiting_for(response: Response, version: int) -> Connection:
    """A connection that expects the response twice."""
    connection = connected()
    request = next(
        request
        for request in (MetadataRequest(), FetchRequest(), SaslHandshakeRequest())
        if request.response is type(response)
    )
    connection.send(request, version=version)
    connection.send(request, version=version)
    return connection


@full_responses
def test_fault_04_stream_that_ends_at_any_byte(response: Response, version: int) -> None:
    data = response_frame(0, response, version)
    for end in range(len(data)):
        connection = waiting_for(response, version)
        assert whole(connection, data[:end]) == []
        assert 1 <= connection.missing_bytes <= len(data) - end


def test_correlation_ids_wrap_to_zero() -> None:
    connection = connected()
    connection._next_correlation_id = p.MAX_INT32
    for correlation_id in (p.MAX_INT32, 0):
        connection.send(MetadataRequest())
        assert whole(connection, response_frame(correlation_id, METADATA, 9)) == [METADATA]


# --- Polls: the same request and response again ------------------------------------------------


def exchange(
    connection: Connection, request: RepeatedRequest[MetadataRequest], response: MetadataResponse
) -> tuple[bytes, object]:
    """The sent frame and the received response, in the highest common version."""
    sent = b"".join(connection.send(request))
    version = VERSIONS.choose(MetadataRequest)
    data = response_frame(connection.expected_correlation_id, response, version)
    return sent, whole(connection, data)[0]


@pytest.mark.parametrize("count", [0, 1_000])
def test_repeated_request_differs_in_its_correlation_id_only(count: int) -> None:
    topics = [MetadataRequest.MetadataRequestTopic(name="t" * 200) for _ in range(count)]
    connection, request = connected(), MetadataRequest(topics=topics)
    repeated = RepeatedRequest(request)
    frames = [exchange(connection, repeated, METADATA)[0] for _ in range(2)]
    frames.append(b"".join(connection.send(request)))
    assert [int.from_bytes(frame[8:12], "big") for frame in frames] == [0, 1, 2]
    assert len({frame[:8] + frame[12:] for frame in frames}) == 1


def test_repeated_request_is_encoded_in_the_given_version() -> None:
    connection, request = connected(), RepeatedRequest(MetadataRequest(topics=[]))
    frames = [b"".join(connection.send(request, version=version)) for version in (9, 1, 9)]
    assert [int.from_bytes(frame[6:8], "big") for frame in frames] == [9, 1, 9]
    assert len({len(frame) for frame in frames}) == 2


@pytest.mark.parametrize("size", [1, 30_000])
def test_repeated_response_is_decoded_once(size: int) -> None:
    request, response = RepeatedRequest(MetadataRequest()), MetadataResponse(cluster_id="a" * size)
    (_, first), (_, second) = (exchange(connected(), request, response) for _ in "ab")
    assert first is second
    assert repr(request) == "<RepeatedRequest Metadata>"
    _, other = exchange(connected(), request, MetadataResponse(cluster_id="b"))
    assert other == MetadataResponse(cluster_id="b")
    _, again = exchange(connected(), RepeatedRequest(MetadataRequest()), response)
    assert again is not first


def test_equal_bytes_of_another_version_are_decoded_again() -> None:
    connection, request = connected(), RepeatedRequest(SaslHandshakeRequest(mechanism="PLAIN"))
    mechanisms = SaslHandshakeResponse(error_code=0, mechanisms=[])
    connection.send(request, version=1)
    (first,) = whole(connection, response_frame(0, mechanisms, 1))
    connection.send(request, version=0)
    (second,) = whole(connection, response_frame(1, mechanisms, 0))
    assert first == second == mechanisms
    assert first is not second
