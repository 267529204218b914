"""One broker: version negotiation, requests, and servers that are not brokers."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, TypeAlias

import pytest

from kafka_protocol.client.broker import api_versions
from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.config.times import Times
from kafka_protocol.errors import (
    AuthenticationError,
    BrokerConnectionError,
    BrokerError,
    ErrorCode,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
    TlsError,
    UnsupportedVersionError,
)
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafka_protocol.wire.schema import Request, VersionRange
from tests.fakes.broker import Close, Delivered, Handler, Peer, ScriptedBroker, versions_of
from tests.fakes.frames import encode_response
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.fakes.tls import foreign_server, listening

SOON = 5_000
TLS_HANDSHAKE = b"\x16"


def config(**options: Any) -> ClientConfig:
    return ClientConfig(bootstrap_servers=(Address("localhost", 1),), **options)


Connect: TypeAlias = Callable[..., Broker]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Connects to brokers, and closes the connections after the test."""
    # The kernel may give a port of another test again.
    api_versions._remembered.clear()
    with ExitStack() as brokers:

        def make(address: Address, **options: Any) -> Broker:
            broker = Broker(address, 7, config(**options), Deadline.after(SOON))
            brokers.callback(broker.close)
            return broker

        yield make


def metadata(broker: Broker, needed: VersionRange | None = None) -> MetadataResponse:
    return broker.request(
        MetadataRequest(topics=[]), MetadataResponse, Deadline.after(SOON), needed
    )


CLUSTER = MetadataResponse(cluster_id="c")


def test_connects_and_sends_a_request(connect: Connect) -> None:
    with ScriptedBroker({MetadataRequest: lambda _r, _v: CLUSTER}) as fake:
        broker = connect(fake.address)
        assert metadata(broker).cluster_id == "c"
        assert [version for _, version in fake.requests] == [5, 13]
        software = fake.requests[0][0]
        assert isinstance(software, ApiVersionsRequest)
        assert software.client_software_name == "pyspark-pykafka"
        assert str(broker) == f"broker 7 ({fake.address})"
        assert "open" in repr(broker)
        broker.close()
        broker.close()
        assert "closed" in repr(broker)


def test_fault_11_steps_down_to_the_version_in_the_response(connect: Connect) -> None:
    def respond(_request: ApiVersionsRequest, version: int) -> ApiVersionsResponse:
        refusal = versions_of(highest=2)
        if version > 2:
            refusal.error_code = 35
        return refusal

    with ScriptedBroker({ApiVersionsRequest: respond}) as fake:
        connect(fake.address)
        assert [version for _, version in fake.requests] == [5, 2]


def test_fault_11_gives_up_if_no_version_is_accepted(connect: Connect) -> None:
    refusal = ApiVersionsResponse(error_code=35)
    with ScriptedBroker({ApiVersionsRequest: lambda _r, _v: refusal}) as fake:
        with pytest.raises(BrokerError, match=r"ApiVersions v0.*UNSUPPORTED_VERSION"):
            connect(fake.address)
        assert [version for _, version in fake.requests] == [5, 0]
        assert fake.connections == 1


# --- Brokers that do not respond to ApiVersions --------------------------------------------------


def close(_request: Request, _version: int) -> None:
    raise Close


def silent(_request: Request, _version: int) -> None:
    return None


def empty_list(_request: ListOffsetsRequest, _version: int) -> ListOffsetsResponse:
    return ListOffsetsResponse()


QUICK_MS = 200  # for a silent broker
PATIENT_MS = 4_000  # where a broker must respond within half of it, also on a busy machine


def refusing_above(highest: int) -> Handler:
    """As Azure Event Hubs and some proxies: they close the connection on a newer ApiVersions."""

    def respond(_request: ApiVersionsRequest, version: int) -> ApiVersionsResponse:
        if version > highest:
            raise Close
        return versions_of(MetadataRequest)

    return respond


@pytest.mark.parametrize(
    ("highest", "tried"), [(4, [5, 3]), (3, [5, 3]), (2, [5, 3, 0]), (0, [5, 3, 0])]
)
def test_fault_11_a_broker_that_closes_on_a_newer_version(
    connect: Connect, highest: int, tried: list[int]
) -> None:
    handlers: dict[type[Request], Handler] = {
        ApiVersionsRequest: refusing_above(highest),
        ListOffsetsRequest: empty_list,
        MetadataRequest: lambda _r, _v: CLUSTER,
    }
    with ScriptedBroker(handlers) as fake:
        broker = connect(fake.address)
        assert [version for _, version in fake.requests] == tried
        assert fake.connections == len(tried)
        assert metadata(broker).cluster_id == "c"
        # The next connection begins with what worked.
        metadata(connect(fake.address))
        assert [version for _, version in fake.requests[len(tried) :]] == [13, tried[-1], 13]
        assert fake.connections == len(tried) + 1


