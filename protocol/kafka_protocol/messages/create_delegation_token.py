"""CreateDelegationToken (key 38): a token to authenticate with in SCRAM (KIP-48).

KRaft: any broker, which forwards. `hmac` is a secret: it is the token's password.
"""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    Struct,
    bytes_,
    field,
    int16,
    int32,
    int64,
    string,
)


class CreateDelegationTokenResponse(Response, api_key=38, versions="0-3", flexible="2+"):
    """v1+: throttled after the response (KIP-219). Times in ms since 1970."""

    # DELEGATION_TOKEN_AUTH_DISABLED: the brokers have no secret key for tokens.
    # DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: not over this kind of connection, or not with a token.
    # DELEGATION_TOKEN_AUTHORIZATION_FAILED: v3+; CREATE_TOKENS on the owner is lacking.
    # INVALID_PRINCIPAL_TYPE: a renewer is not a user.
    error_code: int16 = field()
    principal_type: string = field()
    principal_name: string = field()
    token_requester_principal_type: string = field(versions="3+")
    token_requester_principal_name: string = field(versions="3+")
    issue_timestamp_ms: int64 = field()
    expiry_timestamp_ms: int64 = field()
    max_timestamp_ms: int64 = field()
    token_id: string = field()
    hmac: bytes_ = field()
    throttle_time_ms: int32 = field()


class CreateDelegationTokenRequest(
    Request, api_key=38, versions="0-3", flexible="2+", response=CreateDelegationTokenResponse
):
    """v3+: a token for another principal (KIP-373)."""

    owner_principal_type: string | None = field(versions="3+", nullable="3+")
    owner_principal_name: string | None = field(versions="3+", nullable="3+")

    class CreatableRenewers(Struct):
        """A principal that may renew it, besides the owner."""

        principal_type: string = field()
        principal_name: string = field()

    renewers: list[CreatableRenewers] = field()
    max_lifetime_ms: int64 = field()
