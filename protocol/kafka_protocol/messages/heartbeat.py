"""Heartbeat (key 12): stay a member of a classic group. Ask the group's coordinator."""

from kafka_protocol.wire.schema import Request, Response, field, int16, int32, string


class HeartbeatResponse(Response, api_key=12, versions="0-4", flexible="4+"):
    """v2+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field(versions="1+", ignorable=True)
    # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE: find the coordinator again.
    # COORDINATOR_LOAD_IN_PROGRESS: it is reading its log; retry.
    # UNKNOWN_MEMBER_ID: the member was removed; join anew.
    # FENCED_INSTANCE_ID: another client has the instance id (KIP-345).
    # GROUP_AUTHORIZATION_FAILED: READ is lacking.
    # REBALANCE_IN_PROGRESS: join again. ILLEGAL_GENERATION: the group has moved on.
    error_code: int16 = field()


class HeartbeatRequest(
    Request, api_key=12, versions="0-4", flexible="4+", response=HeartbeatResponse
):
    """v3+: static members (KIP-345)."""

    group_id: string = field()
    generation_id: int32 = field()
    member_id: string = field()
    group_instance_id: string | None = field(versions="3+", nullable="3+", default=None)
