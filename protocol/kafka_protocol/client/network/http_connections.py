"""HTTP requests over connections that stay open: one for each server and thread of a process.

Only for requests that may be sent twice: a server may close a connection while a request is on its
way, which is then sent on a new one.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kafka_protocol.client.network.http_request import (
    HttpRequest,
    HttpResponse,
    address_of,
    connect_to,
    exchange,
)
from kafka_protocol.errors import BrokerConnectionError, ProtocolError

if TYPE_CHECKING:
    from kafka_protocol.client.clock import Deadline
    from kafka_protocol.client.config.addresses import Address
    from kafka_protocol.client.config.security_options import SecurityOptions
    from kafka_protocol.client.network.transport import Stream


class HttpConnections:
    """The idle connections with one configuration of TLS.

    Threads may share it: a connection in use is not in it.
    """

    def __init__(self) -> None:
        self._idle: dict[Address, Stream] = {}
        self._process = os.getpid()

    def __del__(self) -> None:
        """Close what is idle, but in a child of the process."""
        if self._process == os.getpid():
            self.close()

    def send(
        self,
        request: HttpRequest,
        security: SecurityOptions,
        deadline: Deadline,
        max_body_bytes: int,
    ) -> HttpResponse:
        """Send a request that may be sent twice, and read the whole response.

        Arguments and errors are as for `http_request.send`.
        """
        idle = self._taken(address_of(request.url))
        if idle is not None:
            try:
                return self._exchange(idle, request, deadline, max_body_bytes)
            except (BrokerConnectionError, ProtocolError):
                # The server may have closed it meanwhile. Another fault comes again.
                pass
        transport = connect_to(request.url, security, deadline)
        return self._exchange(transport, request, deadline, max_body_bytes)

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.popitem()[1].close()

    def _taken(self, address: Address) -> Stream | None:
        """An idle connection to a server that has sent nothing since, and has not closed it."""
        if self._process != os.getpid():
            # The connections belong to the parent: to close one here would end it there.
            self._idle, self._process = {}, os.getpid()
        transport = self._idle.pop(address, None)
        if transport is not None and transport.has_buffered_data:
            transport.close()
            return None
        return transport

    def _exchange(
        self, transport: Stream, request: HttpRequest, deadline: Deadline, max_body_bytes: int
    ) -> HttpResponse:
        is_open = False
        try:
            response, is_open = exchange(
                transport, request, deadline, max_body_bytes, connection="keep-alive"
            )
        finally:
            if not is_open:
                transport.close()
        before = self._idle.pop(address_of(request.url), None) if is_open else None
        if is_open:
            self._idle[address_of(request.url)] = transport
        if before is not None:
            before.close()
        return response
