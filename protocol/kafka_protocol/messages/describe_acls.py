"""DescribeAcls (key 29): the access rules that match a filter (KIP-140). Any broker responds.

v1+: pattern types (KIP-290). v3+: rules about users (KIP-373). Types and operations are the numbers
of Java's ResourceType, PatternType, AclOperation and AclPermissionType.
"""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int8, int16, int32, string


class DescribeAclsResponse(Response, api_key=29, versions="0-3", flexible="2+"):
    """v1+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field()
    # CLUSTER_AUTHORIZATION_FAILED: DESCRIBE on the cluster is lacking.
    # SECURITY_DISABLED: the brokers have no authorizer.
    # INVALID_REQUEST: the filter cannot be.
    error_code: int16 = field()
    error_message: string | None = field(nullable="0+")

    class DescribeAclsResource(Struct):
        """The rules of one resource."""

        resource_type: int8 = field()
        resource_name: string = field()
        pattern_type: int8 = field(versions="1+", default=3)

        class AclDescription(Struct):
            """A rule."""

            principal: string = field()
            host: string = field()
            operation: int8 = field()
            permission_type: int8 = field()

        acls: list[AclDescription] = field()

    resources: list[DescribeAclsResource] = field()


class DescribeAclsRequest(
    Request, api_key=29, versions="0-3", flexible="2+", response=DescribeAclsResponse
):
    """Null matches everything."""

    resource_type_filter: int8 = field()
    resource_name_filter: string | None = field(nullable="0+")
    pattern_type_filter: int8 = field(versions="1+", default=3)
    principal_filter: string | None = field(nullable="0+")
    host_filter: string | None = field(nullable="0+")
    operation: int8 = field()
    permission_type: int8 = field()
