"""SASL on a connection, against a scripted broker: both ways of tokens, refusals, sessions."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.broker import authenticate as room
from kafka_protocol.client.broker import credentials
from kafka_protocol.client.broker.authenticate import authenticate
from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.broker.connection import Wire
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import Address, ClientConfig
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
from kafka_protocol.messages.api_versions import ApiVersionsRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafka_protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafka_protocol.negotiation import BrokerVersions
from kafka_protocol.schema import VersionRange
from tests.fakes.broker import Close, ScriptedBroker
from tests.fakes.tls import listening
from tests.secret_check import PASSWORD

SOON = 5_000
PLAIN_TOKEN = b"\0alice\0" + PASSWORD.encode()
OFFERED = ["PLAIN", "SCRAM-SHA-512"]


def config(address: Address, **options: object) -> ClientConfig:
    plain = SecurityOptions(
        protocol="SASL_PLAINTEXT", mechanism="PLAIN", username="alice", password=Secret(PASSWORD)
    )
    security = replace(plain, **options)  # type: ignore[arg-type]
    return ClientConfig(bootstrap_servers=(address,), security=security)


class Listener:
    """What a broker with SASL answers, and what it heard.

    Args:
        lifetimes_ms: Of the first sessions; those after them do not end.
    """

    def __init__(self, *lifetimes_ms: int) -> None:
        self.heard: list[str] = []
        self.lifetimes_ms = iter(lifetimes_ms)

    def handshake(self, request: SaslHandshakeRequest, version: int) -> Any:
        self.heard.append(f"{request.mechanism} v{version}")
        if request.mechanism not in OFFERED:
            code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            return SaslHandshakeResponse(error_code=code, mechanisms=OFFERED)
        return SaslHandshakeResponse(mechanisms=OFFERED)

    def authenticate(self, request: SaslAuthenticateRequest, _: int) -> Any:
        self.heard.append("token")
        if bytes(request.auth_bytes) != PLAIN_TOKEN:
            return SaslAuthenticateResponse(error_code=58, error_message="no such user\n")
        return SaslAuthenticateResponse(session_lifetime_ms=next(self.lifetimes_ms, 0))

    def metadata(self, _: MetadataRequest, __: int) -> Any:
        self.heard.append("metadata")
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
def connected(scripted: ScriptedBroker, **options: object) -> Iterator[Broker]:
    broker = Broker(scripted.address, 1, config(scripted.address, **options), Deadline.after(SOON))
    try:
        yield broker
    finally:
        broker.close()


def soon() -> Deadline:
    return Deadline.after(SOON)


def ask(broker: Broker) -> None:
    broker.request(MetadataRequest(topics=[]), MetadataResponse, soon())


def test_authenticates_before_anything_else() -> None:
    listener = Listener()
    with listener.serve() as scripted, connected(scripted) as broker:
        ask(broker)
    assert listener.heard == ["PLAIN v1", "token", "metadata"]


def test_nothing_is_done_where_sasl_is_not_wanted() -> None:
    listener = Listener()
    with listener.serve() as scripted, connected(scripted, protocol="PLAINTEXT") as broker:
        ask(broker)
    assert listener.heard == ["metadata"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"password": Secret("wrong")}, r"^PLAIN to .*: the broker refused: no such user\?$"),
        ({"mechanism": "SCRAM-SHA-256"}, "does not offer SCRAM-SHA-256, but PLAIN, SCRAM-SHA-512"),
    ],
)
def test_a_refusal_is_final(options: dict[str, object], reason: str) -> None:
    """One try on one connection: brokers count failures, and lock accounts."""
    listener = Listener()
    with listener.serve() as scripted:
        cluster = Cluster(
            replace(config(scripted.address, **options), bootstrap_servers=(scripted.address,) * 3)
        )
        with pytest.raises(AuthenticationError, match=reason):
            cluster.topics([], soon())
        cluster.close()
    assert scripted.connections == 1


@pytest.mark.parametrize(
    ("api", "answer", "kind", "reason"),
    [
        (
            SaslHandshakeRequest,
            SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE),
            AuthenticationError,
            "does not want SASL",
        ),
        (
            SaslHandshakeRequest,
            SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION),
            BrokerError,
            "SaslHandshake to .*UNSUPPORTED_VERSION",
        ),
        (
            SaslHandshakeRequest,
            SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM),
            AuthenticationError,
            "does not offer PLAIN, but none",
        ),
        (
            SaslAuthenticateRequest,
            SaslAuthenticateResponse(error_code=58),
            AuthenticationError,
            "refused: it does not say why",
        ),
        (
            SaslAuthenticateRequest,
            SaslAuthenticateResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message="odd"),
            BrokerError,
            r"SaslAuthenticate to .*ILLEGAL_SASL_STATE \(34\): odd",
        ),
        (
            SaslAuthenticateRequest,
            SaslAuthenticateResponse(auth_bytes=b"more"),
            AuthenticationError,
            "4 bytes after the end of the exchange",
        ),
        (SaslAuthenticateRequest, Close(), BrokerConnectionError, "^SASL to broker 1"),
        (SaslAuthenticateRequest, None, KafkaTimeoutError, r"^SASL to broker 1 .*: no answer"),
    ],
)
def test_what_a_broker_may_say(api: Any, answer: Any, kind: type[KafkaError], reason: str) -> None:
    def handler(_: Any, __: int) -> Any:
        if isinstance(answer, Close):
            raise answer
        return answer

    with Listener().serve() as scripted:
        scripted.handlers[api] = handler
        with pytest.raises(kind, match=reason):
            Broker(scripted.address, 1, config(scripted.address), Deadline.after(500))


# --- Bare frames --------------------------------------------------------------------------------


class _Script:
    """Says its lines, whatever it hears."""

    def __init__(self, *lines: bytes, ends_with_last: bool = False) -> None:
        self._lines = list(lines)
        self._ends_with_last = ends_with_last
        self.heard: list[bytes] = []
        self.is_done = False

    def first(self) -> bytes:
        return self._next() or b""

    def answer(self, challenge: bytes) -> bytes | None:
        self.heard.append(challenge)
        return self._next()

    def _next(self) -> bytes | None:
        line = self._lines.pop(0) if self._lines else None
        self.is_done = line is None or (self._ends_with_last and not self._lines)
        return line


def frame(token: bytes) -> bytes:
    return struct.pack(">i", len(token)) + token


@contextmanager
def bare_wire(serve: Callable[[socket.socket], None]) -> Iterator[Wire]:
    """A connection to something that has neither handshake nor headers, as 0.9."""
    with listening(serve) as address:
        wire = Wire(address, config(address), soon())
        wire.connection.versions = BrokerVersions({}, "as of 0.9")
        try:
            yield wire
        finally:
            wire.close()


def scripted_by(conversation: _Script) -> Any:
    return {"GSSAPI": lambda *_: conversation}


def kerberos() -> SecurityOptions:
    return SecurityOptions(protocol="SASL_PLAINTEXT", mechanism="GSSAPI")


def read_frame(sock: socket.socket) -> bytes:
    size = struct.unpack(">i", sock.recv(4, socket.MSG_WAITALL))[0]
    return sock.recv(size, socket.MSG_WAITALL)


def test_tokens_without_a_handshake(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.9: the first bytes on the wire are a ticket. Nothing follows GSSAPI's last token."""
    heard = []

    def serve(sock: socket.socket) -> None:
        heard.append(read_frame(sock))
        for piece in (b"\0\0", b"\0\3", b"o", b"ne"):
            sock.sendall(piece)
        heard.append(read_frame(sock))
        sock.sendall(frame(b""))
        heard.append(read_frame(sock))

    conversation = _Script(b"1", b"22", b"333", ends_with_last=True)
    monkeypatch.setattr(credentials, "_CONVERSATIONS", scripted_by(conversation))
    with bare_wire(serve) as wire:
        assert authenticate(wire, kerberos(), soon()) is None
    assert conversation.heard == [b"one", b""]
    assert heard == [b"1", b"22", b"333"]


