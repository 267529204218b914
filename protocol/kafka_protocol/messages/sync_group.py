"""SyncGroup (key 14): the leader hands in the assignment, every member gets its share.

Ask the group's coordinator.
"""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    Struct,
    bytes_,
    field,
    int16,
    int32,
    string,
)


class SyncGroupResponse(Response, api_key=14, versions="0-5", flexible="4+"):
    """v2+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field(versions="1+", ignorable=True)
    # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE: find the coordinator again.
    # COORDINATOR_LOAD_IN_PROGRESS: it is reading its log; retry.
    # UNKNOWN_MEMBER_ID: the member was removed; join anew.
    # FENCED_INSTANCE_ID: another client has the instance id (KIP-345).
    # GROUP_AUTHORIZATION_FAILED: READ is lacking.
    # REBALANCE_IN_PROGRESS: join again. ILLEGAL_GENERATION: the group has moved on.
    # INCONSISTENT_GROUP_PROTOCOL: v5+; type or protocol is not the group's.
    error_code: int16 = field()
    protocol_type: string | None = field(versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name: string | None = field(versions="5+", nullable="5+", default=None, ignorable=True)
    assignment: bytes_ = field()


class SyncGroupRequest(
    Request, api_key=14, versions="0-5", flexible="4+", response=SyncGroupResponse
):
    """v5+: names type and protocol, so that a mix-up shows (KIP-559)."""

    group_id: string = field()
    generation_id: int32 = field()
    member_id: string = field()
    group_instance_id: string | None = field(versions="3+", nullable="3+", default=None)
    protocol_type: string | None = field(versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name: string | None = field(versions="5+", nullable="5+", default=None, ignorable=True)

    class SyncGroupRequestAssignment(Struct):
        """A member's share."""

        member_id: string = field()
        assignment: bytes_ = field()

    assignments: list[SyncGroupRequestAssignment] = field()
