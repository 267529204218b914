"""AlterConfigs (key 33): replace all settings of a resource (KIP-133).

Settings that are not named go back to their defaults: IncrementalAlterConfigs is the safe one
(KIP-339). Any broker takes settings of topics; the broker itself its own.
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


class AlterConfigsResponse(Response, api_key=33, versions="0-2", flexible="2+"):
    """v1+: throttled after the response (KIP-219)."""

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


class AlterConfigsRequest(
    Request, api_key=33, versions="0-2", flexible="2+", response=AlterConfigsResponse
):
    """`validate_only` changes nothing."""

    class AlterConfigsResource(Struct):
        """A resource and all of its settings."""

        resource_type: int8 = field()
        resource_name: string = field()

        class AlterableConfig(Struct):
            """A setting."""

            name: string = field()
            value: string | None = field(nullable="0+")

        configs: list[AlterableConfig] = field()

    resources: list[AlterConfigsResource] = field()
    validate_only: boolean = field()
