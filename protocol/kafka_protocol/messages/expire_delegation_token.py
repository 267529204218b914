"""ExpireDelegationToken (key 40): end a token (KIP-48). KRaft: any broker."""

from kafka_protocol.wire.schema import Request, Response, bytes_, field, int16, int32, int64


class ExpireDelegationTokenResponse(Response, api_key=40, versions="0-2", flexible="2+"):
    """v1+: throttled after the response (KIP-219)."""

    # DELEGATION_TOKEN_AUTH_DISABLED: the brokers have no secret key for tokens.
    # DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: not over this kind of connection, or not with a token.
    # DELEGATION_TOKEN_NOT_FOUND: no such token. DELEGATION_TOKEN_EXPIRED: it has ended.
    # DELEGATION_TOKEN_OWNER_MISMATCH: the client is neither its owner nor a renewer.
    error_code: int16 = field()
    expiry_timestamp_ms: int64 = field()
    throttle_time_ms: int32 = field()


class ExpireDelegationTokenRequest(
    Request, api_key=40, versions="0-2", flexible="2+", response=ExpireDelegationTokenResponse
):
    """A negative period ends it at once."""

    hmac: bytes_ = field()
    expiry_time_period_ms: int64 = field()
