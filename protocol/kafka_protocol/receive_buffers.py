"""The buffers of large frames, reused by all connections of the process.

A new buffer costs as much as reading into it, because the kernel has to map its pages. A connection
keeps none: a process reads few frames at a time, however many brokers it knows. Knows no frames.
"""

from __future__ import annotations

from collections import deque
from typing import Final

# Buffers of these sizes are reused; smaller ones cost nothing, and larger ones are rare.
MIN_REUSED_BYTES: Final = 64 * 1024
MAX_REUSED_BYTES: Final = 16 * 1024 * 1024

# One holds the frame that is decoded, the other receives the next one.
_COUNT: Final = 2


class ReceiveBuffers:
    """The last two buffers. Safe for threads: a buffer is removed while a frame is received."""

    def __init__(self) -> None:
        self._buffers: deque[bytearray] = deque(maxlen=_COUNT)

    def __repr__(self) -> str:
        return f"<ReceiveBuffers of {', '.join(f'{len(each):,}' for each in self._buffers)} bytes>"

    def take(self, size: int) -> bytearray | None:
        """Remove and return a buffer of at least `size` bytes that no memoryview uses, if any.

        Arrow arrays may be views of a frame for as long as they live.
        """
        for _ in range(_COUNT):
            try:
                buffer = self._buffers.popleft()
            except IndexError:
                return None
            if len(buffer) >= size and _is_free(buffer):
                return buffer
            self._buffers.append(buffer)
        return None

    def keep(self, buffer: bytearray) -> None:
        """Keep a buffer for later frames, in place of the oldest; it may still be in use."""
        if MIN_REUSED_BYTES <= len(buffer) <= MAX_REUSED_BYTES:
            self._buffers.append(buffer)


OF_THIS_PROCESS: Final = ReceiveBuffers()
"""The buffers that connections use."""


def _is_free(buffer: bytearray) -> bool:
    """Whether no memoryview uses a buffer: Python refuses to resize it while one does."""
    try:
        buffer.append(0)
    except BufferError:
        return False
    buffer.pop()
    return True
