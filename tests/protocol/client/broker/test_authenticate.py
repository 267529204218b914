"""SASL against a scripted broker: tokens in requests and in bare frames, refusals, sessions."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.broker.authenticate import (
    _Challenge,
    _converse,
    _handshake_version,
    _read_frame,
    authenticate,
)
from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.broker.connection import BrokerConnection
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.transport import ClosedByPeerError
from kafka_protocol.errors import (
    AuthenticationError,
    BrokerConnectionError,
    BrokerError,
    ErrorCode,
    KafkaError,
    KafkaTimeoutError,
    OutOfStepError,
    ProtocolError,
    TlsError,
    UnsupportedVersionError,
)
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafka_protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafka_protocol.versions.negotiation import BrokerVersions
from kafka_protocol.wire.schema import VersionRange
from tests.fakes.broker import Close, ScriptedBroker
from tests.fakes.gssapi import installed_library
from tests.fakes.tls import listening
from tests.secret_check import PASSWORD

SOON = 5_000
PLAIN_TOKEN = b"\0alice\0" + PASSWORD.encode()
OFFERED = ["PLAIN", "OAUTHBEARER"]


def config(address: Address, **options: Any) -> ClientConfig:
    plain = {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN", "username": "alice"}
    security = SecurityOptions(**(plain | {"password": Secret(PASSWORD)} | options))
    return ClientConfig(bootstrap_servers=(address,), security=security)


class Listener:
    """The handlers of a broker with SASL, and the requests it received.

    Args:
        lifetimes_ms: Of the first sessions; all later ones have no limit.
    """

    def __init__(self, *lifetimes_ms: int) -> None:
        self.requests: list[str] = []
        self.lifetimes_ms = iter(lifetimes_ms)

    def handshake(self, request: SaslHandshakeRequest, version: int) -> Any:
        self.requests.append(f"{request.mechanism} v{version}")
        if request.mechanism not in OFFERED:
            code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            return SaslHandshakeResponse(error_code=code, mechanisms=OFFERED)
        return SaslHandshakeResponse(mechanisms=OFFERED)

    def authenticate(self, request: SaslAuthenticateRequest, _: int) -> Any:
        self.requests.append("token")
        if bytes(request.auth_bytes) != PLAIN_TOKEN:
            return SaslAuthenticateResponse(error_code=58, error_message="no such user\n")
        return SaslAuthenticateResponse(session_lifetime_ms=next(self.lifetimes_ms, 0))

    def metadata(self, _: MetadataRequest, __: int) -> Any:
        self.requests.append("metadata")
        return MetadataResponse(cluster_id="c")

    def serve(self) -> ScriptedBroker:
        return ScriptedBroker(
            {
                SaslHandshakeRequest: self.handshake,
                SaslAuthenticateRequest: self.authenticate,
                MetadataRequest: self.metadata,
            }
        )


@contextmanager
def connected(scripted: ScriptedBroker, **options: Any) -> Iterator[Broker]:
    with closing(
        Broker(scripted.address, 1, config(scripted.address, **options), Deadline.after(SOON))
    ) as broker:
        yield broker


def expire_session(broker: Broker) -> None:
    broker._renew_at = Deadline.after(0)


def soon() -> Deadline:
    return Deadline.after(SOON)


def request_metadata(broker: Broker) -> None:
    broker.request(MetadataRequest(topics=[]), MetadataResponse, soon())


def test_authenticates_before_anything_else() -> None:
    listener = Listener()
    with listener.serve() as scripted, connected(scripted) as broker:
        request_metadata(broker)
    assert listener.requests == ["PLAIN v1", "token", "metadata"]


def test_without_sasl_nothing_is_sent() -> None:
    listener = Listener()
    with listener.serve() as scripted, connected(scripted, protocol="PLAINTEXT") as broker:
        request_metadata(broker)
    assert listener.requests == ["metadata"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"password": Secret("wrong")}, r"^PLAIN to .*: the broker refused: no such user\?$"),
        ({"mechanism": "SCRAM-SHA-256"}, "does not offer SCRAM-SHA-256, but PLAIN, OAUTHBEARER"),
    ],
    ids=["password", "mechanism"],
)
def test_a_refusal_is_not_retried(options: dict[str, Any], reason: str) -> None:
    """Brokers count failures, and lock accounts."""
    listener = Listener()
    with listener.serve() as scripted:
        cluster = Cluster(
            replace(config(scripted.address, **options), bootstrap_servers=(scripted.address,) * 3)
        )
        with pytest.raises(AuthenticationError, match=reason):
            cluster.topics([], soon())
        cluster.close()
    assert scripted.connections == 1


def handshake(error: ErrorCode) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=error)


REFUSED = SaslAuthenticateResponse(error_code=58)
ODD = SaslAuthenticateResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message="odd")
MORE = SaslAuthenticateResponse(auth_bytes=b"more")
TEXT_OF_ODD = r"SaslAuthenticate to .*ILLEGAL_SASL_STATE \(34\): odd"


@pytest.mark.parametrize(
    ("response", "kind", "reason"),
    [
        (handshake(ErrorCode.ILLEGAL_SASL_STATE), AuthenticationError, "does not expect SASL"),
        (
            handshake(ErrorCode.UNSUPPORTED_VERSION),
            BrokerError,
            "SaslHandshake to .*UNSUPPORTED_VERSION",
        ),
        (
            handshake(ErrorCode.UNSUPPORTED_SASL_MECHANISM),
            AuthenticationError,
            "does not offer PLAIN, but none",
        ),
        (REFUSED, AuthenticationError, "refused: it gives no reason"),
        (ODD, BrokerError, TEXT_OF_ODD),
        (MORE, AuthenticationError, "4 bytes after the end of the exchange"),
        (Close(), BrokerConnectionError, "^SASL to broker 1"),
        (None, KafkaTimeoutError, r"^SASL to broker 1 .*: no response"),
    ],
    ids=[
        *("no SASL", "handshake version", "no mechanism", "refused", "other error"),
        *("extra token", "closed", "silent"),
    ],
)
def test_error_responses(response: Any, kind: type[KafkaError], reason: str) -> None:
    def handler(_: Any, __: int) -> Any:
        if isinstance(response, Close):
            raise response
        return response

    is_handshake = isinstance(response, SaslHandshakeResponse)
    with Listener().serve() as scripted:
        scripted.handlers[SaslHandshakeRequest if is_handshake else SaslAuthenticateRequest] = (
            handler
        )
        limit = Deadline.after(SOON if response is not None else 500)
        with pytest.raises(kind, match=reason):
            Broker(scripted.address, 1, config(scripted.address), limit)


# --- Bare frames ---------------------------------------------------------------------------------


def frame(token: bytes) -> bytes:
    return struct.pack(">i", len(token)) + token


@contextmanager
def bare_connection(serve: Callable[[socket.socket], object]) -> Iterator[BrokerConnection]:
    """A connection to a server without SaslHandshake, like a broker of 0.9."""
    with listening(serve) as address:
        connection = BrokerConnection(address, config(address), soon())
        connection.protocol.versions = BrokerVersions({}, "as of 0.9")
        with closing(connection):
            yield connection


def kerberos() -> SecurityOptions:
    return SecurityOptions(protocol="SASL_PLAINTEXT", mechanism="GSSAPI")


def read_frame(sock: socket.socket) -> bytes:
    size = struct.unpack(">i", sock.recv(4, socket.MSG_WAITALL))[0]
    return sock.recv(size, socket.MSG_WAITALL)


def test_tokens_without_a_handshake(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.9: the first bytes are a ticket. The broker sends nothing after GSSAPI's last token."""
    installed_library(monkeypatch)
    received = []

    def serve(sock: socket.socket) -> None:
        received.append(read_frame(sock))
        for piece in (b"\0\0", b"\0\6", b"A", b"P-REP"):
            sock.sendall(piece)
        received.append(read_frame(sock))
        sock.sendall(frame(b"wrapped:\1\0\0\0"))
        received.append(read_frame(sock))

    with bare_connection(serve) as connection:
        assert authenticate(connection, kerberos(), soon()) is None
    assert received == [b"AP-REQ", b"", b"wrapped:\1\0\0\0"]


