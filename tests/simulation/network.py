"""The simulated network between processes and brokers, and its faults.

Bytes of a connection arrive in order, as TCP has it; those of different connections do not. Data
that a fault holds back arrive when it ends: TCP sends them again. Knows Kafka's frames only as far
as the trace names the API of a request.
"""

from __future__ import annotations

import random
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.transport import ClosedByPeerError
from kafka_protocol.errors import BrokerConnectionError, KafkaTimeoutError
from kafka_protocol.wire.api_keys import ApiKey
from kafka_protocol.wire.primitives import Piece
from tests.simulation.link import Link
from tests.simulation.processes import Process, Processes, ProcessKilledError, Signal
from tests.simulation.scheduler import EventScheduler
from tests.simulation.trace import Trace

_LATENCY_MS: Final = (0.1, 1.5)
_KEEPS_EVERY_FETCH: Final = 10
_API_NAMES: Final = {int(key): key.name for key in ApiKey}


# What `Transport.read` asks the kernel for at least.
_READ_BYTES: Final = 4096


class Session(Protocol):
    """The broker's end of a connection."""

    def receive(self, data: bytes) -> None:
        """Bytes arrived."""

    def closed_by_client(self) -> None:
        """The end of the stream arrived."""


class Brokers(Protocol):
    """Who listens."""

    def connect(
        self, node: int, reply: Callable[[bytes], None], close: Callable[[], None]
    ) -> Session | None:
        """A new connection; None if nobody listens."""


class _Pipe:
    """One direction of a connection."""

    def __init__(
        self, connection: Connection, deliver: Callable[[bytes | None], None], *, is_request: bool
    ) -> None:
        self._connection = connection
        self._deliver = deliver
        self._is_request = is_request
        self._free_at_ms = 0.0
        self._held: list[bytes | None] = []

    def send(self, data: bytes | None) -> None:
        """Send bytes, or None for the end of the stream."""
        network, link = self._connection.network, self._connection.link
        if link.holds_requests if self._is_request else link.holds_responses:
            self._held.append(data)
            return
        if data is not None and len(data) > 1 and link.takes_cut(is_request=self._is_request):
            data = data[: network.random.randrange(1, len(data))]
            self._arrive(data)
            self._arrive(data, self._connection.reset)
            return
        if data is None or link.piece_bytes is None:
            self._arrive(data)
            return
        for start in range(0, len(data), link.piece_bytes):
            self._arrive(data[start : start + link.piece_bytes])

    def send_late(self, data: bytes, ms: float) -> None:
        """Send bytes and the end of the stream, which arrive so much later."""
        self._free_at_ms = max(self._free_at_ms, self._connection.network.scheduler.now_ms + ms)
        self._arrive(data)
        self._arrive(None)

    def release(self) -> None:
        """Send what was held back."""
        held, self._held = self._held, []
        for data in held:
            self.send(data)

    def _arrive(self, data: bytes | None, call: Callable[[], None] | None = None) -> None:
        network = self._connection.network
        now_ms = network.scheduler.now_ms
        at_ms = now_ms + network.random.uniform(*_LATENCY_MS) + self._connection.link.extra_ms
        self._free_at_ms = max(self._free_at_ms, at_ms)
        network.scheduler.call_after(
            self._free_at_ms - now_ms, call or (lambda: self._deliver(data))
        )


