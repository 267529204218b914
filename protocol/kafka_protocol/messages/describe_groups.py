"""DescribeGroups (key 15): state and members of classic groups. Ask their coordinator."""

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


class DescribeGroupsResponse(Response, api_key=15, versions="0-6", flexible="5+"):
    """v2+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field(versions="1+", ignorable=True)

    class DescribedGroup(Struct):
        """A group."""

        # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS: retry.
        # GROUP_ID_NOT_FOUND: v6+; below it a group that is not there is "Dead" (KIP-1043).
        # GROUP_AUTHORIZATION_FAILED: DESCRIBE is lacking.
        error_code: int16 = field()
        error_message: string | None = field(versions="6+", nullable="6+", default=None)
        group_id: string = field()
        group_state: string = field()
        protocol_type: string = field()
        protocol_data: string = field()

        class DescribedGroupMember(Struct):
            """A member; metadata and assignment are the protocol's own bytes."""

            member_id: string = field()
            group_instance_id: string | None = field(
                versions="4+", nullable="4+", default=None, ignorable=True
            )
            client_id: string = field()
            client_host: string = field()
            member_metadata: bytes_ = field()
            member_assignment: bytes_ = field()

        members: list[DescribedGroupMember] = field()
        authorized_operations: int32 = field(versions="3+", default=-2147483648)

    groups: list[DescribedGroup] = field()


class DescribeGroupsRequest(
    Request, api_key=15, versions="0-6", flexible="5+", response=DescribeGroupsResponse
):
    """v3+: can ask for the operations that the client may do (KIP-430)."""

    groups: list[string] = field()
    include_authorized_operations: boolean = field(versions="3+")