def test_fault_11_the_version_that_worked_is_tried_for_a_while(connect: Connect) -> None:
    """Then the newest again, as the broker may have been upgraded; and no address is kept."""
    with sleeps_take_no_time() as pass_seconds:
        for _ in range(3):
            with ScriptedBroker({ApiVersionsRequest: refusing_above(3)}) as fake:
                for _ in range(2):
                    connect(fake.address)
                    pass_seconds(601)
                assert [version for _, version in fake.requests] == [5, 3, 5, 3]
    assert len(api_versions._remembered) == 1


def test_fault_11_a_dying_broker_is_not_taken_for_old(connect: Connect) -> None:
    """Its port refuses the next connection; nothing is assumed and nothing remembered."""

    def die(_request: ApiVersionsRequest, _version: int) -> None:
        fake.stop_listening()
        raise Close

    with ScriptedBroker({ApiVersionsRequest: die, ListOffsetsRequest: empty_list}) as fake:
        with pytest.raises(BrokerConnectionError, match="connection refused"):
            connect(fake.address)
        assert [version for _, version in fake.requests] == [5]


@pytest.mark.parametrize("refuse", [close, silent])
def test_fault_11_an_old_broker_must_respond_to_an_old_request(
    connect: Connect, refuse: Callable[[Request, int], None]
) -> None:
    with ScriptedBroker({ApiVersionsRequest: refuse, ListOffsetsRequest: empty_list}) as fake:
        broker = connect(fake.address, api_version_request_timeout_ms=QUICK_MS)
        assert broker.versions.range_of(ListOffsetsRequest) == VersionRange(0, 0)
        assert fake.connections <= 5
        with pytest.raises(
            UnsupportedVersionError,
            match=r"4-13, the broker offers 0 \(assumed from .*=0\.8\.2\).*Kafka 0.11 or newer",
        ):
            metadata(broker, VersionRange(4, 13))
        assert not broker.is_closed, "nothing was sent"


def new_broker(
    api_versions: Handler, list_offsets: Handler = empty_list
) -> dict[type[Request], Handler]:
    """What a broker with ApiVersions serves."""
    return {
        ApiVersionsRequest: api_versions,
        ListOffsetsRequest: list_offsets,
        MetadataRequest: lambda _r, _v: CLUSTER,
    }


@pytest.mark.parametrize("lose", [close, silent])
def test_fault_11_a_lost_response_makes_no_broker_old(
    connect: Connect, lose: Callable[[Request, int], None]
) -> None:
    """Of the first connection only, as from a broker that restarts; others are served."""

    def lose_first(request: ApiVersionsRequest, version: int) -> ApiVersionsResponse | None:
        if fake.connections == 1:
            lose(request, version)
            return None
        return versions_of(MetadataRequest, ListOffsetsRequest)

    with ScriptedBroker(new_broker(lose_first)) as fake:
        broker = connect(fake.address, api_version_request_timeout_ms=PATIENT_MS)
        assert broker.versions.range_of(MetadataRequest) == MetadataRequest.versions
        assert metadata(broker).cluster_id == "c"


@pytest.mark.parametrize("refuse", [close, silent])
def test_fault_11_no_broker_of_a_cluster_with_an_id_is_old(
    connect: Connect, refuse: Callable[[Request, int], None]
) -> None:
    """Metadata told the cluster's id, as from Kafka 0.10.1 on; so all of its brokers know it."""
    with ScriptedBroker({ApiVersionsRequest: refuse, ListOffsetsRequest: empty_list}) as fake:
        with pytest.raises((BrokerConnectionError, KafkaTimeoutError)):
            Broker(
                fake.address,
                7,
                config(api_version_request_timeout_ms=QUICK_MS),
                Deadline.after(SOON),
                cluster_id="c",
            )
        assert ListOffsetsRequest not in {type(request) for request, _ in fake.requests}


def test_fault_11_the_fallback_is_an_option(connect: Connect) -> None:
    with ScriptedBroker({ApiVersionsRequest: close, ListOffsetsRequest: empty_list}) as fake:
        assumed = connect(fake.address, broker_version_fallback="0.9.0.1").versions
        assert assumed.range_of(FetchRequest) == VersionRange(0, 1)
        with pytest.raises(BrokerConnectionError, match="closed the connection"):
            connect(fake.address, broker_version_fallback="0.10.0")


