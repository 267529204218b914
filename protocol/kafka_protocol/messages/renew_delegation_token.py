"""RenewDelegationToken (key 39): let a token live longer (KIP-48). KRaft: any broker."""

from kafka_protocol.wire.schema import Request, Response, bytes_, field, int16, int32, int64


class RenewDelegationTokenResponse(Response, api_key=39, versions="0-2", flexible="2+"):
    """v1+: throttled after the response (KIP-219)."""

    # DELEGATION_TOKEN_AUTH_DISABLED: the brokers have no secret key for tokens.
    # DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: not over this kind of connection, or not with a token.
    # DELEGATION_TOKEN_NOT_FOUND: no such token. DELEGATION_TOKEN_EXPIRED: it has ended.
    # DELEGATION_TOKEN_OWNER_MISMATCH: the client is neither its owner nor a renewer.
    error_code: int16 = field()
    expiry_timestamp_ms: int64 = field()
    throttle_time_ms: int32 = field()


class RenewDelegationTokenRequest(
    Request, api_key=39, versions="0-2", flexible="2+", response=RenewDelegationTokenResponse
):
    """-1: the broker's own period."""

    hmac: bytes_ = field()
    renew_period_ms: int64 = field()
