"""The simulated network, with a broker that returns what it gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kafka_protocol.client import clock
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.connect import connect, use_opener
from kafka_protocol.client.network.transport import ClosedByPeerError, Stream
from kafka_protocol.errors import BrokerConnectionError, KafkaTimeoutError
from tests.simulation.clocks import SimulatedSource
from tests.simulation.link import Delay, Link
from tests.simulation.network import Network
from tests.simulation.processes import Process, Processes, Strand
from tests.simulation.scheduler import EventScheduler
from tests.simulation.trace import Trace

FRAME = bytes(range(256)) * 8
ADDRESSES = [Address(f"broker-{node}.sim", 9092) for node in (1, 2, 3)]


class Echo:
    """A broker's end that returns everything."""

    def __init__(self, node: int, reply: Callable[[bytes], None]) -> None:
        self.node = node
        self.got = b""
        self.is_closed = False
        self._reply = reply

    def receive(self, data: bytes) -> None:
        self.got += data
        self._reply(data)

    def closed_by_client(self) -> None:
        self.is_closed = True


class Brokers:
    """Node 3 is down."""

    def __init__(self) -> None:
        self.sessions: list[Echo] = []
        self.closes: list[Callable[[], None]] = []

    def connect(
        self, node: int, reply: Callable[[bytes], None], close: Callable[[], None]
    ) -> Echo | None:
        if node == 3:
            return None
        self.sessions.append(Echo(node, reply))
        self.closes.append(close)
        return self.sessions[-1]


class Client:
    """One process that talks to echoing brokers."""

    def __init__(self) -> None:
        self.scheduler = EventScheduler(1)
        self.trace = Trace(self.scheduler)
        self.processes = Processes(self.scheduler, self.trace)
        self.brokers = Brokers()
        addresses = {(at.host, at.port): node for node, at in enumerate(ADDRESSES, 1)}
        self.network = Network(
            self.scheduler, self.processes, self.trace, self.brokers, addresses, 1
        )
        self.result: object = None
        self.ended_ms = 0.0
        self.strand = Strand("client", Process("client", "host"))

    def run(self, code: Callable[[], object]) -> object:
        def ended(result: object) -> None:
            self.result = result
            self.ended_ms = self.scheduler.elapsed_ms

        self.processes.start(self.strand, code, ended)
        self.scheduler.run(lambda: False, 1_000_000)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def link(self, node: int = 1) -> Link:
        return self.network.link("host", node)

    def after(self, ms: float, call: Callable[[], None]) -> None:
        self.scheduler.call_after(ms, call)


@pytest.fixture
def client() -> Iterator[Client]:
    client = Client()
    source = SimulatedSource(client.scheduler, client.processes, 1)
    with clock.use(source), use_opener(client.network.open):
        yield client
        client.processes.close()


def opened(node: int = 1, ms: float = 5_000) -> Stream:
    return connect(ADDRESSES[node - 1], SecurityOptions(), Deadline.after(ms))


def received(stream: Stream, size: int, ms: float = 5_000) -> bytes:
    data, deadline = b"", Deadline.after(ms)
    while len(data) < size:
        data += stream.read(size - len(data), deadline)
    return data


def echo() -> bytes:
    stream = opened()
    stream.write([FRAME[:100], FRAME[100:]], Deadline.after(1_000))
    return received(stream, len(FRAME))


def test_bytes_arrive_later_and_in_order(client: Client) -> None:
    assert client.run(echo) == FRAME
    assert 0.2 < client.ended_ms < 10


def test_read_into_takes_what_fits(client: Client) -> None:
    def run() -> tuple[bytes, int, bool]:
        stream = opened()
        stream.write([b"abcdef"], Deadline.after(1_000))
        buffer = bytearray(4)
        first = stream.read_into(memoryview(buffer), Deadline.after(1_000))
        return bytes(buffer), first, stream.has_buffered_data

    assert client.run(run) == (b"abcd", 4, True)


def test_nobody_listens(client: Client) -> None:
    with pytest.raises(BrokerConnectionError, match="connection refused"):
        client.run(lambda: opened(3))


def test_a_name_that_nobody_has(client: Client) -> None:
    nowhere = Address("nowhere.sim", 9092)
    with pytest.raises(BrokerConnectionError, match="cannot be resolved"):
        client.run(lambda: connect(nowhere, SecurityOptions(), Deadline.after(1)))


