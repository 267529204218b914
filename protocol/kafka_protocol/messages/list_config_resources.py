"""ListConfigResources (key 74): the resources with configs (KIP-714, KIP-1142).

v0 was ListClientMetricsResources, and lists client metrics only. Any KRaft broker answers.
"""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int8, int16, int32, string


class ListConfigResourcesResponse(Response, api_key=74, versions="0-1", flexible="0+"):
    """v1+: resources of each type."""

    throttle_time_ms: int32 = field()
    # CLUSTER_AUTHORIZATION_FAILED: DESCRIBE_CONFIGS on the cluster is lacking.
    # UNSUPPORTED_VERSION: v1+; no such type.
    error_code: int16 = field()

    class ConfigResource(Struct):
        """A resource."""

        resource_name: string = field()
        resource_type: int8 = field(versions="1+", default=16, ignorable=True)

    config_resources: list[ConfigResource] = field()


class ListConfigResourcesRequest(
    Request, api_key=74, versions="0-1", flexible="0+", response=ListConfigResourcesResponse
):
    """v1+: an empty list means all types."""

    resource_types: list[int8] = field(versions="1+")