def test_fault_11_no_api_versions_request_if_disabled(connect: Connect) -> None:
    with ScriptedBroker({ListOffsetsRequest: empty_list}) as fake:
        versions = connect(fake.address, api_version_request=False).versions
        assert versions.range_of(ListOffsetsRequest) == VersionRange(0, 0)
        assert not fake.requests


@pytest.mark.parametrize("old_request", [empty_list, close])
def test_fault_11_a_slow_new_broker_is_not_taken_for_old(
    connect: Connect, old_request: Callable[[ListOffsetsRequest, int], ListOffsetsResponse | None]
) -> None:
    """Its response to ApiVersions comes while the client waits for that to the old request."""
    got_old_request, has_responded = threading.Event(), threading.Event()

    def late(_request: ApiVersionsRequest, _version: int) -> Delivered:
        assert got_old_request.wait(SOON / 1000)
        return Delivered(versions_of(MetadataRequest, ListOffsetsRequest), write)

    def write(frame: bytes, peer: Peer) -> None:
        peer.write(frame)
        has_responded.set()

    def probed(request: ListOffsetsRequest, version: int) -> ListOffsetsResponse | None:
        got_old_request.set()
        assert has_responded.wait(SOON / 1000)
        return old_request(request, version)

    with ScriptedBroker(new_broker(late, probed)) as fake:
        broker = connect(fake.address, api_version_request_timeout_ms=QUICK_MS)
        assert broker.versions.range_of(MetadataRequest) == MetadataRequest.versions
        assert metadata(broker).cluster_id == "c"


@pytest.mark.parametrize(("then", "error"), [(close, "closed"), (silent, "no response")])
def test_fault_11_a_broker_that_responds_to_api_versions_is_not_taken_for_old(
    connect: Connect, then: Callable[[Request, int], None], error: str
) -> None:
    """It knows ApiVersions, though not this version; then the connection breaks, or it stops."""

    def refuse_once(request: ApiVersionsRequest, version: int) -> bytes | None:
        if len(fake.requests) == 1:
            refusal = ApiVersionsResponse(error_code=int(ErrorCode.UNSUPPORTED_VERSION))
            return encode_response(refusal, 0, 0)
        return then(request, version)  # type: ignore[func-returns-value]

    handlers: dict[type[Request], Handler] = {
        ApiVersionsRequest: refuse_once,
        ListOffsetsRequest: empty_list,
    }
    with ScriptedBroker(handlers) as fake:
        with pytest.raises((BrokerConnectionError, KafkaTimeoutError), match=error):
            Broker(
                fake.address,
                7,
                config(api_version_request_timeout_ms=QUICK_MS),
                Deadline.after(1_000),
            )
        assert ListOffsetsRequest not in {type(request) for request, _ in fake.requests}


def test_fault_11_gives_up_if_every_request_closes(connect: Connect) -> None:
    with ScriptedBroker({ApiVersionsRequest: close, ListOffsetsRequest: close}) as fake:
        with pytest.raises(BrokerConnectionError, match="on ApiVersions as well as on an old"):
            connect(fake.address)
        fake.wait_for_connections(4)


def test_fault_05_no_response_to_any_request(connect: Connect) -> None:
    with ScriptedBroker({ApiVersionsRequest: silent, ListOffsetsRequest: silent}) as fake:
        with pytest.raises(
            KafkaTimeoutError, match=r"^ApiVersions to .* no response within \d+ ms"
        ):
            Broker(fake.address, 7, config(), Deadline.after(200))


def test_fault_03_and_09_the_error_names_the_other_protocol(connect: Connect) -> None:
    with foreign_server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        with pytest.raises(ProtocolError, match="an HTTP server answered; is the port") as caught:
            connect(address)
    assert f"broker 7 ({address})" in str(caught.value)


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_fault_03_tls_to_a_broker_without_it(connect: Connect, protocol: str) -> None:
    """It closes the connection as if it were stopping; a request without TLS shows which it is."""
    security = SecurityOptions(protocol=protocol, mechanism="PLAIN", username="alice")
    with ScriptedBroker({}) as fake:
        with pytest.raises(
            TlsError,
            match=rf"^{fake.address} .*responds there without TLS; .*{protocol[:-3]}PLAINTEXT",
        ):
            connect(fake.address, security=security)
        assert fake.requests == [(ApiVersionsRequest(), 0)]
        assert fake.connections == 2


