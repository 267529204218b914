"""A connection to a broker: the transport, and the conversation on it, in one hand.

The join of the two halves and nothing more: no retries, no names for errors, no choice of
versions. `bring_up` makes one usable, `broker` asks for what its callers want.
"""

from __future__ import annotations

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.client import Address, ClientConfig
from kafka_protocol.client.network.transport import connect
from kafka_protocol.connection import Connection
from kafka_protocol.schema import Request, Response, VersionRange


class Wire:
    """A connected stream on which requests and responses are exchanged.

    Args:
        address: Where to connect to.
        config: Client id and limits.
        deadline: When it must be connected.

    Raises:
        BrokerConnectionError, KafkaTimeoutError: Nobody accepts.
        TlsError: It does, and TLS does not come about.
        KafkaConfigError: A file that TLS needs cannot be used.
    """

    def __init__(self, address: Address, config: ClientConfig, deadline: Deadline) -> None:
        self.address = address
        self.transport = connect(address, config.security, deadline)
        self.connection = Connection(config.client_id, config.max_response_bytes)

    def __repr__(self) -> str:
        return f"<Wire {self.transport!r}, {self.connection!r}>"

    def send(
        self,
        request: Request,
        deadline: Deadline,
        *,
        version: int | None = None,
        needed: VersionRange | None = None,
    ) -> int:
        """Write a request in a version, or in the highest common one of those that are needed.

        Returns:
            Its correlation id.

        Raises:
            EncodeError, UnsupportedVersionError: Nothing was sent.
            BrokerConnectionError, KafkaTimeoutError: How much was sent is unknown.
        """
        pieces = self.connection.send(request, version=version, needed=needed)
        correlation_id = self.connection.newest
        self.transport.write(pieces, deadline)
        return correlation_id

    def receive(self, deadline: Deadline) -> Response:
        """The answer that is due next. After a time-out it can be waited for again.

        Raises:
            ProtocolError: What came is no such answer.
            BrokerConnectionError, KafkaTimeoutError: Nothing came.
        """
        while (response := self.connection.next_response()) is None:
            room = self.connection.room
            if room is not None:
                self.connection.received(self.transport.read_into(room, deadline))
            else:
                data = self.transport.read(self.connection.missing_bytes, deadline)
                self.connection.receive_data(data)
        return response

    @property
    def has_come(self) -> bool:
        """Whether at least a part of the next answer is there. Never waits."""
        return self.connection.has_come or self.transport.has_come

    def close(self) -> None:
        """Close the connection; safe to call again."""
        self.transport.close()