class Connection:
    """A connection between a process and a broker."""

    def __init__(self, network: Network, number: int, process: Process, node: int) -> None:
        self.network = network
        self.number = number
        self.node = node
        self.process = process
        self.link = network.link(process.host, node)
        self.session: Session | None = None
        self.arrived: deque[bytes] = deque()
        self.is_ended = False  # the client has read, or will read, the end of the stream
        self.is_reset = False
        self.is_silent = False  # half-open: nothing arrives any more, on neither side
        self.is_closed = False  # by the client
        self.changed = Signal()
        self._requests = _Pipe(self, self._at_broker, is_request=True)
        self._responses = _Pipe(self, self._at_client, is_request=False)
        self._apis: dict[bytes, tuple[str, int]] = {}

    @property
    def who(self) -> str:
        """Both ends, for the trace."""
        return f"{self.process.name} #{self.number}"

    def write(self, data: bytes) -> None:
        """Send a request."""
        api = _API_NAMES.get(int.from_bytes(data[4:6], "big"), "?")
        version = int.from_bytes(data[6:8], "big")
        self._apis[data[8:12]] = api, version
        self.network.trace.note(
            self.who, "sends", api, version, f"to {self.node}", len(data), zlib.crc32(data)
        )
        if self._breaks(api, "request") or self._is_late(api, data):
            return
        self._requests.send(data)

    def reply(self, data: bytes) -> None:
        """Send a response, from the broker."""
        if self._breaks(self._apis.get(data[4:8], ("", 0))[0], "response"):
            return
        copies, self.link.copies_of_response = self.link.copies_of_response, 1
        for _ in range(copies):
            self._responses.send(data)

    def _breaks(self, api: str, way: str) -> bool:
        """Whether the connection breaks now."""
        if self.link.breaks_at != (api, way):
            return False
        self.link.breaks_at = None
        self.reset()
        return True

    def _is_late(self, api: str, data: bytes) -> bool:
        """Whether the client loses the connection now, and the broker gets the request later."""
        delay = None if self.is_silent else self.link.takes_delay(api)
        if delay is None:
            return False
        self._requests.send_late(data, delay.ms)
        if delay.is_partition:
            self.network.scheduler.call_after(delay.ms, self.link.let_requests_go)
        self.is_reset = True
        self.link.connections.pop(self.number, None)
        self.network.trace.note(self.who, "reset", f"of {self.node}", "late by", delay.ms)
        self.network.processes.set(self.changed)
        return True

    def close_by_broker(self) -> None:
        """Send the end of the stream, from the broker."""
        self.session = None
        self._responses.send(None)

    def close(self) -> None:
        """Send the end of the stream, from the client."""
        if not self.is_closed:
            self.is_closed = True
            self.link.connections.pop(self.number, None)
            self._requests.send(None)

    def reset(self) -> None:
        """Break the connection, for both sides, at once."""
        if self.is_reset or self.is_silent:
            return
        self.is_reset = True
        self.link.connections.pop(self.number, None)
        self.network.trace.note(self.who, "reset", f"of {self.node}")
        session, self.session = self.session, None
        if session is not None:
            session.closed_by_client()
        self.network.processes.set(self.changed)

    def release(self) -> None:
        """Send what a fault held back."""
        self._requests.release()
        self._responses.release()

    def _at_broker(self, data: bytes | None) -> None:
        session = self.session
        if session is None or self.is_silent:
            return
        if data is None:
            self.session = None
            session.closed_by_client()
        else:
            session.receive(data)

    def _at_client(self, data: bytes | None) -> None:
        if self.is_silent or self.is_reset or self.is_closed:
            return
        if data is None:
            self.is_ended = True
        else:
            self.arrived.append(data)
            api, version = self._apis.pop(data[4:8], ("", 0))
            if api == ApiKey.FETCH.name:
                self.network.note_fetched(data, version)
            self.network.trace.note(
                self.who, "receives", api, f"from {self.node}", len(data), zlib.crc32(data)
            )
        self.network.processes.set(self.changed)


