"""CreateAcls (key 30): add access rules (KIP-140). KRaft: any broker, which forwards."""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int8, int16, int32, string


class CreateAclsResponse(Response, api_key=30, versions="0-3", flexible="2+"):
    """A result for each rule, in order."""

    throttle_time_ms: int32 = field()

    class AclCreationResult(Struct):
        """The outcome for one rule."""

        # CLUSTER_AUTHORIZATION_FAILED: ALTER on the cluster is lacking.
        # SECURITY_DISABLED: the brokers have no authorizer.
        # INVALID_REQUEST: the rule cannot be.
        # NOT_CONTROLLER: send it to the controller.
        error_code: int16 = field()
        error_message: string | None = field(nullable="0+")

    results: list[AclCreationResult] = field()


class CreateAclsRequest(
    Request, api_key=30, versions="0-3", flexible="2+", response=CreateAclsResponse
):
    """v1+: pattern types (KIP-290). v3+: rules about users (KIP-373)."""

    class AclCreation(Struct):
        """A rule."""

        resource_type: int8 = field()
        resource_name: string = field()
        resource_pattern_type: int8 = field(versions="1+", default=3)
        principal: string = field()
        host: string = field()
        operation: int8 = field()
        permission_type: int8 = field()

    creations: list[AclCreation] = field()