@pytest.mark.parametrize(
    ("reply", "kind", "reason"),
    [
        (b"", AuthenticationError, r"brokers below 1\.0 do so where they refuse"),
        (b"\0\0", AuthenticationError, r"brokers below 1\.0 do so where they refuse"),
        (b"\xff\xff\xff\xff", ProtocolError, "a SASL token of -1 bytes"),
        (b"\x7f\0\0\0", ProtocolError, "a SASL token of 2130706432 bytes"),
        (frame(b"a") + b"b", OutOfStepError, "behind a SASL token"),
    ],
)
def test_answers_that_are_none(
    monkeypatch: pytest.MonkeyPatch, reply: bytes, kind: type[KafkaError], reason: str
) -> None:
    def serve(sock: socket.socket) -> None:
        read_frame(sock)
        sock.sendall(reply)

    monkeypatch.setattr(credentials, "_CONVERSATIONS", scripted_by(_Script(b"1", b"2")))
    with bare_wire(serve) as wire, pytest.raises(kind, match=reason):
        authenticate(wire, kerberos(), soon())


def test_brokers_without_a_handshake_know_kerberos_only() -> None:
    with bare_wire(lambda _: None) as wire:
        with pytest.raises(UnsupportedVersionError, match=r"older than 0\.10 knows GSSAPI only"):
            authenticate(wire, config(wire.address).security, soon())


class _Frames:
    """A wire that holds what a broker sent."""

    def __init__(self, data: bytes, piece: int) -> None:
        self._pieces = [data[i : i + piece] for i in range(0, len(data), piece)]
        self.transport = self

    def read(self, _: int, __: Deadline) -> bytes:
        if not self._pieces:
            raise ClosedByPeerError("closed")
        return self._pieces.pop(0)


