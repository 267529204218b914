"""SASL on a connection that knows its versions: KIP-43, KIP-152, KIP-368.

The mechanisms are in the room `auth`; here their tokens travel, in one of two ways. Since 1.0 they
are the bodies of SaslAuthenticate. Before that, and to brokers of 0.9 without any handshake, they
are bare frames, and a broker says no by closing.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias, TypeVar

from kafka_protocol.auth.mechanism import Conversation, shown
from kafka_protocol.client.broker.connection import Wire
from kafka_protocol.client.clock import Deadline
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
from kafka_protocol.negotiation import BrokerVersions
from kafka_protocol.schema import Request, Response, VersionRange

R = TypeVar("R", bound=Response)

# When to authenticate again, as a part of the session's life: as Java's client does.
_AGAIN_AFTER: Final = (0.85, 0.95)
# Brokers refuse to do it again within a second; a session that has expired can still be renewed.
_LEAST_SESSION_MS: Final = 1_100
_MAX_TOKEN_BYTES: Final = 1024 * 1024
_SIZE: Final = struct.Struct(">i")


def authenticate(wire: Wire, security: SecurityOptions, deadline: Deadline) -> Deadline | None:
    """Show the broker who the client is, for the first time or once more; nothing is in flight.

    Args:
        wire: A connection that knows its versions.
        security: The mechanism and its credentials; nothing is done where SASL is not wanted.
        deadline: When it must be done.

    Returns:
        When to do it again; None for never.

    Raises:
        AuthenticationError: The broker refused, or is not the one that knows the credentials.
        UnsupportedVersionError: The broker is too old for the mechanism.
        BrokerConnectionError, KafkaTimeoutError, ProtocolError, BrokerError: As from any request.
        KafkaConfigError: A library is missing, or an option cannot be used.
    """
    if not security.uses_sasl:
        return None
    from kafka_protocol.client.broker import credentials  # noqa: PLC0415

    mechanism = security.mechanism or ""
    try:
        carry = _handshake(wire, mechanism, deadline)
        conversation = credentials.conversation_for(security, wire.address.host, deadline)
        return _converse(conversation, carry)
    except TlsError:
        raise
    except AuthenticationError as error:
        credentials.forget(security)
        raise AuthenticationError(f"{mechanism} to {wire.address}: {error}") from error


class _Answer(NamedTuple):
    """A token of the broker's, and how long the session lives in ms (0: for ever)."""

    token: bytes
    lifetime_ms: float = 0


# Sends a token, and returns the broker's answer. None where none comes: the conversation is over.
_Carry: TypeAlias = Callable[[bytes, Conversation], _Answer | None]


def _converse(conversation: Conversation, carry: _Carry) -> Deadline | None:
    token: bytes | None = conversation.first()
    answer: _Answer | None = None
    while token is not None:
        answer = carry(token, conversation)
        token = None if answer is None else conversation.answer(answer.token)
    if not conversation.is_done:
        raise AuthenticationError("the broker ended the exchange before it proved anything")
    if answer is None or answer.lifetime_ms <= 0:
        return None
    after_ms = answer.lifetime_ms * random.uniform(*_AGAIN_AFTER)  # noqa: S311
    return Deadline.after(max(_LEAST_SESSION_MS, after_ms))


def _handshake(wire: Wire, mechanism: str, deadline: Deadline) -> _Carry:
    """Agree on the mechanism, and on how tokens travel."""

    def as_requests(token: bytes, _: Conversation) -> _Answer:
        return _carry_in_request(wire, token, deadline)

    def as_frames(token: bytes, conversation: Conversation) -> _Answer | None:
        return _carry_in_frame(wire, token, conversation, deadline)

    versions = wire.connection.versions
    if versions is None:
        raise ProtocolError("versions are negotiated before anything else is sent")
    if versions.range_of(SaslHandshakeRequest) is None:
        if mechanism != "GSSAPI":
            raise UnsupportedVersionError(
                f"{wire.address}: a broker older than 0.10 knows GSSAPI only, and "
                f"kafka.sasl.mechanism is {mechanism}"
            )
        return as_frames
    version = _handshake_version(versions)
    response = _ask(
        wire,
        SaslHandshakeRequest(mechanism=mechanism),
        SaslHandshakeResponse,
        VersionRange(version, version),
        deadline,
    )
    _check_handshake(response, mechanism, wire)
    return as_requests if version else as_frames


