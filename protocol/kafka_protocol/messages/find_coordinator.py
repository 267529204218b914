"""FindCoordinator (key 10): the broker that minds a group or a transactional id.

KIP-98 (v1+: transactions), KIP-699 (v4+: many keys at once), KIP-932 (v6+: share groups).
"""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int8, int16, int32, string

GROUP = 0
TRANSACTION = 1
SHARE = 2  # keys are "group:topic-id:partition"


class FindCoordinatorResponse(Response, api_key=10, versions="0-6", flexible="3+"):
    """One coordinator below v4, a list since. v2+: throttled after the response."""

    throttle_time_ms: int32 = field(versions="1+", ignorable=True)
    # COORDINATOR_NOT_AVAILABLE: its internal topic is being created, or has no leader; retry.
    # INVALID_REQUEST: a key type that the broker does not know.
    # GROUP_AUTHORIZATION_FAILED, TRANSACTIONAL_ID_AUTHORIZATION_FAILED: DESCRIBE is lacking.
    error_code: int16 = field(versions="0-3")
    error_message: string | None = field(versions="1-3", nullable="1-3", ignorable=True)
    node_id: int32 = field(versions="0-3")
    host: string = field(versions="0-3")
    port: int32 = field(versions="0-3")

    class Coordinator(Struct):
        """The coordinator of one key; errors as above."""

        key: string = field(versions="4+")
        node_id: int32 = field(versions="4+")
        host: string = field(versions="4+")
        port: int32 = field(versions="4+")
        error_code: int16 = field(versions="4+")
        error_message: string | None = field(versions="4+", nullable="4+", ignorable=True)

    coordinators: list[Coordinator] = field(versions="4+")


class FindCoordinatorRequest(
    Request, api_key=10, versions="0-6", flexible="3+", response=FindCoordinatorResponse
):
    """Any broker responds."""

    key: string = field(versions="0-3")
    key_type: int8 = field(versions="1+")
    coordinator_keys: list[string] = field(versions="4+")