def test_bytes_in_pieces(client: Client) -> None:
    client.link().piece_bytes = 100

    def run() -> list[int]:
        stream, sizes = opened(), list[int]()
        stream.write([FRAME], Deadline.after(1_000))
        while sum(sizes) < len(FRAME):
            sizes.append(len(stream.read(len(FRAME), Deadline.after(1_000))))
        return sizes

    assert max(client.run(run)) == 100  # type: ignore[call-overload]


@pytest.mark.parametrize("way", ["holds_requests", "holds_responses"])
def test_a_partition_holds_bytes_back_until_it_ends(client: Client, way: str) -> None:
    def run() -> bytes:
        stream = opened()
        setattr(client.link(), way, True)
        stream.write([FRAME], Deadline.after(1_000))
        with pytest.raises(KafkaTimeoutError, match="ran out"):
            received(stream, len(FRAME), ms=2_000)
        assert bool(client.brokers.sessions[0].got) == (way == "holds_responses")
        setattr(client.link(), way, False)
        for connection in client.link().connections.values():
            connection.release()
        return received(stream, len(FRAME))

    assert client.run(run) == FRAME


def test_no_connection_through_a_partition(client: Client) -> None:
    client.link().holds_responses = True
    with pytest.raises(BrokerConnectionError, match="no response within 5000 ms"):
        client.run(opened)
    assert 5_000 <= client.ended_ms < 5_100


def test_a_partition_that_ends_while_a_client_connects(client: Client) -> None:
    client.link().holds_requests = True
    client.after(2_500, lambda: setattr(client.link(), "holds_requests", False))
    assert client.run(echo) == FRAME


def test_a_response_breaks_off_in_its_middle(client: Client) -> None:
    def run() -> int:
        stream, got = opened(), 0
        client.link().cuts_response = True
        stream.write([FRAME], Deadline.after(1_000))
        try:
            while True:
                clock.sleep_ms(0.01)
                got += len(stream.read(len(FRAME), Deadline.after(1_000)))
        except ClosedByPeerError:
            return got

    assert 0 < client.run(run) < len(FRAME)  # type: ignore[operator]
    assert client.brokers.sessions[0].is_closed


def test_a_request_breaks_off_in_its_middle(client: Client) -> None:
    client.link().cuts_request = True
    with pytest.raises(ClosedByPeerError, match="reset"):
        client.run(echo)
    assert 0 < len(client.brokers.sessions[0].got) < len(FRAME)


def test_a_half_open_connection_is_silent(client: Client) -> None:
    def run() -> None:
        stream = opened()
        for connection in client.link().connections.values():
            connection.is_silent = True
        stream.write([FRAME], Deadline.after(1_000))
        received(stream, 1, ms=30_000)

    with pytest.raises(KafkaTimeoutError):
        client.run(run)
    assert not client.brokers.sessions[0].got


def test_an_address_that_leads_to_another_broker(client: Client) -> None:
    client.link().leads_to = 2
    client.run(echo)
    assert client.brokers.sessions[0].node == 2


def test_the_broker_closes(client: Client) -> None:
    def run() -> None:
        stream = opened()
        client.after(5, client.brokers.closes[0])
        received(stream, 1)

    with pytest.raises(ClosedByPeerError, match="closed the connection"):
        client.run(run)


def test_the_sockets_of_a_dead_process_are_closed(client: Client) -> None:
    def run() -> None:
        opened()
        clock.sleep_ms(1_000)

    client.after(100, lambda: client.processes.kill(client.strand))
    client.run(run)
    assert client.brokers.sessions[0].is_closed
    assert client.ended_ms == 100


def test_the_same_seed_gives_the_same_events() -> None:
    digests = set()
    for _ in range(2):
        client = Client()
        source = SimulatedSource(client.scheduler, client.processes, 1)
        with clock.use(source), use_opener(client.network.open):
            client.run(echo)
            client.processes.close()
        digests.add(client.trace.digest())
    assert len(digests) == 1


@pytest.mark.parametrize("is_partition", [False, True])
def test_a_request_that_arrives_after_its_client_went_on(
    client: Client, is_partition: bool
) -> None:
    def run() -> bytes:
        stream = opened()
        client.link().delay = Delay("?", 3_000, is_partition)
        with pytest.raises(ClosedByPeerError, match="reset"):
            stream.write([FRAME], Deadline.after(1_000))
            received(stream, 1)
        stream.close()
        assert not client.brokers.sessions[0].got
        return echo()

    assert client.run(run) == FRAME
    first, second = client.brokers.sessions
    assert (first.got, first.is_closed, second.got) == (FRAME, True, FRAME)
    assert (client.ended_ms > 3_000) == is_partition
