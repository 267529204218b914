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

from kafka_protocol.client.broker import api_versions, listener
from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.client import Address, ClientConfig
from kafka_protocol.client.config.security_options import SecurityOptions
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
from kafka_protocol.schema import Request, VersionRange
from tests.fakes.broker import Close, Handler, ScriptedBroker, versions_of
from tests.fakes.frames import encode_response
from tests.fakes.tls import foreign_server, listening

SOON = 5_000
TLS_HANDSHAKE = b"\x16"


def config(**options: Any) -> ClientConfig:
    return ClientConfig(bootstrap_servers=(Address("localhost", 1),), **options)


Connect: TypeAlias = Callable[..., Broker]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Connects to brokers, and closes the connections after the test."""
    # The kernel may give a port of another test again.
    monkeypatch.setattr(api_versions, "_remembered", {})
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


def test_needed_versions_narrow_the_choice(connect: Connect) -> None:
    with ScriptedBroker({MetadataRequest: lambda _r, _v: CLUSTER}) as fake:
        broker = connect(fake.address)
        metadata(broker, VersionRange(4, 8))
        assert fake.requests[-1][1] == 8
        with pytest.raises(UnsupportedVersionError, match=r"^broker 7 .*no common version"):
            metadata(broker, VersionRange(14, 20))
        assert metadata(broker).cluster_id == "c", (
            "nothing was sent, so the connection is still in step"
        )


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


def test_fault_11_the_version_that_worked_is_tried_for_a_while(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Afterwards the newest again: the broker may have been upgraded."""
    monkeypatch.setattr(api_versions, "_REMEMBERED_MS", 0)
    with ScriptedBroker({ApiVersionsRequest: refusing_above(3)}) as fake:
        connect(fake.address)
        connect(fake.address)
        assert [version for _, version in fake.requests] == [5, 3, 5, 3]


def test_fault_11_what_is_remembered_does_not_grow(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_versions, "_REMEMBERED_MS", 0)
    for _ in range(3):
        with ScriptedBroker({ApiVersionsRequest: refusing_above(3)}) as fake:
            connect(fake.address)
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


@pytest.mark.parametrize("ending", [close, silent])
def test_fault_11_a_broker_that_responded_once_is_not_old(
    connect: Connect, ending: Callable[[Request, int], None]
) -> None:
    """A paused broker wakes, and the network fails between the two steps of the negotiation."""

    def step_down_then_end(request: ApiVersionsRequest, version: int) -> ApiVersionsResponse | None:
        if version:
            return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
        ending(request, version)
        return None

    handlers: dict[type[Request], Handler] = {
        ApiVersionsRequest: step_down_then_end,
        ListOffsetsRequest: empty_list,
    }
    with ScriptedBroker(handlers) as fake:
        with pytest.raises((BrokerConnectionError, KafkaTimeoutError)):
            connect(fake.address, api_version_request_timeout_ms=QUICK_MS)


def new_broker(
    api_versions: Handler, list_offsets: Handler = empty_list
) -> dict[type[Request], Handler]:
    """What a broker with ApiVersions serves."""
    return {
        ApiVersionsRequest: api_versions,
        ListOffsetsRequest: list_offsets,
        MetadataRequest: lambda _r, _v: CLUSTER,
    }


def test_fault_11_a_lost_response_makes_no_broker_old(connect: Connect) -> None:
    """Of the first connection only; it stays open, and others are served."""

    def lose_first(_request: ApiVersionsRequest, _version: int) -> ApiVersionsResponse | None:
        if fake.connections == 1:
            return None
        return versions_of(MetadataRequest, ListOffsetsRequest)

    with ScriptedBroker(new_broker(lose_first)) as fake:
        broker = connect(fake.address, api_version_request_timeout_ms=QUICK_MS)
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


def test_fault_11_a_restarting_new_broker_is_not_taken_for_old(connect: Connect) -> None:
    def close_once(_request: ApiVersionsRequest, _version: int) -> ApiVersionsResponse:
        if fake.connections == 1:
            raise Close
        return versions_of(MetadataRequest, ListOffsetsRequest)

    with ScriptedBroker(new_broker(close_once)) as fake:
        broker = connect(fake.address)
        assert broker.versions.range_of(MetadataRequest) == MetadataRequest.versions
        assert metadata(broker).cluster_id == "c"


