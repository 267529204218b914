"""A TCP proxy in front of one broker, to disturb its connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from typing_extensions import Self

_BLOCK_BYTES = 1 << 16
_SOON_SECONDS = 10
# Close with RST instead of FIN.
_RESET = struct.pack("ii", 1, 0)


class _Link:
    """One connection of a client, and the proxy's connection to the broker."""

    def __init__(self, client: asyncio.StreamWriter, broker: asyncio.StreamWriter) -> None:
        self.client = client
        self.broker = broker
        self.is_silent = False

    def reset(self) -> None:
        for writer in (self.client, self.broker):
            _reset(writer)


class Proxy:
    """Passes bytes on in both directions while the `with` block lasts.

    Args:
        host: The address to listen at.
        port: Its port; 0 for a free one.
        target: The broker's host and port.
    """

    def __init__(self, host: str, port: int, target: tuple[str, int]) -> None:
        self._listener = socket.create_server((host, port))
        self._target = target
        self._links: set[_Link] = set()
        self._delay_seconds = 0.0
        self._refuses = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"proxy {host}")

    @property
    def port(self) -> int:
        """The port at which it listens."""
        port: int = self._listener.getsockname()[1]
        return port

    def __enter__(self) -> Self:
        self._thread.start()
        self._run(asyncio.start_server(self._serve, sock=self._listener))
        return self

    def __exit__(self, *_error: object) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SOON_SECONDS)
        self._loop.close()

    def cut(self) -> None:
        """Reset all connections. New ones work."""
        self._change(self._cut)

    def silence(self) -> None:
        """Make all connections half-open: nothing comes any more, and nobody closes them.

        New ones work.
        """
        self._change(self._silence)

    def delay(self, seconds: float) -> None:
        """From now on hold back each piece of data, in both directions."""
        self._delay_seconds = seconds

    def refuse(self) -> None:
        """Reset all connections, and new ones too, until `accept`."""
        self._refuses = True
        self.cut()

    def accept(self) -> None:
        """Accept new connections again."""
        self._refuses = False

    def _change(self, change: Callable[[], None]) -> None:
        async def call() -> None:
            change()

        self._run(call())

    def _run(self, call: Coroutine[Any, Any, Any]) -> None:
        asyncio.run_coroutine_threadsafe(call, self._loop).result(_SOON_SECONDS)

    def _cut(self) -> None:
        for link in list(self._links):
            link.reset()

    def _silence(self) -> None:
        for link in list(self._links):
            link.is_silent = True
            _reset(link.broker)

    async def _serve(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        if self._refuses:
            _reset(client)
            return
        try:
            responses, broker = await asyncio.open_connection(*self._target)
        except OSError:
            _reset(client)
            return
        link = _Link(client, broker)
        self._links.add(link)
        # Python before 3.12 prints a traceback for a handler that `_close` has cancelled.
        with contextlib.suppress(asyncio.CancelledError):
            try:
                await asyncio.gather(
                    self._pass_on(link, reader, broker), self._pass_on(link, responses, client)
                )
            finally:
                link.reset()
                self._links.discard(link)

    async def _pass_on(
        self, link: _Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_BLOCK_BYTES):
                if self._delay_seconds:
                    await asyncio.sleep(self._delay_seconds)
                if not link.is_silent:
                    writer.write(data)
                    await writer.drain()
        # The end of a silent link's broker side is not told to the client.
        if not link.is_silent or writer is link.broker:
            link.reset()

    async def _close(self) -> None:
        self._cut()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        self._listener.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    with contextlib.suppress(OSError, AttributeError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