class SimulatedStream:
    """The client's end of a connection: what `connect` returns in a simulated world."""

    def __init__(self, connection: Connection, address: Address) -> None:
        self._connection = connection
        self._address = address
        self._network = connection.network

    def __repr__(self) -> str:
        return f"<SimulatedStream to {self._address}>"

    def write(self, pieces: Iterable[Piece], deadline: Deadline) -> None:
        """As `Stream.write`. The system's buffer takes everything."""
        self._network.processes.call()
        self._check_open()
        connection = self._connection
        if connection.is_reset or connection.is_ended:
            raise ClosedByPeerError(f"{self._address} reset the connection")
        connection.write(b"".join(pieces))

    def read(self, wanted_bytes: int, deadline: Deadline) -> bytes:
        """As `Stream.read`."""
        self._wait(deadline)
        # As much as a real one reads at once, so that the rest of a large frame has to be received.
        return self._taken(max(wanted_bytes, _READ_BYTES))

    def read_into(self, buffer: memoryview, deadline: Deadline) -> int:
        """As `Stream.read_into`."""
        self._wait(deadline)
        data = self._taken(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _taken(self, most: int) -> bytes:
        data = self._connection.arrived.popleft()
        if len(data) > most:
            self._connection.arrived.appendleft(data[most:])
        return data[:most]

    @property
    def has_buffered_data(self) -> bool:
        """As `Stream.has_buffered_data`."""
        connection = self._connection
        return bool(connection.arrived) or connection.is_ended or connection.is_reset

    def close(self) -> None:
        """As `Stream.close`; the kernel has closed it already if its process is dead."""
        if self._connection.process.is_alive:
            self.die()

    def die(self) -> None:
        """The kernel closes it: its process has died."""
        self._connection.process.sockets.pop(self._connection.number, None)
        self._connection.close()

    def _wait(self, deadline: Deadline) -> None:
        self._check_open()
        connection, scheduler = self._connection, self._network.scheduler
        until_ms = scheduler.now_ms + deadline.remaining_ms
        while not self.has_buffered_data:
            if scheduler.now_ms >= until_ms:
                raise KafkaTimeoutError(f"the time to read from {self._address} ran out")
            self._network.processes.wait(connection.changed, until_ms)
        if connection.is_reset:
            raise ClosedByPeerError(f"{self._address} reset the connection")
        if not connection.arrived:
            raise ClosedByPeerError(f"{self._address} closed the connection")

    def _check_open(self) -> None:
        if not self._connection.process.is_alive:
            raise ProcessKilledError
        if self._connection.is_closed:
            raise BrokerConnectionError(f"the connection to {self._address} broke: closed")


class Network:
    """All links and connections of a run.

    Args:
        addresses: The node behind each address.
        distance_ms: How long bytes are on their way, beside the usual latency.
    """

    def __init__(
        self,
        scheduler: EventScheduler,
        processes: Processes,
        trace: Trace,
        brokers: Brokers,
        addresses: dict[tuple[str, int], int],
        seed: int,
        distance_ms: float = 0,
    ) -> None:
        self.scheduler = scheduler
        self.processes = processes
        self.trace = trace
        self.random = random.Random(f"{seed} network")
        self._brokers = brokers
        self._distance_ms = distance_ms
        self._addresses = addresses
        self._links: dict[tuple[str, int], Link] = {}
        self._connections = 0
        self._fetches = 0
        self.fetched: list[tuple[bytes, int]] = []  # a sample of frames, with their versions

    def note_fetched(self, data: bytes, version: int) -> None:
        """Keep some of the Fetch responses that arrived in one piece."""
        if len(data) == 4 + int.from_bytes(data[:4], "big"):
            self._fetches += 1
            if self._fetches % _KEEPS_EVERY_FETCH == 0:
                self.fetched.append((data, version))

    def link(self, host: str, node: int) -> Link:
        """The way between a host and a broker."""
        return self._links.setdefault((host, node), Link(extra_ms=self._distance_ms))

    def links(self, hosts: Iterable[str], nodes: Iterable[int]) -> Iterator[Link]:
        """The ways between hosts and brokers."""
        nodes = [*nodes]
        for host in hosts:
            for node in nodes:
                yield self.link(host, node)

    def open(
        self, address: Address, security: SecurityOptions, deadline: Deadline
    ) -> SimulatedStream:
        """As `connect`: the opener of a simulated world."""
        self.processes.call()
        process, scheduler = self.processes.current.process, self.scheduler
        node = self._addresses.get((address.host, address.port))
        if node is None:
            raise BrokerConnectionError(f"{address}: the host name cannot be resolved")
        link = self.link(process.host, node)
        if link.is_unknown:
            raise BrokerConnectionError(f"{address}: the host name cannot be resolved")
        waited_ms = deadline.remaining_ms
        until_ms = scheduler.now_ms + waited_ms
        while link.holds_requests or link.holds_responses:
            if scheduler.now_ms >= until_ms:
                raise BrokerConnectionError(f"{address}: no response within {waited_ms:.0f} ms")
            # The system sends its first packet again, at growing intervals.
            self.processes.sleep(min(until_ms - scheduler.now_ms, 1_000))
        self.processes.sleep(self.random.uniform(*_LATENCY_MS) * 2 + link.extra_ms)
        self._connections += 1
        connection = Connection(self, self._connections, process, node)
        leads_to = node if link.leads_to is None else link.leads_to
        session = self._brokers.connect(leads_to, connection.reply, connection.close_by_broker)
        if session is None:
            self.trace.note(process.name, "refused by", leads_to)
            raise BrokerConnectionError(f"{address}: connection refused")
        self.trace.note(connection.who, "connects to", leads_to)
        connection.session = session
        link.connections[connection.number] = connection
        stream = SimulatedStream(connection, address)
        process.sockets[connection.number] = stream
        return stream
