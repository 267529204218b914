"""DescribeUserScramCredentials (key 50): who can use which SCRAM mechanism (KIP-554).

KRaft: any broker. It returns iterations, never keys.
"""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int8, int16, int32, string


class DescribeUserScramCredentialsResponse(Response, api_key=50, versions="0", flexible="0+"):
    """A result for each user."""

    throttle_time_ms: int32 = field()
    # CLUSTER_AUTHORIZATION_FAILED: DESCRIBE on the cluster is lacking.
    error_code: int16 = field()
    error_message: string | None = field(nullable="0+")

    class DescribeUserScramCredentialsResult(Struct):
        """A user."""

        user: string = field()
        # RESOURCE_NOT_FOUND: the user has no credentials.
        # DUPLICATE_RESOURCE: the user was named twice.
        error_code: int16 = field()
        error_message: string | None = field(nullable="0+")

        class CredentialInfo(Struct):
            """A mechanism: 1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512."""

            mechanism: int8 = field()
            iterations: int32 = field()

        credential_infos: list[CredentialInfo] = field()

    results: list[DescribeUserScramCredentialsResult] = field()


class DescribeUserScramCredentialsRequest(
    Request, api_key=50, versions="0", flexible="0+", response=DescribeUserScramCredentialsResponse
):
    """Null or empty means all users."""

    class UserName(Struct):
        """A user."""

        name: string = field()

    users: list[UserName] | None = field(nullable="0+")
