"""The buffers of large frames: reused when nothing refers to them, and few of them."""

from __future__ import annotations

import tracemalloc

import pytest

from kafka_protocol.framing import FrameBuffer
from kafka_protocol.receive_buffers import MAX_REUSED_BYTES, MIN_REUSED_BYTES, ReceiveBuffers

FRAME_BYTES = 200_000
CONNECTIONS = 50


def receive(connection: FrameBuffer) -> memoryview:
    """A frame in two pieces, as it arrives from a socket."""
    connection.receive_data(FRAME_BYTES.to_bytes(4, "big"))
    assert connection.next_frame() is None
    connection.receive_data(bytes(FRAME_BYTES))
    frame = connection.next_frame()
    assert frame is not None
    return frame


def test_connections_keep_no_buffers_of_their_own() -> None:
    tracemalloc.start()
    try:
        connections = [FrameBuffer(2 * FRAME_BYTES) for _ in range(CONNECTIONS)]
        for connection in connections * 3:
            receive(connection)
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < 3 * FRAME_BYTES


@pytest.mark.parametrize("size", [MIN_REUSED_BYTES, MAX_REUSED_BYTES])
def test_a_kept_buffer_is_taken_once(size: int) -> None:
    buffers, buffer = ReceiveBuffers(), bytearray(size)
    buffers.keep(buffer)
    assert repr(buffers) == f"<ReceiveBuffers of {size:,} bytes>"
    assert buffers.take(size + 1) is None
    assert buffers.take(size) is buffer
    assert buffers.take(size) is None


@pytest.mark.parametrize("size", [MIN_REUSED_BYTES - 1, MAX_REUSED_BYTES + 1])
def test_small_and_very_large_buffers_are_not_kept(size: int) -> None:
    buffers = ReceiveBuffers()
    buffers.keep(bytearray(size))
    assert buffers.take(1) is None


def test_a_buffer_in_use_is_not_taken() -> None:
    buffers, (first, second) = ReceiveBuffers(), [bytearray(MIN_REUSED_BYTES) for _ in range(2)]
    buffers.keep(first)
    buffers.keep(second)
    view = memoryview(first)[1:2]
    assert buffers.take(1) is second
    assert buffers.take(1) is None
    view.release()
    assert buffers.take(1) is first


def test_the_oldest_buffer_is_dropped() -> None:
    buffers, all_three = ReceiveBuffers(), [bytearray(MIN_REUSED_BYTES) for _ in range(3)]
    for each in all_three:
        buffers.keep(each)
    assert [buffers.take(1) for _ in range(3)] == [*all_three[1:], None]
    assert buffers.take(1) is None