@pytest.mark.parametrize(
    ("reply", "kind", "reason"),
    [
        (b"", AuthenticationError, r"brokers below 1\.0 do so to refuse a client"),
        (b"\0\0", AuthenticationError, r"brokers below 1\.0 do so to refuse a client"),
        (b"\xff\xff\xff\xff", ProtocolError, "a SASL token of -1 bytes"),
        (b"\x7f\0\0\0", ProtocolError, "a SASL token of 2130706432 bytes"),
        (frame(b"a") + b"b", OutOfStepError, "unexpected bytes came after a SASL token"),
    ],
    ids=["closed", "closed in the size", "negative size", "huge size", "extra bytes"],
)
def test_bad_bare_frames(
    monkeypatch: pytest.MonkeyPatch, reply: bytes, kind: type[KafkaError], reason: str
) -> None:
    def serve(sock: socket.socket) -> None:
        read_frame(sock)
        sock.sendall(reply)

    installed_library(monkeypatch)
    with bare_connection(serve) as connection, pytest.raises(kind, match=reason):
        authenticate(connection, kerberos(), soon())


def test_without_a_handshake_only_gssapi_works() -> None:
    with bare_connection(lambda _: None) as connection:
        with pytest.raises(UnsupportedVersionError, match=r"older than 0\.10 knows GSSAPI only"):
            authenticate(connection, config(connection.address).security, soon())


