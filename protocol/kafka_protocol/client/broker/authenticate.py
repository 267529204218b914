"""Exchanges SASL tokens on a connection that knows its versions: KIP-43, KIP-152, KIP-368.

Since 1.0 tokens are the bodies of SaslAuthenticate. Before that (with 0.9 even without a
handshake) they are bare frames, and a broker refuses them by closing the connection. The
mechanisms, which make and check the tokens, are in `auth`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias, TypeVar

from kafka_protocol.auth.mechanism import Conversation, shown
from kafka_protocol.client.broker.connection import BrokerConnection
from kafka_protocol.client.broker.refusals import refused
from kafka_protocol.client.clock import Deadline, uniform
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.transport import ClosedByPeerError
from kafka_protocol.errors import (
    AuthenticationError,
    BrokerError,
    ErrorCode,
    OutOfStepError,
    ProtocolError,
    TlsError,
    UnsupportedVersionError,
)
from kafka_protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafka_protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafka_protocol.versions.negotiation import BrokerVersions
from kafka_protocol.wire.schema import Request, Response, VersionRange

R = TypeVar("R", bound=Response)

# When to authenticate again, as a fraction of the session's lifetime, as in Java's client.
_RENEW_AFTER: Final = (0.85, 0.95)
# Brokers refuse a renewal within a second; a session that has expired can still be renewed.
_MIN_RENEW_MS: Final = 1_100
_MAX_TOKEN_BYTES: Final = 1024 * 1024
_SIZE: Final = struct.Struct(">i")


def authenticate(
    connection: BrokerConnection, security: SecurityOptions, deadline: Deadline
) -> Deadline | None:
    """Authenticate the client on a connection that knows its versions, for the first time or again.

    No request may be in flight. Without SASL nothing is done.

    Returns:
        When to authenticate again; None for never.

    Raises:
        AuthenticationError: The broker refused, or could not prove that it knows the credentials.
        TooManyConnectionsError: The broker refused for now.
        UnsupportedVersionError: The broker is too old for the mechanism.
        BrokerConnectionError, KafkaTimeoutError, ProtocolError, BrokerError: As from any request.
        KafkaConfigError: A library is missing, or an option cannot be used.
    """
    if not security.uses_sasl:
        return None
    from kafka_protocol.client.broker import credentials  # noqa: PLC0415 - slow, and for SASL only

    mechanism = security.mechanism or ""
    try:
        exchange = _handshake(connection, mechanism, deadline)
        conversation = credentials.conversation_for(security, connection.address.host, deadline)
        return _converse(conversation, exchange)
    except TlsError:
        raise
    except AuthenticationError as error:
        credentials.forget(security)
        raise type(error)(f"{mechanism} to {connection.address}: {error}") from error


class _Challenge(NamedTuple):
    """The broker's token, and the lifetime of the session in ms (0: no limit)."""

    token: bytes
    lifetime_ms: float = 0


# Sends a token and returns the broker's token; None if the conversation ends without one.
_Exchange: TypeAlias = Callable[[bytes, Conversation], _Challenge | None]


def _converse(conversation: Conversation, exchange: _Exchange) -> Deadline | None:
    token: bytes | None = conversation.first()
    challenge: _Challenge | None = None
    while token is not None:
        challenge = exchange(token, conversation)
        token = None if challenge is None else conversation.respond(challenge.token)
    if not conversation.is_done:
        raise AuthenticationError("the broker ended the exchange before it proved its identity")
    if challenge is None or challenge.lifetime_ms <= 0:
        return None
    after_ms = challenge.lifetime_ms * uniform(*_RENEW_AFTER)
    return Deadline.after(max(_MIN_RENEW_MS, after_ms))