@given(st.binary(max_size=40), st.integers(1, 50))
def test_a_frame_in_pieces_of_any_size(token: bytes, piece: int) -> None:
    wire: Any = _Frames(frame(token), piece)
    assert room._read_frame(wire, soon()) == token


@given(st.binary(max_size=40), st.integers(1, 50))
def test_nothing_but_our_own_errors_comes_out(data: bytes, piece: int) -> None:
    wire: Any = _Frames(data, piece)
    try:
        room._read_frame(wire, soon())
    except KafkaError as error:
        assert str(error)


def test_an_exchange_that_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unproven(_Script):
        def answer(self, challenge: bytes) -> bytes | None:
            super().answer(challenge)
            self.is_done = False
            return None

    monkeypatch.setattr(credentials, "_CONVERSATIONS", scripted_by(Unproven(b"1")))
    with bare_wire(lambda sock: sock.sendall(frame(read_frame(sock)))) as wire:
        with pytest.raises(AuthenticationError, match="before it proved anything"):
            authenticate(wire, kerberos(), soon())


def test_trouble_with_a_token_endpoint_is_not_the_broker_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise TlsError("idp:443 cannot be trusted")

    monkeypatch.setattr(credentials, "_CONVERSATIONS", {"GSSAPI": fail})
    with bare_wire(lambda _: None) as wire, pytest.raises(TlsError, match=r"^idp:443 cannot be"):
        authenticate(wire, kerberos(), soon())


def test_versions_come_first() -> None:
    with bare_wire(lambda _: None) as wire:
        wire.connection.versions = None
        with pytest.raises(ProtocolError, match="negotiated before anything else"):
            authenticate(wire, kerberos(), soon())


# --- Sessions (KIP-368) -------------------------------------------------------------------------


def test_a_session_without_an_end_is_never_renewed() -> None:
    with Listener().serve() as scripted, connected(scripted) as broker:
        assert broker._renew_at is None


def test_a_session_is_renewed_in_its_last_tenth_or_so() -> None:
    with Listener(100_000).serve() as scripted, connected(scripted) as broker:
        assert broker._renew_at is not None
        assert 80_000 < broker._renew_at.remaining_ms <= 95_000


def test_requests_in_flight_are_answered_before_a_renewal() -> None:
    """Two in flight, one more: its sender waits, and all three get their own answers."""
    listener = Listener(3_600_000)
    with listener.serve() as scripted, connected(scripted) as broker:
        sent = [broker.send(MetadataRequest(topics=[]), soon()) for _ in range(2)]
        broker._renew_at = Deadline.after(0)
        sent.append(broker.send(MetadataRequest(topics=[]), soon()))
        assert broker.in_flight == 3
        assert broker._renew_at is None  # an answer without a lifetime ends the renewals
        for request in sent:
            assert broker.receive(request, MetadataResponse, soon()).cluster_id == "c"
        assert broker.in_flight == 0
        ask(broker)
    assert listener.heard == [
        *("PLAIN v1", "token", "metadata", "metadata"),
        *("PLAIN v1", "token", "metadata", "metadata"),
    ]


def test_answers_are_kept_in_order() -> None:
    listener = Listener(3_600_000)
    with listener.serve() as scripted, connected(scripted) as broker:
        first, second = (broker.send(MetadataRequest(topics=[]), soon()) for _ in range(2))
        broker._renew_at = Deadline.after(0)
        broker.send(MetadataRequest(topics=[]), soon())
        with pytest.raises(BrokerConnectionError, match="its answer is not due"):
            broker.receive(second, MetadataResponse, soon())
        assert broker.is_closed
        assert first.correlation_id != second.correlation_id


def test_a_renewal_that_is_refused_closes_the_connection() -> None:
    listener = Listener(3_600_000)
    with listener.serve() as scripted, connected(scripted) as broker:
        scripted.handlers[SaslAuthenticateRequest] = lambda *_: SaslAuthenticateResponse(
            error_code=58, error_message="token revoked"
        )
        broker._renew_at = Deadline.after(0)
        with pytest.raises(AuthenticationError, match="token revoked"):
            ask(broker)
        assert broker.is_closed
    assert listener.heard == ["PLAIN v1", "token", "PLAIN v1"]


def test_handshake_versions() -> None:
    both = {
        SaslHandshakeRequest.api_key: VersionRange(0, 1),
        SaslAuthenticateRequest.api_key: VersionRange(0, 2),
    }
    old = {SaslHandshakeRequest.api_key: VersionRange(0, 0)}
    odd = {SaslHandshakeRequest.api_key: VersionRange(0, 1)}
    assert [room._handshake_version(BrokerVersions(r, "")) for r in (both, old, odd)] == [1, 0, 0]
    assert ApiVersionsRequest.api_key not in both
