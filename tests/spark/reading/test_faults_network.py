"""Network faults of a batch read: wrong addresses, other servers, lost and slow responses.

A read returns exactly the rows of the log, or an error with the cure. docs/faults.md lists the
numbers.
"""

from __future__ import annotations

import socket
from typing import Any

import pytest

from kafka_protocol.client.config.client import Address
from kafka_protocol.errors import BrokerConnectionError, KafkaError, KafkaTimeoutError
from kafka_protocol.messages.api_versions import ApiVersionsRequest
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.schema import Request, Response
from tests.fakes import faults
from tests.fakes.batch_reading import ABC, IN_THREE, filled, filled_mock, plan, read
from tests.fakes.broker import Handler, ScriptedBroker
from tests.fakes.faults import Fault
from tests.fakes.frames import encode_response
from tests.fakes.mock_cluster import CUT
from tests.fakes.reading import PARTITION
from tests.fakes.skipping_time import sleeps_take_no_time

pytestmark = [pytest.mark.no_cover, pytest.mark.usefixtures("alone_and_in_a_group")]

APIS: list[type[Request]] = [MetadataRequest, ListOffsetsRequest, FetchRequest]
EACH_API = pytest.mark.parametrize("kind", APIS, ids=lambda kind: kind.api_name)
FIXED = '{"t":{"0":0}}'  # else the driver would list no offsets
NO_HOST = Address("no-such-host.invalid", 9092)


ONCE = {"fetchOffset.numRetries": 1}


