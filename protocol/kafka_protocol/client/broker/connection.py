"""Joins a transport and a protocol `Connection`.

No retries, no context for errors and no choice of versions enter here: `api_versions` and `broker`
add them.
"""

from __future__ import annotations

import math
from typing import Any

from kafka_protocol.client.clock import Deadline, monotonic_ms
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.network.connect import connect
from kafka_protocol.client.wait_observer import waiting_for
from kafka_protocol.versions.connection import Connection
from kafka_protocol.wire.repeated_request import RepeatedRequest
from kafka_protocol.wire.schema import Request, Response, VersionRange


class BrokerConnection:
    """A connected stream that carries requests and responses.

    Attributes:
        round_trip_ms: The shortest time from a request to the first bytes of its response.

    Raises:
        BrokerConnectionError, KafkaTimeoutError: The connection cannot be opened.
        TlsError: It was opened, and the TLS handshake failed.
        KafkaConfigError: A file that TLS needs cannot be used.
    """

    def __init__(self, address: Address, config: ClientConfig, deadline: Deadline) -> None:
        self.address = address
        self.transport = connect(address, config.security, deadline)
        self.protocol = Connection(config.client_id, config.max_response_bytes)
        self.round_trip_ms = math.inf
        # When the request was sent whose response is next; None if others were before it.
        self._sent_ms: float | None = None

    def __repr__(self) -> str:
        return f"<BrokerConnection {self.transport!r}, {self.protocol!r}>"

    def send(
        self,
        request: Request | RepeatedRequest[Any],
        deadline: Deadline,
        *,
        version: int | None = None,
        needed: VersionRange | None = None,
    ) -> int:
        """Write a request in `version`, or else in the highest common one within `needed`.

        Returns:
            Its correlation id.

        Raises:
            EncodeError, UnsupportedVersionError: Nothing was sent.
            BrokerConnectionError, KafkaTimeoutError: How much was sent is unknown.
        """
        is_alone = not self.protocol.in_flight
        pieces = self.protocol.send(request, version=version, needed=needed)
        if is_alone:
            self._sent_ms = monotonic_ms()
        correlation_id = self.protocol.last_correlation_id
        self.transport.write(pieces, deadline)
        return correlation_id

    def receive(self, deadline: Deadline) -> Response:
        """Wait for the next response; can be repeated after a time-out.

        Raises:
            ProtocolError: The bytes received are not that response.
            BrokerConnectionError, KafkaTimeoutError: No whole response was received.
        """
        with waiting_for(lambda: f"{self.address} ({self.protocol.expected_api})"):
            while (response := self.protocol.next_response()) is None:
                buffer = self.protocol.receive_buffer
                if buffer is not None:
                    self.protocol.bytes_received(self.transport.read_into(buffer, deadline))
                else:
                    data = self.transport.read(self.protocol.missing_bytes, deadline)
                    self.protocol.receive_data(data)
                self._note_first_bytes()
        return response

    def _note_first_bytes(self) -> None:
        if self._sent_ms is not None:
            self.round_trip_ms = min(self.round_trip_ms, monotonic_ms() - self._sent_ms)
            self._sent_ms = None

    @property
    def has_buffered_data(self) -> bool:
        """Whether at least a part of the next response can be read. Never waits."""
        return self.protocol.has_buffered_data or self.transport.has_buffered_data

    def close(self) -> None:
        """Close the connection; safe to call again."""
        self.transport.close()
