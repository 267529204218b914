"""SaslHandshake and SaslAuthenticate, where connections have tokens: every token is taken.

A broker takes only so many connections in a second, and refuses the others (`services`).
"""

from __future__ import annotations

from typing import Final

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kafka_protocol.messages.sasl_handshake import SaslHandshakeResponse
from tests.simulation.kafka.call import Call

_SECOND_MS: Final = 1_000
_SESSION_MS: Final = 8_000


def handshake(call: Call) -> None:
    """Agree on the mechanism."""
    if call.broker.settings.service.connects:
        call.respond(SaslHandshakeResponse(mechanisms=["OAUTHBEARER"]))
    else:
        call.respond(SaslHandshakeResponse(error_code=int(ErrorCode.ILLEGAL_SASL_STATE)))


def authenticate(call: Call) -> None:
    """Take a token, or refuse a new connection after too many others; a renewal is none."""
    broker, session = call.broker, call.session
    if not broker.settings.service.connects:
        call.respond(SaslAuthenticateResponse(error_code=int(ErrorCode.ILLEGAL_SASL_STATE)))
        return
    logins = broker.logins
    is_new = session is None or not session.logged_in_until_ms
    is_full = len(logins) == logins.maxlen and broker.now_ms - logins[0] < _SECOND_MS
    if is_new and is_full:
        error = int(ErrorCode.SASL_AUTHENTICATION_FAILED)
        text = "[3f1c]: Too many connects"
        call.respond(SaslAuthenticateResponse(error_code=error, error_message=text))
        call.close()
        return
    if is_new:
        logins.append(broker.now_ms)
    if session is not None:
        session.logged_in_until_ms = broker.now_ms + _SESSION_MS
    call.respond(SaslAuthenticateResponse(session_lifetime_ms=_SESSION_MS))
