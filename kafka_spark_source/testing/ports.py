"""Free ports on loopback, from the kernel. Nothing else here opens a socket to listen."""

from __future__ import annotations

import socket
import sys
from contextlib import ExitStack

from kafka_spark_source.testing.errors import LocalBrokerError

HOST = "127.0.0.1"


class HeldPorts:
    """Ports that the kernel gave, kept from being given to anybody else until closed.

    On Linux a socket that is bound but does not listen lets a server with SO_REUSEADDR, as Java's
    are, take its port, while the kernel gives it to no one else. So a broker that is down keeps its
    port. Elsewhere the server could not bind beside it: there a port is only known to have been
    free a moment ago.
    """

    def __init__(self) -> None:
        self._sockets = ExitStack()

    def take(self, port: int = 0) -> int:
        """The port asked for, or one that is free now.

        Raises:
            LocalBrokerError: Somebody listens on that port, or it may not be used.
        """
        held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind((HOST, port))
        except OSError as error:
            held.close()
            raise LocalBrokerError(f"port {port} of {HOST} cannot be had: {error}") from error
        port = held.getsockname()[1]
        if sys.platform == "linux":
            self._sockets.callback(held.close)
        else:
            held.close()
        return port

    def close(self) -> None:
        """Gives the ports back."""
        self._sockets.close()
