"""SaslAuthenticate (key 36): one step of a SASL exchange. KIP-152; KIP-368 (v1: lifetime).

The bytes are credentials: a struct's repr shows their length only.
"""

from kafka_protocol.wire.schema import Request, Response, bytes_, field, int16, int64, string


class SaslAuthenticateResponse(Response, api_key=36, versions="0-2", flexible="2+"):
    """The server's next token."""

    # SASL_AUTHENTICATION_FAILED: refused, with the reason that the client may know; the broker
    #   closes the connection, late on purpose (connection.failed.authentication.delay.ms).
    # ILLEGAL_SASL_STATE: no handshake before.
    error_code: int16 = field()
    error_message: string | None = field(nullable="0+")
    auth_bytes: bytes_ = field()
    # After this many ms the session must authenticate again; 0 for never.
    session_lifetime_ms: int64 = field(versions="1+", ignorable=True)


class SaslAuthenticateRequest(
    Request, api_key=36, versions="0-2", flexible="2+", response=SaslAuthenticateResponse
):
    """The client's next token."""

    auth_bytes: bytes_ = field()