@pytest.mark.parametrize("waits_ms", [0, SOON])
def test_fault_03_tls_to_a_broker_that_is_stopping(connect: Connect, waits_ms: int) -> None:
    """Or to any server that closes, or waits where it does not see TLS."""
    times = Times(listener_probe_ms=50)
    done = threading.Event()

    def serve(sock: socket.socket) -> None:
        if sock.recv(1) != TLS_HANDSHAKE:
            done.wait(waits_ms / 1000)

    with listening(serve) as address:
        with pytest.raises(BrokerConnectionError, match="does this listener speak TLS"):
            connect(address, security=SecurityOptions(protocol="SSL"), times=times)
        done.set()


def test_fault_03_the_listener_expects_sasl(connect: Connect) -> None:
    """It closes the connection at the first request, as if it were stopping."""
    handlers: dict[type[Request], Handler] = {
        MetadataRequest: close,
        SaslHandshakeRequest: lambda _request, _version: SaslHandshakeResponse(
            error_code=33, mechanisms=["PLAIN", "SCRAM-SHA-512"]
        ),
    }
    with ScriptedBroker(handlers) as fake:
        broker = connect(fake.address)
        with pytest.raises(
            AuthenticationError,
            match=r"^Metadata to broker 7 .*expects SASL \(PLAIN, SCRAM-SHA-512\); set "
            r"kafka.security.protocol to SASL_PLAINTEXT",
        ):
            metadata(broker)
        assert broker.is_closed


def illegal_state(_request: SaslHandshakeRequest, _version: int) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=34)


@pytest.mark.parametrize("handshake", [close, illegal_state])
def test_fault_03_the_listener_does_not_expect_sasl(connect: Connect, handshake: Handler) -> None:
    with ScriptedBroker({MetadataRequest: close, SaslHandshakeRequest: handshake}) as fake:
        broker = connect(fake.address)
        with pytest.raises(BrokerConnectionError, match=r"^Metadata to broker 7 .* connection$"):
            metadata(broker)


def test_fault_03_a_listener_that_served_a_request_is_not_asked(connect: Connect) -> None:
    def serve_once(_request: MetadataRequest, _version: int) -> MetadataResponse:
        if len(fake.requests) > 2:
            raise Close
        return CLUSTER

    with ScriptedBroker({MetadataRequest: serve_once, SaslHandshakeRequest: close}) as fake:
        broker = connect(fake.address)
        metadata(broker)
        with pytest.raises(BrokerConnectionError, match=r"^Metadata to broker 7 "):
            metadata(broker)
        assert fake.connections == 1


def test_fault_05_a_silent_broker_costs_one_request_timeout(connect: Connect) -> None:
    with ScriptedBroker({MetadataRequest: lambda _r, _v: None}) as fake:
        broker = connect(fake.address, request_timeout_ms=100)
        with pytest.raises(
            KafkaTimeoutError, match=r"Metadata to broker 7 .*no response within 1?\d\d"
        ):
            metadata(broker)
        assert broker.is_closed


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (encode_response(CLUSTER, 13, 12345), "correlation id 12345, expected 1 "),
        (encode_response(CLUSTER, 13, 1) * 2, "correlation id 1, expected 2 "),
        (struct.pack(">ii", 9, 1) + b"\xff" * 5, r"^Metadata to broker 7 "),
    ],
    ids=["correlation id", "twice", "garbage"],
)
def test_fault_08_and_14_a_wrong_response_closes_the_connection(
    connect: Connect, data: bytes, error: str
) -> None:
    with ScriptedBroker({MetadataRequest: lambda _r, _v: data}) as fake:
        broker = connect(fake.address)
        with pytest.raises(KafkaError, match=error):
            for _ in range(2):
                metadata(broker)
        assert broker.is_closed


def test_two_threads_at_a_time_are_refused(connect: Connect) -> None:
    """The second one would take bytes of the first one's response."""
    arrived, respond = threading.Event(), threading.Event()

    def slow(request: Any, version: int) -> MetadataResponse:
        arrived.set()
        assert respond.wait(SOON / 1000)
        return MetadataResponse()

    with ScriptedBroker({MetadataRequest: slow}) as scripted:
        broker = connect(scripted.address)

        def ask() -> MetadataResponse:
            return broker.request(MetadataRequest(), MetadataResponse, Deadline.after(SOON))

        with ThreadPoolExecutor(1) as other:
            first = other.submit(ask)
            assert arrived.wait(SOON / 1000)
            with pytest.raises(RuntimeError, match="two threads at the same time"):
                ask()
            respond.set()
            assert first.result().topics == []
        assert ask().topics == []  # in turns it may be used by any thread
