"""Header bytes, and a stream of bytes split into frames."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import DecodeError, EncodeError, ProtocolError, UnsupportedVersionError
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafka_protocol.wire.framing import (
    FrameBuffer,
    encode_request,
    read_response_header,
    request_header_version,
    response_header_version,
)
from kafka_protocol.wire.schema import Message, Request, Response


class ControlledShutdownResponse(Response, api_key=7, versions="0-1"):
    pass


class ControlledShutdownRequest(
    Request, api_key=7, versions="0-1", response=ControlledShutdownResponse
):
    """The only request with header v0."""


# --- Headers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "version", "header_version"),
    [
        (ControlledShutdownRequest, 0, 0),
        (ControlledShutdownRequest, 1, 1),
        (MetadataRequest, 0, 1),
        (MetadataRequest, 8, 1),
        (MetadataRequest, 9, 2),
        (ApiVersionsRequest, 2, 1),
        (ApiVersionsRequest, 3, 2),
        (SaslHandshakeRequest, 1, 1),
    ],
)
def test_request_header_version(message: type[Message], version: int, header_version: int) -> None:
    assert request_header_version(message, version) == header_version


@pytest.mark.parametrize(
    ("message", "version", "header_version"),
    [
        (MetadataResponse, 8, 0),
        (MetadataResponse, 9, 1),
        (SaslHandshakeResponse, 1, 0),
        (ApiVersionsResponse, 2, 0),
        # Always 0 (KIP-511).
        (ApiVersionsResponse, 3, 0),
        (ApiVersionsResponse, 4, 0),
    ],
)
def test_response_header_version(message: type[Message], version: int, header_version: int) -> None:
    assert response_header_version(message, version) == header_version


REQUESTS: list[tuple[str, Request, int, bytes]] = [
    (
        "header v0",
        ControlledShutdownRequest(),
        0,
        b"\x00\x00\x00\x08"  # size
        b"\x00\x07\x00\x00"  # api_key, api_version
        b"\x01\x02\x03\x04",  # correlation_id; no client_id
    ),
    (
        "header v1",
        MetadataRequest(topics=None),
        1,
        b"\x00\x00\x00\x10"  # size
        b"\x00\x03\x00\x01"  # api_key, api_version
        b"\x01\x02\x03\x04"  # correlation_id
        b"\x00\x02me"  # client_id
        b"\xff\xff\xff\xff",  # the body: all topics
    ),
    (
        "header v2",
        ApiVersionsRequest(client_software_name="a", client_software_version="b"),
        3,
        b"\x00\x00\x00\x12"  # size
        b"\x00\x12\x00\x03"  # api_key, api_version
        b"\x01\x02\x03\x04"  # correlation_id
        b"\x00\x02me"  # client_id: not compact, though the version is flexible
        b"\x00"  # no tagged fields
        b"\x02a\x02b\x00",  # the body
    ),
]


@pytest.mark.parametrize(
    ("request_", "version", "frame"),
    [case for _, *case in REQUESTS],
    ids=[title for title, *_ in REQUESTS],
)
def test_request_frame(request_: Request, version: int, frame: bytes) -> None:
    assert b"".join(encode_request(request_, version, 0x01020304, "me")) == frame


def test_payload_is_not_copied_into_the_frame() -> None:
    payload = b"a batch"
    partition = ProduceRequest.TopicProduceData.PartitionProduceData(records=payload)
    topic = ProduceRequest.TopicProduceData(name="t", partition_data=[partition])
    frame = encode_request(ProduceRequest(topic_data=[topic]), 3, 0, "me")
    assert any(piece is payload for piece in frame)


class Huge(bytes):
    """Empty, with a length of 1 GiB."""

    __slots__ = ()

    def __len__(self) -> int:
        return 2**30


def test_frame_of_more_than_2_gib_is_refused() -> None:
    partition = ProduceRequest.TopicProduceData.PartitionProduceData(records=Huge())
    topic = ProduceRequest.TopicProduceData(name="t", partition_data=[partition, partition])
    with pytest.raises(EncodeError, match=r"Produce request of 21474\d+ bytes does not fit"):
        encode_request(ProduceRequest(topic_data=[topic]), 3, 0, "me")


def test_unknown_request_version() -> None:
    with pytest.raises(UnsupportedVersionError):
        encode_request(MetadataRequest(), 99, 0, "me")


@pytest.mark.parametrize(
    ("header", "header_version"),
    [
        (b"\x00\x00\x00\x07", 0),
        (b"\x00\x00\x00\x07\x00", 1),
        (b"\x00\x00\x00\x07\x02\x00\x03abc\x63\x00", 1),
    ],
    ids=["v0", "v1", "v1 with unknown tagged fields"],
)
def test_fault_14_response_header(header: bytes, header_version: int) -> None:
    assert read_response_header(memoryview(header + b"body"), header_version) == (7, len(header))


@pytest.mark.parametrize(
    "header",
    [b"\x00\x00\x00", b"\x00\x00\x00\x07", b"\x00\x00\x00\x07\x01", b"\x00\x00\x00\x07\x01\x00"],
)
def test_fault_09_response_shorter_than_its_header(header: bytes) -> None:
    with pytest.raises(DecodeError):
        read_response_header(memoryview(header), 1)


@pytest.mark.parametrize(
    "tagged", [b"\x01\x00\x02a", b"\x01\x00\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x0f\x00\x00"]
)
def test_fault_15_truncated_tagged_fields_of_a_header(tagged: bytes) -> None:
    with pytest.raises(DecodeError):
        read_response_header(memoryview(b"\x00\x00\x00\x07" + tagged), 1)


# --- Frames ------------------------------------------------------------------------------------

MAX_FRAME_BYTES = 1000
FOUR = b"\x00\x00\x00\x04four"
FIVE = b"\x00\x00\x00\x05fives"
LARGEST = b"\x00\x00\x03\xe8" + b"x" * 1000

streams = pytest.mark.parametrize(
    ("stream", "frames"),
    [
        pytest.param(b"", [], id="empty"),
        pytest.param(b"\x00\x00\x00", [], id="part of a size"),
        pytest.param(FOUR, [b"four"], id="one frame"),
        pytest.param(LARGEST, [b"x" * 1000], id="the largest frame"),
        pytest.param(
            FOUR + FIVE + LARGEST + FOUR,
            [b"four", b"fives", b"x" * 1000, b"four"],
            id="several frames",
        ),
        pytest.param(FOUR + FIVE[:-1], [b"four"], id="an incomplete frame at the end"),
        pytest.param(FOUR + FIVE[:2], [b"four"], id="an incomplete size at the end"),
    ],
)


def frames_of(pieces: list[bytes]) -> list[bytes]:
    """All frames of a stream that is received in these pieces."""
    buffer = FrameBuffer(MAX_FRAME_BYTES)
    frames = []
    for piece in pieces:
        buffer.receive_data(piece)
        while (frame := buffer.next_frame()) is not None:
            frames.append(bytes(frame))
    return frames


@streams
def test_frames_one_byte_at_a_time(stream: bytes, frames: list[bytes]) -> None:
    assert frames_of([stream[i : i + 1] for i in range(len(stream))]) == frames


@pytest.mark.no_cover
@streams
@given(data=st.data())
def test_frames_in_any_pieces(stream: bytes, frames: list[bytes], data: st.DataObject) -> None:
    bounds = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    pieces = [
        stream[start:end] for start, end in zip([0, *bounds], [*bounds, len(stream)], strict=True)
    ]
    assert frames_of(pieces) == frames


def received_directly(buffer: FrameBuffer, stream: bytes, size: int) -> list[bytes]:
    """All frames of a stream that is read `size` bytes at a time, as a transport does."""
    frames = []
    pos = 0
    while True:
        while (frame := buffer.next_frame()) is not None:
            frames.append(bytes(frame))
        if pos == len(stream):
            return frames
        receive_buffer = buffer.receive_buffer
        piece = stream[pos : pos + size]
        if receive_buffer is None:
            buffer.receive_data(piece)
        else:
            piece = piece[: len(receive_buffer)]
            receive_buffer[: len(piece)] = piece
            buffer.bytes_received(len(piece))
        pos += len(piece)


LARGE = 70_000  # in memory of its own
VERY_LARGE = 36_000_000  # allocated in two steps


@given(
    st.lists(st.sampled_from([10, LARGE, LARGE + 1, 90_000]), max_size=6), st.integers(700, 100_000)
)
def test_frames_are_the_same_in_memory_of_their_own(lengths: list[int], size: int) -> None:
    contents = [bytes([number]) * length for number, length in enumerate(lengths)]
    stream = b"".join(len(each).to_bytes(4, "big") + each for each in contents)
    assert received_directly(FrameBuffer(1_000_000), stream, size) == contents


@pytest.mark.no_cover
@pytest.mark.many_inputs
@pytest.mark.parametrize("size", [300_000, 16 * 1024 * 1024, 40_000_000])
def test_very_large_frames_are_received_in_pieces(size: int) -> None:
    contents = [bytes(range(250)) * (VERY_LARGE // 250), b"next"]
    stream = b"".join(len(each).to_bytes(4, "big") + each for each in contents)
    assert received_directly(FrameBuffer(2 * VERY_LARGE), stream, size) == contents


def test_each_frame_keeps_its_bytes() -> None:
    buffer = FrameBuffer(1_000_000)
    frames = []
    for number in range(5):
        buffer.receive_data((LARGE).to_bytes(4, "big"))
        assert buffer.next_frame() is None
        content = bytes([number]) * LARGE
        assert buffer.receive_buffer is not None
        buffer.receive_buffer[:] = content
        buffer.bytes_received(len(content))
        frame = buffer.next_frame()
        assert frame is not None
        frames.append(frame)
        assert [bytes(each) for each in frames] == [bytes([n]) * LARGE for n in range(number + 1)]


@pytest.mark.parametrize("directly", [1, 1_000])
def test_a_frame_may_be_received_in_both_ways(directly: int) -> None:
    buffer = FrameBuffer(1_000_000)
    content = bytes(range(250)) * (LARGE // 250)
    buffer.receive_data(LARGE.to_bytes(4, "big") + content[:7])
    assert buffer.next_frame() is None
    assert buffer.receive_buffer is not None
    buffer.receive_buffer[:directly] = content[7 : 7 + directly]
    buffer.bytes_received(directly)
    assert buffer.missing_bytes == LARGE - 7 - directly
    buffer.receive_data(content[7 + directly :] + FOUR)
    frame = buffer.next_frame()
    following = buffer.next_frame()
    assert frame is not None
    assert following is not None
    assert [bytes(frame), bytes(following)] == [content, b"four"]


def test_the_rest_of_a_large_frame_comes_at_once() -> None:
    """The frame's first memory is too small for it, and all of its bytes are there."""
    content = bytes(range(250)) * (VERY_LARGE // 250)
    buffer = FrameBuffer(len(content))
    buffer.receive_data(len(content).to_bytes(4, "big"))
    assert buffer.next_frame() is None
    buffer.receive_data(content + FOUR)
    frames = [buffer.next_frame(), buffer.next_frame()]
    assert [bytes(frame) for frame in frames if frame is not None] == [content, b"four"]


def test_a_stated_size_allocates_little_memory() -> None:
    """The broker says 100 MB and sends 2: most of the rest is not allocated."""
    received = missing = 2 * 1024 * 1024
    tracemalloc.start()
    try:
        buffer = FrameBuffer(100_000_000)
        buffer.receive_data((100_000_000).to_bytes(4, "big"))
        assert buffer.next_frame() is None
        while missing:
            assert buffer.receive_buffer is not None
            count = min(missing, 1024 * 1024, len(buffer.receive_buffer))
            buffer.bytes_received(count)
            missing -= count
            assert buffer.next_frame() is None
        allocated, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert allocated < 10 * received


def test_connections_keep_no_memory() -> None:
    tracemalloc.start()
    try:
        connections = [FrameBuffer(2 * LARGE) for _ in range(50)]
        for connection in connections * 3:
            connection.receive_data(LARGE.to_bytes(4, "big"))
            assert connection.next_frame() is None
            connection.receive_data(bytes(LARGE))
            assert connection.next_frame() is not None
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < LARGE


def test_receive_data_parses_nothing() -> None:
    buffer = FrameBuffer(MAX_FRAME_BYTES)
    buffer.receive_data(b"HTTP")
    assert repr(buffer) == "<FrameBuffer 4 of None bytes>"
    with pytest.raises(ProtocolError):
        buffer.next_frame()


def test_frame_stays_valid_while_more_is_received() -> None:
    buffer = FrameBuffer(MAX_FRAME_BYTES)
    buffer.receive_data(FOUR + FIVE)
    frames = [buffer.next_frame()]
    buffer.receive_data(FOUR)
    frames += [buffer.next_frame(), buffer.next_frame()]
    assert [bytes(frame) for frame in frames if frame] == [b"four", b"fives", b"four"]


@pytest.mark.parametrize(
    ("data", "missing", "shown"),
    [
        (b"", 4, "<FrameBuffer 0 of None bytes>"),
        (FOUR[:1], 3, "<FrameBuffer 1 of None bytes>"),
        (FOUR[:4], 4, "<FrameBuffer 4 of 4 bytes>"),
        (FOUR[:7], 1, "<FrameBuffer 7 of 4 bytes>"),
        (FOUR, 4, "<FrameBuffer 0 of None bytes>"),
        (FOUR + FIVE[:1], 3, "<FrameBuffer 1 of None bytes>"),
    ],
)
def test_missing_bytes(data: bytes, missing: int, shown: str) -> None:
    buffer = FrameBuffer(MAX_FRAME_BYTES)
    buffer.receive_data(data)
    buffer.next_frame()
    assert buffer.missing_bytes == missing
    assert repr(buffer) == shown


def test_at_least_one_byte_is_missing_while_a_whole_frame_waits() -> None:
    buffer = FrameBuffer(MAX_FRAME_BYTES)
    buffer.receive_data(FOUR)
    assert buffer.missing_bytes == 1


@pytest.mark.parametrize("size", [-(2**31), -1, 0, 1, 2, 3, MAX_FRAME_BYTES + 1, 2**31 - 1])
def test_fault_09_impossible_size_is_rejected_at_once(size: int) -> None:
    buffer = FrameBuffer(MAX_FRAME_BYTES)
    buffer.receive_data(size.to_bytes(4, "big", signed=True))
    with pytest.raises(ProtocolError, match=f"received a frame of {size} bytes, accepted are 4 to"):
        buffer.next_frame()


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", "an HTTP server answered; is the port right"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "an SSH server answered"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "the port speaks TLS; set kafka.security.protocol"),
        (b"\x16\x03\x01\x02\x00\x01", "the port speaks TLS"),
        (b"220 smtp.example.org", "is this a Kafka broker"),
    ],
    ids=["HTTP", "SSH", "TLS alert", "TLS handshake", "SMTP"],
)
def test_fault_03_error_names_another_protocol(data: bytes, hint: str) -> None:
    buffer = FrameBuffer(100 * 2**20)
    buffer.receive_data(data)
    with pytest.raises(ProtocolError, match=hint):
        buffer.next_frame()


@given(pieces=st.lists(st.binary(max_size=12), max_size=6))
def test_fault_09_arbitrary_bytes_give_frames_or_a_protocol_error(pieces: list[bytes]) -> None:
    try:
        frames = frames_of(pieces)
    except ProtocolError:
        return
    assert all(len(frame) >= 4 for frame in frames)