class _Frames:
    """A connection with the bytes that a broker sent."""

    def __init__(self, data: bytes, piece: int) -> None:
        self._pieces = [data[i : i + piece] for i in range(0, len(data), piece)]
        self.transport = self

    def read(self, _: int, __: Deadline) -> bytes:
        if not self._pieces:
            raise ClosedByPeerError("closed")
        return self._pieces.pop(0)


@given(st.binary(max_size=40), st.integers(1, 50))
def test_frames_in_pieces_of_any_size(token: bytes, piece: int) -> None:
    connection: Any = _Frames(frame(token), piece)
    assert _read_frame(connection, soon()) == token


@given(st.binary(max_size=40), st.integers(1, 50))
def test_any_bytes_raise_only_kafka_errors(data: bytes, piece: int) -> None:
    connection: Any = _Frames(data, piece)
    try:
        _read_frame(connection, soon())
    except KafkaError as error:
        assert str(error)


class Unproven:
    """A conversation that ends without the proof of a broker's identity."""

    is_done = False

    def first(self) -> bytes:
        return b"1"

    def respond(self, _: bytes) -> None:
        return None


def test_an_exchange_without_proof_is_refused() -> None:
    with pytest.raises(AuthenticationError, match="before it proved its identity"):
        _converse(Unproven(), lambda token, _: _Challenge(token))


def called_untrusted() -> str:
    raise TlsError("idp:443 cannot be trusted")


def test_token_endpoint_errors_do_not_name_the_broker() -> None:
    callback = f"{__name__}:called_untrusted"
    with (
        Listener().serve() as scripted,
        pytest.raises(TlsError, match=r"^idp:443 cannot be"),
        connected(scripted, mechanism="OAUTHBEARER", token_callback=callback),
    ):
        pass


def test_versions_come_first() -> None:
    with bare_connection(lambda _: None) as connection:
        connection.protocol.versions = None
        with pytest.raises(ProtocolError, match="negotiated before anything else"):
            authenticate(connection, kerberos(), soon())


# --- Sessions (KIP-368) --------------------------------------------------------------------------


def test_a_session_is_renewed_before_its_end() -> None:
    with Listener(100_000).serve() as scripted, connected(scripted) as broker:
        assert broker._renew_at is not None
        assert 80_000 < broker._renew_at.remaining_ms <= 95_000


def test_fault_53_responses_in_flight_are_read_before_a_renewal() -> None:
    """Two in flight, then a third: its send waits, and each gets its own response."""
    listener = Listener(3_600_000)
    with listener.serve() as scripted, connected(scripted) as broker:
        sent = [broker.send(MetadataRequest(topics=[]), soon()) for _ in range(2)]
        expire_session(broker)
        sent.append(broker.send(MetadataRequest(topics=[]), soon()))
        assert broker.in_flight == 3
        assert broker._renew_at is None  # a response without a lifetime ends the renewals
        for request in sent:
            assert broker.receive(request, MetadataResponse, soon()).cluster_id == "c"
        assert broker.in_flight == 0
        request_metadata(broker)
    assert listener.requests == [
        *("PLAIN v1", "token", "metadata", "metadata"),
        *("PLAIN v1", "token", "metadata", "metadata"),
    ]


def test_early_responses_must_be_received_in_order() -> None:
    listener = Listener(3_600_000)
    with listener.serve() as scripted, connected(scripted) as broker:
        first, second = (broker.send(MetadataRequest(topics=[]), soon()) for _ in range(2))
        expire_session(broker)
        broker.send(MetadataRequest(topics=[]), soon())
        with pytest.raises(BrokerConnectionError, match="its response is not the next"):
            broker.receive(second, MetadataResponse, soon())
        assert broker.is_closed
        assert first.correlation_id != second.correlation_id


def test_fault_53_a_refused_renewal_closes_the_connection() -> None:
    listener = Listener(3_600_000)
    with listener.serve() as scripted, connected(scripted) as broker:
        scripted.handlers[SaslAuthenticateRequest] = lambda *_: SaslAuthenticateResponse(
            error_code=58, error_message="token revoked"
        )
        expire_session(broker)
        with pytest.raises(AuthenticationError, match="token revoked"):
            request_metadata(broker)
        assert broker.is_closed
    assert listener.requests == ["PLAIN v1", "token", "PLAIN v1"]


def test_handshake_versions() -> None:
    both = {
        SaslHandshakeRequest.api_key: VersionRange(0, 1),
        SaslAuthenticateRequest.api_key: VersionRange(0, 2),
    }
    old = {SaslHandshakeRequest.api_key: VersionRange(0, 0)}
    odd = {SaslHandshakeRequest.api_key: VersionRange(0, 1)}
    assert [_handshake_version(BrokerVersions(r, "")) for r in (both, old, odd)] == [1, 0, 0]