def dead_port() -> Address:
    """An address without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return Address("127.0.0.1", listener.getsockname()[1])


# --- Addresses -----------------------------------------------------------------------------------


def test_fault_01_one_good_address_of_many() -> None:
    with filled(*IN_THREE) as cluster:
        assert read([NO_HOST, dead_port(), *cluster.bootstrap_servers]) == ABC


def test_fault_01_each_address_with_its_error() -> None:
    port = dead_port()
    with pytest.raises(BrokerConnectionError) as caught:
        plan([NO_HOST, port], kafka_socket_connection_setup_timeout_ms=300, **ONCE)
    assert "No broker of kafka.bootstrap.servers can be reached" in str(caught.value)
    assert f"{NO_HOST}: the host name cannot be resolved" in str(caught.value)
    assert f"{port}: connection refused" in str(caught.value)


def advertising(address: Address) -> Fault:
    """Every broker says that it listens there."""

    def change(response: MetadataResponse) -> None:
        for broker in response.brokers:
            broker.host, broker.port = address

    return faults.changed(change)


@pytest.mark.parametrize("starting", ["earliest", '{"t":{"0":1}}'])
def test_fault_02_an_advertised_address_is_unreachable(starting: str) -> None:
    """The driver finds it if it lists offsets, else the task does."""
    port = dead_port()
    with filled(*IN_THREE) as cluster, sleeps_take_no_time():
        cluster.spoil(MetadataRequest, advertising(port))
        (server,) = cluster.bootstrap_servers
        with pytest.raises(
            BrokerConnectionError,
            match=rf"kafka.bootstrap.servers {server} answered, but broker 1 advertises {port}, "
            rf"which cannot be reached from here: {port}: connection refused.*advertised.listeners",
        ):
            read([server], startingOffsets=starting)


# --- Strangers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "hint"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "an HTTP server answered; is the port right"),
        (b"\x15\x03\x01\x00\x02\x02\x16", "speaks TLS; set kafka.security.protocol"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "an SSH server answered"),
    ],
)
def test_fault_03_the_port_of_another_server(reply: bytes, hint: str) -> None:
    """Reported at once: it will not become a broker."""

    def stranger(_request: Any, _version: int) -> bytes:
        return reply

    with ScriptedBroker({ApiVersionsRequest: stranger}) as fake:
        with pytest.raises(KafkaError, match=hint) as caught:
            plan([fake.address])
        assert f"bootstrap server ({fake.address})" in str(caught.value)
        fake.wait_for_connections(1)


# --- Answers that do not come whole --------------------------------------------------------------


class Cutting:
    """Closes the connection after the first bytes of one response, once for each length.

    Attributes:
        length: The number of bytes; None for the whole response.
        longest: The longest frame so far.
    """

    def __init__(self) -> None:
        self.length: int | None = None
        self.longest = 0

    def __call__(self, handler: Handler) -> Handler:
        def handle(request: Any, version: int) -> Any:
            response = handler(request, version)
            assert isinstance(response, Response)
            self.longest = max(self.longest, len(encode_response(response, version, 0)))
            if self.length is None:
                return response
            cut, self.length = faults.cut_after(self.length), None
            return cut(lambda _request, _version: response)(request, version)

        return handle


@pytest.mark.slow
@EACH_API
def test_fault_04_a_response_is_cut_at_any_byte(kind: type[Request]) -> None:
    """On the driver or in the task, whichever sends the first request."""
    with filled((b"a", b"b", b"c")) as cluster:
        cutting = Cutting()
        cluster.spoil(kind, cutting)
        assert read(cluster.bootstrap_servers, startingOffsets=FIXED) == ABC
        for length in range(cutting.longest):
            cutting.length = length
            assert read(cluster.bootstrap_servers, startingOffsets=FIXED) == ABC
            assert cutting.length is None


@EACH_API
def test_fault_04_kept_connections_are_cut(kind: type[Request]) -> None:
    """A task reconnects at its start and in the middle of its range."""
    with filled(*IN_THREE) as cluster:
        (task,) = plan(cluster.bootstrap_servers, kafka_max_partition_fetch_bytes=1)
        for fault in (faults.closing, faults.cut_after(30), faults.closing):
            cluster.spoil(kind, faults.only(2, fault))
            assert task.rows() == ABC


@EACH_API
def test_fault_04_a_mock_broker_cuts_connections(kind: type[Request]) -> None:
    with filled_mock(*IN_THREE) as mock:
        mock.push_errors(kind, CUT, CUT)
        assert read(mock.addresses) == ABC


# --- Answers that do not come, or slowly ---------------------------------------------------------


@EACH_API
def test_fault_05_a_missing_response_costs_one_timeout(kind: type[Request]) -> None:
    """On the driver, and again in the task."""
    options = {"startingOffsets": FIXED, "kafka_request_timeout_ms": 100}
    with filled(*IN_THREE) as cluster:
        cluster.spoil(kind, faults.only(1, faults.response_lost))
        (task,) = plan(cluster.bootstrap_servers, **options)
        cluster.spoil(kind, faults.only(1, faults.response_lost))
        assert task.rows() == ABC


def test_fault_05_a_silent_leader_is_replaced() -> None:
    with filled(*IN_THREE, nodes=2) as cluster:
        options = {"kafka_max_partition_fetch_bytes": 1, "kafka_request_timeout_ms": 100}
        (task,) = plan(cluster.bootstrap_servers, **options)
        batches = task.batches()
        found = next(batches)
        for kind in (FetchRequest, ListOffsetsRequest, MetadataRequest, ApiVersionsRequest):
            cluster.spoil(kind, faults.response_lost, node=1)
        cluster.move_leader(PARTITION, 2)
        for rows in batches:
            found += rows
        assert found == ABC


def test_fault_05_an_error_names_a_silent_leader() -> None:
    """And no rows are returned."""
    with filled(*IN_THREE) as cluster:
        options = {"kafka_request_timeout_ms": 50, "kafkaConsumer.pollTimeoutMs": 200}
        (task,) = plan(cluster.bootstrap_servers, **options)
        cluster.spoil(FetchRequest, faults.response_lost)
        (address,) = cluster.bootstrap_servers
        found = []
        with pytest.raises(
            KafkaTimeoutError, match=rf"Fetch to broker 1 \({address}\): no response within \d+ ms"
        ):
            found += [*task.batches()]
        assert not found


@EACH_API
@pytest.mark.parametrize(
    "fault", [faults.byte_by_byte(), faults.delayed(50)], ids=["in single bytes", "late"]
)
def test_fault_06_slow_responses_bring_the_same_rows(kind: type[Request], fault: Fault) -> None:
    with filled(*IN_THREE) as cluster:
        cluster.spoil(kind, fault)
        options = {"startingOffsets": FIXED, "kafka_max_partition_fetch_bytes": 1}
        assert read(cluster.bootstrap_servers, **options) == ABC


def test_fault_06_slow_mock_brokers() -> None:
    with filled_mock(*IN_THREE) as mock:
        for broker in (1, 2, 3):
            mock.delay(broker, 50)
        assert read(mock.addresses, kafka_max_partition_fetch_bytes=1) == ABC
