"""IncrementalAlterConfigs (key 44): change some settings and leave the others (KIP-339).

Any broker takes settings of topics; the broker itself its own.
"""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    Struct,
    boolean,
    field,
    int8,
    int16,
    int32,
    string,
)


class IncrementalAlterConfigsResponse(Response, api_key=44, versions="0-1", flexible="1+"):
    """A result for each resource."""

    throttle_time_ms: int32 = field()

    class AlterConfigsResourceResponse(Struct):
        """The outcome for one resource."""

        # TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED: ALTER_CONFIGS is lacking.
        # INVALID_CONFIG: a name or value cannot be. POLICY_VIOLATION: the cluster's policy refuses.
        # UNKNOWN_TOPIC_OR_PARTITION: no such topic. INVALID_REQUEST: send it to another broker.
        error_code: int16 = field()
        error_message: string | None = field(nullable="0+")
        resource_type: int8 = field()
        resource_name: string = field()

    responses: list[AlterConfigsResourceResponse] = field()


class IncrementalAlterConfigsRequest(
    Request, api_key=44, versions="0-1", flexible="1+", response=IncrementalAlterConfigsResponse
):
    """`validate_only` changes nothing."""

    class AlterConfigsResource(Struct):
        """A resource and its changes."""

        resource_type: int8 = field()
        resource_name: string = field()

        class AlterableConfig(Struct):
            """0 sets, 1 deletes, 2 appends to a list, 3 subtracts from it."""

            name: string = field()
            config_operation: int8 = field()
            value: string | None = field(nullable="0+")

        configs: list[AlterableConfig] = field()

    resources: list[AlterConfigsResource] = field()
    validate_only: boolean = field()