@pytest.mark.parametrize("old_request", [empty_list, close])
def test_fault_11_a_slow_new_broker_is_not_taken_for_old(
    connect: Connect, old_request: Callable[[ListOffsetsRequest, int], ListOffsetsResponse | None]
) -> None:
    got_old_request = threading.Event()

    def late(_request: ApiVersionsRequest, _version: int) -> ApiVersionsResponse:
        assert got_old_request.wait(SOON / 1000)
        return versions_of(MetadataRequest, ListOffsetsRequest)

    def probed(request: ListOffsetsRequest, version: int) -> ListOffsetsResponse | None:
        got_old_request.set()
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
            Broker(fake.address, 7, config(), Deadline.after(500))


@pytest.mark.parametrize(
    ("reply", "hint"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "an HTTP server answered; is the port right"),
        (b"\x15\x03\x01\x00\x02\x02\x16", "speaks TLS; set kafka.security.protocol"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "an SSH server answered"),
        (struct.pack(">i", -1), "frame of -1 bytes"),
        (struct.pack(">i", 3), "frame of 3 bytes"),
        (struct.pack(">i", 2**31 - 1), "frame of 2147483647 bytes"),
    ],
    ids=["HTTP", "TLS", "SSH", "negative", "too short", "too long"],
)
def test_fault_03_and_09_the_error_names_the_other_protocol(
    connect: Connect, reply: bytes, hint: str
) -> None:
    with foreign_server(reply) as address, pytest.raises(ProtocolError, match=hint) as caught:
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
def test_fault_03_tls_to_a_broker_that_is_stopping(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, waits_ms: int
) -> None:
    """Or to any server that closes, or waits where it does not see TLS."""
    monkeypatch.setattr(listener, "_PROBE_MS", 50)
    done = threading.Event()

    def serve(sock: socket.socket) -> None:
        if sock.recv(1) != TLS_HANDSHAKE:
            done.wait(waits_ms / 1000)

    with listening(serve) as address:
        with pytest.raises(BrokerConnectionError, match="does this listener speak TLS"):
            connect(address, security=SecurityOptions(protocol="SSL"))
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


def test_fault_04_closed_at_every_byte_of_a_response(connect: Connect) -> None:
    whole = encode_response(CLUSTER, 13, 1)
    for end in range(len(whole)):

        def cut(_request: MetadataRequest, _version: int, end: int = end) -> None:
            raise Close(whole[:end])

        with ScriptedBroker({MetadataRequest: cut}) as fake:
            broker = connect(fake.address)
            with pytest.raises(BrokerConnectionError, match=r"^Metadata to broker 7 "):
                metadata(broker)
            assert broker.is_closed


def test_fault_05_a_silent_broker_costs_one_request_timeout(connect: Connect) -> None:
    with ScriptedBroker({MetadataRequest: lambda _r, _v: None}) as fake:
        broker = connect(fake.address, request_timeout_ms=100)
        with pytest.raises(
            KafkaTimeoutError, match=r"Metadata to broker 7 .*no response within 1?\d\d"
        ):
            metadata(broker)
        assert broker.is_closed


def test_fault_08_a_wrong_correlation_id_closes_the_connection(connect: Connect) -> None:
    wrong = encode_response(CLUSTER, 13, 12345)
    with ScriptedBroker({MetadataRequest: lambda _r, _v: wrong}) as fake:
        broker = connect(fake.address)
        with pytest.raises(ProtocolError, match="correlation id 12345, expected 1 "):
            metadata(broker)
        assert broker.is_closed


def test_fault_08_an_extra_response(connect: Connect) -> None:
    whole = encode_response(CLUSTER, 13, 1)
    with ScriptedBroker({MetadataRequest: lambda _r, _v: whole * 2}) as fake:
        broker = connect(fake.address)
        metadata(broker)
        with pytest.raises(ProtocolError):
            metadata(broker)
        assert broker.is_closed


def test_fault_14_a_frame_of_garbage(connect: Connect) -> None:
    frame = struct.pack(">ii", 9, 1) + b"\xff" * 5
    with ScriptedBroker({MetadataRequest: lambda _r, _v: frame}) as fake:
        broker = connect(fake.address)
        with pytest.raises(KafkaError, match=r"^Metadata to broker 7 "):
            metadata(broker)


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
