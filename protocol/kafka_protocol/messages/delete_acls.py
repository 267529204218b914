"""DeleteAcls (key 31): remove the access rules that match filters (KIP-140).

KRaft: any broker, which forwards.
"""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int8, int16, int32, string


class DeleteAclsResponse(Response, api_key=31, versions="0-3", flexible="2+"):
    """A result for each filter, in order."""

    throttle_time_ms: int32 = field()

    class DeleteAclsFilterResult(Struct):
        """The outcome for one filter."""

        # CLUSTER_AUTHORIZATION_FAILED: ALTER on the cluster is lacking.
        # SECURITY_DISABLED: the brokers have no authorizer.
        # INVALID_REQUEST: the filter cannot be.
        error_code: int16 = field()
        error_message: string | None = field(nullable="0+")

        class DeleteAclsMatchingAcl(Struct):
            """A rule that matched."""

            # Why this one could not be removed.
            error_code: int16 = field()
            error_message: string | None = field(nullable="0+")
            resource_type: int8 = field()
            resource_name: string = field()
            pattern_type: int8 = field(versions="1+", default=3)
            principal: string = field()
            host: string = field()
            operation: int8 = field()
            permission_type: int8 = field()

        matching_acls: list[DeleteAclsMatchingAcl] = field()

    filter_results: list[DeleteAclsFilterResult] = field()


class DeleteAclsRequest(
    Request, api_key=31, versions="0-3", flexible="2+", response=DeleteAclsResponse
):
    """v1+: pattern types (KIP-290). v3+: rules about users (KIP-373)."""

    class DeleteAclsFilter(Struct):
        """Null matches everything."""

        resource_type_filter: int8 = field()
        resource_name_filter: string | None = field(nullable="0+")
        pattern_type_filter: int8 = field(versions="1+", default=3)
        principal_filter: string | None = field(nullable="0+")
        host_filter: string | None = field(nullable="0+")
        operation: int8 = field()
        permission_type: int8 = field()

    filters: list[DeleteAclsFilter] = field()
