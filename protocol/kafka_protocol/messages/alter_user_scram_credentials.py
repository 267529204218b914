"""AlterUserScramCredentials (key 51): set and remove SCRAM credentials (KIP-554).

KRaft: any broker. The client salts and hashes; the password itself is never sent.
"""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    Struct,
    bytes_,
    field,
    int8,
    int16,
    int32,
    string,
)


class AlterUserScramCredentialsResponse(Response, api_key=51, versions="0", flexible="0+"):
    """A result for each user."""

    throttle_time_ms: int32 = field()

    class AlterUserScramCredentialsResult(Struct):
        """The outcome for one user."""

        user: string = field()
        # RESOURCE_NOT_FOUND: no such credential. DUPLICATE_RESOURCE: the user was named twice.
        # UNACCEPTABLE_CREDENTIAL: an empty name, or too few or too many iterations.
        # UNSUPPORTED_SASL_MECHANISM: no such number.
        # CLUSTER_AUTHORIZATION_FAILED: ALTER on the cluster is lacking.
        error_code: int16 = field()
        error_message: string | None = field(nullable="0+")

    results: list[AlterUserScramCredentialsResult] = field()


class AlterUserScramCredentialsRequest(
    Request, api_key=51, versions="0", flexible="0+", response=AlterUserScramCredentialsResponse
):
    """A user may stand in one of the lists only."""

    class ScramCredentialDeletion(Struct):
        """A credential to remove."""

        name: string = field()
        mechanism: int8 = field()

    deletions: list[ScramCredentialDeletion] = field()

    class ScramCredentialUpsertion(Struct):
        """A credential to set; 1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512."""

        name: string = field()
        mechanism: int8 = field()
        iterations: int32 = field()
        salt: bytes_ = field()
        salted_password: bytes_ = field()

    upsertions: list[ScramCredentialUpsertion] = field()
