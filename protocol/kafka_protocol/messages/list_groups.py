"""ListGroups (key 16): the groups that a broker coordinates. Ask every broker."""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int16, int32, string


class ListGroupsResponse(Response, api_key=16, versions="0-5", flexible="3+"):
    """v2+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field(versions="1+", ignorable=True)
    # COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS: the list may lack groups; retry.
    error_code: int16 = field()

    class ListedGroup(Struct):
        """A group."""

        group_id: string = field()
        protocol_type: string = field()
        group_state: string = field(versions="4+", ignorable=True)
        group_type: string = field(versions="5+", ignorable=True)

    groups: list[ListedGroup] = field()


class ListGroupsRequest(
    Request, api_key=16, versions="0-5", flexible="3+", response=ListGroupsResponse
):
    """v4+: by state (KIP-518). v5+: by type (KIP-848)."""

    states_filter: list[string] = field(versions="4+")
    types_filter: list[string] = field(versions="5+")
