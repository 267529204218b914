"""JoinGroup (key 11): become a member of a classic group. For the group's coordinator.

The response waits until all members have joined; one of them, the leader, then assigns partitions.
"""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    Struct,
    boolean,
    bytes_,
    field,
    int16,
    int32,
    string,
)


class JoinGroupResponse(Response, api_key=11, versions="0-9", flexible="6+"):
    """v3+: throttled after the response (KIP-219).

    v7+: the kind of the group as well (KIP-559). v9+: `skip_assignment` is true for a static leader
    that has come back, if the assignment still holds (KIP-814).
    """

    throttle_time_ms: int32 = field(versions="2+", ignorable=True)
    # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE: find the coordinator again.
    # COORDINATOR_LOAD_IN_PROGRESS: it is reading its log; retry.
    # UNKNOWN_MEMBER_ID: the member was removed; join anew, without a member id.
    # FENCED_INSTANCE_ID: another client has the instance id (KIP-345).
    # GROUP_AUTHORIZATION_FAILED: READ is lacking.
    # MEMBER_ID_REQUIRED: v4+; join again with the member id of this response (KIP-394).
    # INCONSISTENT_GROUP_PROTOCOL: no way to assign is common to all members, or the group is of
    #   another kind.
    # INVALID_SESSION_TIMEOUT: not within the broker's group.{min,max}.session.timeout.ms.
    # GROUP_MAX_SIZE_REACHED: the broker's group.max.size. INVALID_GROUP_ID: it is empty.
    error_code: int16 = field()
    generation_id: int32 = field(default=-1)
    protocol_type: string | None = field(versions="7+", nullable="7+", default=None, ignorable=True)
    protocol_name: string | None = field(nullable="7+")
    leader: string = field()
    skip_assignment: boolean = field(versions="9+")
    member_id: string = field()

    class JoinGroupResponseMember(Struct):
        """A member and its subscription; only in the leader's response."""

        member_id: string = field()
        group_instance_id: string | None = field(
            versions="5+", nullable="5+", default=None, ignorable=True
        )
        metadata: bytes_ = field()

    members: list[JoinGroupResponseMember] = field()


class JoinGroupRequest(
    Request, api_key=11, versions="0-9", flexible="6+", response=JoinGroupResponse
):
    """v1+: a rebalance may take its own time, not the session's (KIP-62).

    v5+: static members (KIP-345). v8+: with a reason, which brokers log (KIP-800).
    """

    group_id: string = field()
    session_timeout_ms: int32 = field()
    rebalance_timeout_ms: int32 = field(versions="1+", default=-1, ignorable=True)
    member_id: string = field()
    group_instance_id: string | None = field(versions="5+", nullable="5+", default=None)
    protocol_type: string = field()

    class JoinGroupRequestProtocol(Struct):
        """A way to assign that the member understands."""

        name: string = field()
        metadata: bytes_ = field()

    protocols: list[JoinGroupRequestProtocol] = field()
    reason: string | None = field(versions="8+", nullable="8+", default=None, ignorable=True)
