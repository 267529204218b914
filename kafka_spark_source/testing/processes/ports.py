"""Free ports on loopback, from the kernel. No other module of this package binds a socket."""

from __future__ import annotations

import socket
import sys
from contextlib import ExitStack

from kafka_spark_source.testing.errors import LocalBrokerError

HOST = "127.0.0.1"


class HeldPorts:
    """Ports that are reserved until closed.

    On Linux, a bound socket that does not listen reserves its port, but a server with SO_REUSEADDR
    (Java's default) can still bind to it. So a stopped broker keeps its port. On other systems the
    server could not bind, so the port was only free at the time of `take`.
    """

    def __init__(self) -> None:
        self._sockets = ExitStack()

    def take(self, port: int = 0) -> int:
        """Reserves this port, or a free one.

        Raises:
            LocalBrokerError: A process listens on that port, or it is not permitted.
        """
        held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind((HOST, port))
        except OSError as error:
            held.close()
            raise LocalBrokerError(f"port {port} of {HOST} cannot be used: {error}") from error
        port = held.getsockname()[1]
        if sys.platform == "linux":
            self._sockets.callback(held.close)
        else:
            held.close()
        return port

    def close(self) -> None:
        """Releases the ports."""
        self._sockets.close()
