"""DescribeDelegationToken (key 41): tokens by owner (KIP-48). Any broker responds.

`hmac` is a secret: it is the token's password.
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


class DescribeDelegationTokenResponse(Response, api_key=41, versions="0-3", flexible="2+"):
    """v1+: throttled after the response (KIP-219)."""

    # DELEGATION_TOKEN_AUTH_DISABLED: the brokers have no secret key for tokens.
    # DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: not over this kind of connection, or not with a token.
    error_code: int16 = field()

    class DescribedDelegationToken(Struct):
        """A token; times in ms since 1970."""

        principal_type: string = field()
        principal_name: string = field()
        token_requester_principal_type: string = field(versions="3+")
        token_requester_principal_name: string = field(versions="3+")
        issue_timestamp: int64 = field()
        expiry_timestamp: int64 = field()
        max_timestamp: int64 = field()
        token_id: string = field()
        hmac: bytes_ = field()

        class DescribedDelegationTokenRenewer(Struct):
            """Who may renew it."""

            principal_type: string = field()
            principal_name: string = field()

        renewers: list[DescribedDelegationTokenRenewer] = field()

    tokens: list[DescribedDelegationToken] = field()
    throttle_time_ms: int32 = field()


class DescribeDelegationTokenRequest(
    Request, api_key=41, versions="0-3", flexible="2+", response=DescribeDelegationTokenResponse
):
    """Null owners mean all that the client may see."""

    class DescribeDelegationTokenOwner(Struct):
        """A user."""

        principal_type: string = field()
        principal_name: string = field()

    owners: list[DescribeDelegationTokenOwner] | None = field(nullable="0+")
