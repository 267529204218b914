"""A broker that is far away: bytes arrive after a delay, at a limited rate, within a window.

The link is a process of its own, so that its work does not slow down who measures. A connection is
opened at once, which a real one is not: that costs a round trip more.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

_PIECE_BYTES = 1 << 16
_END_SECONDS = 10
_SEGMENT_BYTES = 1_400


class Distance(NamedTuple):
    """How far away a broker is.

    Attributes:
        round_trip_ms: The time there and back.
        bytes_per_second: What the link carries, in each direction.
        window_bytes: How much of a connection may be under way until its arrival is known.
    """

    round_trip_ms: float
    bytes_per_second: float
    window_bytes: int

    @property
    def most_bytes_per_second(self) -> float:
        """What one connection can carry."""
        if not self.round_trip_ms:
            return self.bytes_per_second
        return min(self.bytes_per_second, self.window_bytes / (self.round_trip_ms / 1000))


@contextmanager
def far_link(
    listen: tuple[str, int], target: tuple[str, int], distance: Distance
) -> Iterator[None]:
    """Pass bytes on between an address and a broker, until the block ends."""
    listener = socket.create_server(listen)
    # As on a real way: segments of the loopback are larger than the first windows of some clients,
    # which then wait for each other's timers.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _SEGMENT_BYTES)
    process = multiprocessing.get_context("fork").Process(
        target=_run, args=(listener, target, distance), daemon=True
    )
    process.start()
    listener.close()
    try:
        yield
    finally:
        process.terminate()
        process.join(_END_SECONDS)


def _run(listener: socket.socket, target: tuple[str, int], distance: Distance) -> None:
    asyncio.run(_serve(listener, target, distance))


async def _serve(listener: socket.socket, target: tuple[str, int], distance: Distance) -> None:
    there, back = _Way(distance), _Way(distance)

    async def serve(requests: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        responses, broker = await asyncio.open_connection(*target)
        await asyncio.gather(
            _pass_on(requests, broker, there, distance), _pass_on(responses, client, back, distance)
        )

    server = await asyncio.start_server(serve, sock=listener)
    await server.serve_forever()


class _Way:
    """One direction of the link, which all connections share."""

    def __init__(self, distance: Distance) -> None:
        self._distance = distance
        self._free_at = 0.0

    def arrival(self, count: int) -> float:
        """When so many bytes arrive that are sent now."""
        now = asyncio.get_running_loop().time()
        self._free_at = max(self._free_at, now) + count / self._distance.bytes_per_second
        return self._free_at + self._distance.round_trip_ms / 2000


class _Window:
    """The bytes of a connection that are under way; a sender waits while they are too many."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._has_room = asyncio.Event()
        self._has_room.set()

    async def wait(self) -> None:
        await self._has_room.wait()

    def change(self, count: int) -> None:
        self._bytes += count
        if self._bytes < self._most_bytes:
            self._has_room.set()
        else:
            self._has_room.clear()


async def _pass_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: _Way, distance: Distance
) -> None:
    """Pass on one direction of a connection; an empty piece is its end."""
    loop = asyncio.get_running_loop()
    under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
    window = _Window(distance.window_bytes)

    async def deliver() -> None:
        piece = b"first"
        while piece:
            arrival, piece = await under_way.get()
            await asyncio.sleep(arrival - loop.time())
            writer.write(piece)
            await writer.drain()
            loop.call_later(distance.round_trip_ms / 2000, window.change, -len(piece))

    delivery = asyncio.create_task(deliver())
    with contextlib.suppress(OSError):
        piece = b"first"
        while piece:
            await window.wait()
            piece = await reader.read(_PIECE_BYTES)
            window.change(len(piece))
            under_way.put_nowait((way.arrival(len(piece)), piece))
    with contextlib.suppress(OSError):
        await delivery
    writer.close()