def _handshake_version(versions: BrokerVersions) -> int:
    """1 where SaslAuthenticate can follow, else 0."""
    if versions.range_of(SaslAuthenticateRequest) is None:
        return 0
    return versions.choose(SaslHandshakeRequest)


def _check_handshake(response: SaslHandshakeResponse, mechanism: str, wire: Wire) -> None:
    code = response.error_code
    if code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        offered = ", ".join(map(shown, response.mechanisms)) or "none"
        raise AuthenticationError(
            f"the broker does not offer {mechanism}, but {offered}; see kafka.sasl.mechanism"
        )
    if code == ErrorCode.ILLEGAL_SASL_STATE:
        raise AuthenticationError(
            "the listener does not want SASL; set kafka.security.protocol to SSL or PLAINTEXT"
        )
    if code:
        raise BrokerError(code, f"SaslHandshake to {wire.address}")


def _carry_in_request(wire: Wire, token: bytes, deadline: Deadline) -> _Answer:
    waited_ms = deadline.remaining_ms
    response = _ask(
        wire,
        SaslAuthenticateRequest(auth_bytes=token),
        SaslAuthenticateResponse,
        SaslAuthenticateRequest.versions,
        deadline,
    )
    code, said = response.error_code, shown(response.error_message or "")
    if code == ErrorCode.SASL_AUTHENTICATION_FAILED:
        raise AuthenticationError(f"the broker refused: {said or 'it does not say why'}")
    if code:
        raise BrokerError(code, f"SaslAuthenticate to {wire.address}", said)
    # The broker's clock began before its answer was here.
    lifetime_ms = response.session_lifetime_ms
    waited_ms -= deadline.remaining_ms
    return _Answer(
        bytes(response.auth_bytes), max(1.0, lifetime_ms - waited_ms) if lifetime_ms > 0 else 0
    )


def _carry_in_frame(
    wire: Wire, token: bytes, conversation: Conversation, deadline: Deadline
) -> _Answer | None:
    wire.transport.write([_SIZE.pack(len(token)) + token], deadline)
    if conversation.is_done:
        return None
    try:
        return _Answer(_read_frame(wire, deadline))
    except ClosedByPeerError as error:
        # There is no other way to say no before SaslAuthenticate (KIP-152).
        raise AuthenticationError(
            f"{error}: brokers below 1.0 do so where they refuse; check the credentials"
        ) from error


def _read_frame(wire: Wire, deadline: Deadline) -> bytes:
    """A bare frame. Nothing can stand behind it: the broker waits for its answer."""
    data = b""
    size = None
    while size is None or len(data) < _SIZE.size + size:
        missing = _SIZE.size + (size or 0) - len(data)
        data += wire.transport.read(missing, deadline)
        if size is None and len(data) >= _SIZE.size:
            size = _SIZE.unpack_from(data)[0]
            if not 0 <= size <= _MAX_TOKEN_BYTES:
                raise ProtocolError(f"a SASL token of {size} bytes was announced")
    if len(data) > _SIZE.size + size:
        raise OutOfStepError("bytes came behind a SASL token that nothing had asked for")
    return data[_SIZE.size :]


def _ask(
    wire: Wire, request: Request, kind: type[R], needed: VersionRange, deadline: Deadline
) -> R:
    wire.send(request, deadline, needed=needed)
    response = wire.receive(deadline)
    if not isinstance(response, kind):
        raise OutOfStepError(f"{type(response).__name__} came, {kind.__name__} was due")
    return response
