"""Faults of the network under a batch read: wrong addresses, strangers, lost and slow answers.

A read gives exactly the rows that the log holds, or one sentence that says what to do. The numbers
are those of the list of faults, as everywhere.
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
from kafka_protocol.schema import Request
from tests.fakes import faults
from tests.fakes.batch_reading import ABC, IN_THREE, filled, filled_mock, plan, read
from tests.fakes.broker import Handler, ScriptedBroker, encode_response
from tests.fakes.faults import Fault
from tests.fakes.mock_cluster import CUT
from tests.fakes.reading import PARTITION

APIS: list[type[Request]] = [MetadataRequest, ListOffsetsRequest, FetchRequest]
EACH_API = pytest.mark.parametrize("kind", APIS, ids=lambda kind: kind.api_name)
FIXED = '{"t":{"0":0}}'  # else the driver would not ask for offsets
NO_HOST = Address("no-such-host.invalid", 9092)


ONCE = {"fetchOffset.numRetries": 1}


def dead_port() -> Address:
    """Where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return Address("127.0.0.1", listener.getsockname()[1])


# --- Addresses -----------------------------------------------------------------------------------


def test_fault_01_the_one_good_address_of_many() -> None:
    with filled(*IN_THREE) as cluster:
        assert read([NO_HOST, dead_port(), *cluster.bootstrap_servers]) == ABC


def test_fault_01_each_address_and_what_is_wrong_with_it() -> None:
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
def test_fault_02_an_advertised_address_that_leads_nowhere(starting: str) -> None:
    """Found out by the driver where it asks for offsets, else by the task."""
    port = dead_port()
    with filled(*IN_THREE) as cluster:
        cluster.spoil(MetadataRequest, advertising(port))
        (server,) = cluster.bootstrap_servers
        with pytest.raises(
            BrokerConnectionError,
            match=rf"kafka.bootstrap.servers {server} answered, but broker 1 advertises {port}, "
            rf"which cannot be reached from here: {port}: connection refused.*advertised.listeners",
        ):
            read(
                [server],
                startingOffsets=starting,
                kafka_socket_connection_setup_timeout_ms=300,
                kafka_default_api_timeout_ms=300,
            )


# --- Strangers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "hint"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "an HTTP server answered; is the port right"),
        (b"\x15\x03\x01\x00\x02\x02\x16", "speaks TLS; set kafka.security.protocol"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "an SSH server answered"),
    ],
)
def test_fault_03_a_port_of_somebody_else(reply: bytes, hint: str) -> None:
    """Told at once: what is no broker now is none in two minutes."""

    def stranger(_request: Any, _version: int) -> bytes:
        return reply

    with ScriptedBroker({ApiVersionsRequest: stranger}) as fake:
        with pytest.raises(KafkaError, match=hint) as caught:
            plan([fake.address])
        assert f"bootstrap server ({fake.address})" in str(caught.value)
        fake.wait_for_connections(1)


# --- Answers that do not come whole --------------------------------------------------------------


class Cutting:
    """Closes the connection behind the first bytes of one answer, for each length once.

    Attributes:
        length: Behind how many bytes; None for a whole answer.
        longest: The longest frame so far.
    """

    def __init__(self) -> None:
        self.length: int | None = None
        self.longest = 0

    def __call__(self, handler: Handler) -> Handler:
        def handle(request: Any, version: int) -> Any:
            response = handler(request, version)
            self.longest = max(self.longest, len(encode_response(response, version, 0)))
            if self.length is None:
                return response
            cut, self.length = faults.cut_after(self.length), None
            return cut(lambda _request, _version: response)(request, version)

        return handle


@EACH_API
def test_fault_04_an_answer_that_is_cut_at_any_byte(kind: type[Request]) -> None:
    """On the driver, or in the task: whoever asks first."""
    with filled((b"a", b"b", b"c")) as cluster:
        cutting = Cutting()
        cluster.spoil(kind, cutting)
        assert read(cluster.bootstrap_servers, startingOffsets=FIXED) == ABC
        for length in range(cutting.longest):
            cutting.length = length
            assert read(cluster.bootstrap_servers, startingOffsets=FIXED) == ABC
            assert cutting.length is None


@EACH_API
def test_fault_04_a_worker_s_kept_connections_are_cut(kind: type[Request]) -> None:
    """Both a task that begins and one that is in the middle of its range connect anew."""
    with filled(*IN_THREE) as cluster:
        (task,) = plan(cluster.bootstrap_servers, kafka_max_partition_fetch_bytes=1)
        for fault in (faults.closing, faults.cut_after(30), faults.closing):
            cluster.spoil(kind, faults.only(2, fault))
            assert task.rows() == ABC


@EACH_API
def test_fault_04_connections_that_librdkafkas_brokers_cut(kind: type[Request]) -> None:
    with filled_mock(*IN_THREE) as mock:
        mock.push_errors(kind, CUT, CUT)
        assert read(mock.addresses) == ABC


# --- Answers that do not come, or slowly ---------------------------------------------------------


@EACH_API
def test_fault_05_an_answer_that_never_comes_costs_one_time_out(kind: type[Request]) -> None:
    """Of the driver's question, and once more of the task's."""
    options = {"startingOffsets": FIXED, "kafka_request_timeout_ms": 100}
    with filled(*IN_THREE) as cluster:
        cluster.spoil(kind, faults.only(1, faults.swallowed))
        (task,) = plan(cluster.bootstrap_servers, **options)
        cluster.spoil(kind, faults.only(1, faults.swallowed))
        assert task.rows() == ABC


def test_fault_05_a_leader_that_falls_silent_and_is_replaced() -> None:
    with filled(*IN_THREE, nodes=2) as cluster:
        options = {"kafka_max_partition_fetch_bytes": 1, "kafka_request_timeout_ms": 100}
        (task,) = plan(cluster.bootstrap_servers, **options)
        batches = task.batches()
        found = next(batches)
        for kind in (FetchRequest, ListOffsetsRequest, MetadataRequest, ApiVersionsRequest):
            cluster.spoil(kind, faults.swallowed, node=1)
        cluster.move_leader(PARTITION, 2)
        for rows in batches:
            found += rows
        assert found == ABC


def test_fault_05_a_leader_that_stays_silent_is_named() -> None:
    """And nothing of what it was asked for is handed out."""
    with filled(*IN_THREE) as cluster:
        options = {"kafka_request_timeout_ms": 50, "kafkaConsumer.pollTimeoutMs": 200}
        (task,) = plan(cluster.bootstrap_servers, **options)
        cluster.spoil(FetchRequest, faults.swallowed)
        (address,) = cluster.bootstrap_servers
        found = []
        with pytest.raises(
            KafkaTimeoutError, match=rf"Fetch to broker 1 \({address}\): no answer within \d+ ms"
        ):
            found += [*task.batches()]
        assert not found


@EACH_API
@pytest.mark.parametrize(
    "fault", [faults.dribbled(), faults.delayed(50)], ids=["in single bytes", "late"]
)
def test_fault_06_slow_answers_bring_the_same_rows(kind: type[Request], fault: Fault) -> None:
    with filled(*IN_THREE) as cluster:
        cluster.spoil(kind, fault)
        options = {"startingOffsets": FIXED, "kafka_max_partition_fetch_bytes": 1}
        assert read(cluster.bootstrap_servers, **options) == ABC


def test_fault_06_brokers_of_librdkafka_that_are_far_away() -> None:
    with filled_mock(*IN_THREE) as mock:
        for broker in (1, 2, 3):
            mock.delay(broker, 50)
        assert read(mock.addresses, kafka_max_partition_fetch_bytes=1) == ABC
