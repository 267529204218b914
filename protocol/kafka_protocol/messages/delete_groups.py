"""DeleteGroups (key 42): delete groups with their offsets (KIP-229). Ask their coordinator."""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int16, int32, string


class DeleteGroupsResponse(Response, api_key=42, versions="0-3", flexible="2+"):
    """v1+: throttled after the response (KIP-219). v3+: with the broker's explanation."""

    throttle_time_ms: int32 = field()

    class DeletableGroupResult(Struct):
        """The outcome for one group."""

        group_id: string = field()
        # NON_EMPTY_GROUP: it has members. GROUP_ID_NOT_FOUND: it is not there.
        # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS: retry.
        # GROUP_AUTHORIZATION_FAILED: DELETE is lacking.
        # GROUP_DELETION_FAILED: v3+; another part of it cannot be deleted, such as its topology.
        error_code: int16 = field()
        error_message: string | None = field(
            versions="3+", nullable="3+", default=None, ignorable=True
        )

    results: list[DeletableGroupResult] = field()


class DeleteGroupsRequest(
    Request, api_key=42, versions="0-3", flexible="2+", response=DeleteGroupsResponse
):
    """Groups of any kind."""

    groups_names: list[string] = field()
