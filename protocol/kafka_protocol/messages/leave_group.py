"""LeaveGroup (key 13): leave a classic group at once. Ask the group's coordinator."""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int16, int32, string


class LeaveGroupResponse(Response, api_key=13, versions="0-5", flexible="4+"):
    """v3+: several members at once (KIP-345)."""

    throttle_time_ms: int32 = field(versions="1+", ignorable=True)
    # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE: find the coordinator again.
    # COORDINATOR_LOAD_IN_PROGRESS: it is reading its log; retry.
    # UNKNOWN_MEMBER_ID: v0-2; the member had left already, so this is a success.
    # GROUP_AUTHORIZATION_FAILED: READ is lacking.
    error_code: int16 = field()

    class MemberResponse(Struct):
        """The outcome for one member."""

        member_id: string = field(versions="3+")
        group_instance_id: string | None = field(versions="3+", nullable="3+")
        # UNKNOWN_MEMBER_ID: it was no longer a member.
        # FENCED_INSTANCE_ID: another member has the instance id.
        error_code: int16 = field(versions="3+")

    members: list[MemberResponse] = field(versions="3+")


class LeaveGroupRequest(
    Request, api_key=13, versions="0-5", flexible="4+", response=LeaveGroupResponse
):
    """v5+: with a reason, which brokers log (KIP-800)."""

    group_id: string = field()
    member_id: string = field(versions="0-2")

    class MemberIdentity(Struct):
        """A member that leaves."""

        member_id: string = field(versions="3+")
        group_instance_id: string | None = field(versions="3+", nullable="3+", default=None)
        reason: string | None = field(versions="5+", nullable="5+", default=None, ignorable=True)

    members: list[MemberIdentity] = field(versions="3+")