def _handshake(connection: BrokerConnection, mechanism: str, deadline: Deadline) -> _Exchange:
    """Agree on the mechanism, and choose how tokens are sent."""

    def in_requests(token: bytes, _: Conversation) -> _Challenge:
        return _exchange_in_request(connection, token, mechanism, deadline)

    def in_frames(token: bytes, conversation: Conversation) -> _Challenge | None:
        return _exchange_in_frames(connection, token, conversation, deadline)

    versions = connection.protocol.versions
    if versions is None:
        raise ProtocolError("versions are negotiated before anything else is sent")
    if versions.range_of(SaslHandshakeRequest) is None:
        if mechanism != "GSSAPI":
            raise UnsupportedVersionError(
                f"{connection.address}: a broker older than 0.10 knows GSSAPI only, and "
                f"kafka.sasl.mechanism is {mechanism}"
            )
        return in_frames
    version = _handshake_version(versions)
    response = _request(
        connection,
        SaslHandshakeRequest(mechanism=mechanism),
        SaslHandshakeResponse,
        VersionRange(version, version),
        deadline,
    )
    _check_handshake(response, mechanism, connection)
    return in_requests if version else in_frames


def _handshake_version(versions: BrokerVersions) -> int:
    """1 if SaslAuthenticate can follow, else 0."""
    if versions.range_of(SaslAuthenticateRequest) is None:
        return 0
    return versions.choose(SaslHandshakeRequest)


def _check_handshake(
    response: SaslHandshakeResponse, mechanism: str, connection: BrokerConnection
) -> None:
    code = response.error_code
    if code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        offered = ", ".join(map(shown, response.mechanisms)) or "none"
        raise AuthenticationError(
            f"the broker does not offer {mechanism}, but {offered}; see kafka.sasl.mechanism"
        )
    if code == ErrorCode.ILLEGAL_SASL_STATE:
        raise AuthenticationError(
            "the listener does not expect SASL; set kafka.security.protocol to SSL or PLAINTEXT"
        )
    if code:
        raise BrokerError(code, f"SaslHandshake to {connection.address}")


def _exchange_in_request(
    connection: BrokerConnection, token: bytes, mechanism: str, deadline: Deadline
) -> _Challenge:
    waited_ms = deadline.remaining_ms
    response = _request(
        connection,
        SaslAuthenticateRequest(auth_bytes=token),
        SaslAuthenticateResponse,
        SaslAuthenticateRequest.versions,
        deadline,
    )
    code, message = response.error_code, shown(response.error_message or "")
    if code == ErrorCode.SASL_AUTHENTICATION_FAILED:
        raise refused(message, mechanism)
    if code:
        raise BrokerError(code, f"SaslAuthenticate to {connection.address}", message)
    # The session started at the broker before its response arrived.
    lifetime_ms = response.session_lifetime_ms
    waited_ms -= deadline.remaining_ms
    return _Challenge(
        bytes(response.auth_bytes), max(1.0, lifetime_ms - waited_ms) if lifetime_ms > 0 else 0
    )


def _exchange_in_frames(
    connection: BrokerConnection, token: bytes, conversation: Conversation, deadline: Deadline
) -> _Challenge | None:
    connection.transport.write([_SIZE.pack(len(token)) + token], deadline)
    if conversation.is_done:
        return None
    try:
        return _Challenge(_read_frame(connection, deadline))
    except ClosedByPeerError as error:
        # Brokers without SaslAuthenticate (KIP-152) have no other way to refuse.
        raise AuthenticationError(
            f"{error}: brokers below 1.0 do so to refuse a client; check the credentials"
        ) from error


def _read_frame(connection: BrokerConnection, deadline: Deadline) -> bytes:
    """Read a bare frame. No bytes can follow it: the broker waits for the next token."""
    data = b""
    size = None
    while size is None or len(data) < _SIZE.size + size:
        missing = _SIZE.size + (size or 0) - len(data)
        data += connection.transport.read(missing, deadline)
        if size is None and len(data) >= _SIZE.size:
            size = _SIZE.unpack_from(data)[0]
            if not 0 <= size <= _MAX_TOKEN_BYTES:
                raise ProtocolError(f"a SASL token of {size} bytes was announced")
    if len(data) > _SIZE.size + size:
        raise OutOfStepError("unexpected bytes came after a SASL token")
    return data[_SIZE.size :]


def _request(
    connection: BrokerConnection,
    request: Request,
    kind: type[R],
    needed: VersionRange,
    deadline: Deadline,
) -> R:
    connection.send(request, deadline, needed=needed)
    response = connection.receive(deadline)
    if not isinstance(response, kind):
        raise OutOfStepError(f"{type(response).__name__} came instead of {kind.__name__}")
    return response
