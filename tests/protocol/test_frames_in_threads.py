"""Frames that several threads receive at the same time do not share memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafka_protocol.wire.framing import FrameBuffer

FRAMES = 1_000
FRAME_BYTES = 100_000


@pytest.fixture(autouse=True)
def _threads_switch_all_the_time() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def received(frames: FrameBuffer, byte: int) -> memoryview:
    """A frame of one byte value, received in two pieces, the second where the buffer wants it."""
    frames.receive_data(FRAME_BYTES.to_bytes(4, "big"))
    assert frames.next_frame() is None
    rest = bytes([byte]) * FRAME_BYTES
    buffer = frames.receive_buffer
    if buffer is None:
        frames.receive_data(rest)
    else:
        buffer[:] = rest
        frames.bytes_received(len(rest))
    frame = frames.next_frame()
    assert frame is not None
    return frame


def foreign_bytes(byte: int) -> int:
    """How many frames have another thread's bytes, while each frame lives until the next one."""
    frames = FrameBuffer(2 * FRAME_BYTES)
    wanted = bytes([byte]) * FRAME_BYTES
    before: memoryview = memoryview(wanted)
    wrong = 0
    for _ in range(FRAMES):
        frame = received(frames, byte)
        wrong += bytes(frame) != wanted or bytes(before) != wanted
        before = frame
    return wrong


def test_frames_of_threads_have_their_own_bytes() -> None:
    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(foreign_bytes, range(1, 5))] == [0] * 4
