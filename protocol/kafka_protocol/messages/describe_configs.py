"""DescribeConfigs (key 32): settings of topics, brokers and others (KIP-133).

Any broker answers for topics; the broker itself for its own.
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


class DescribeConfigsResponse(Response, api_key=32, versions="0-4", flexible="4+"):
    """v2+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field()

    class DescribeConfigsResult(Struct):
        """The settings of one resource."""

        # TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED: DESCRIBE_CONFIGS is lacking.
        # UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION: no such topic.
        # INVALID_REQUEST: no such resource, or send it to another broker.
        error_code: int16 = field()
        error_message: string | None = field(nullable="0+")
        resource_type: int8 = field()
        resource_name: string = field()

        class DescribeConfigsResourceResult(Struct):
            """A setting; the value of a sensitive one is null."""

            name: string = field()
            value: string | None = field(nullable="0+")
            read_only: boolean = field()
            is_default: boolean = field(versions="0")
            config_source: int8 = field(versions="1+", default=-1, ignorable=True)
            is_sensitive: boolean = field()

            class DescribeConfigsSynonym(Struct):
                """The other sources of the value, in order of precedence (KIP-226)."""

                name: string = field(versions="1+")
                value: string | None = field(versions="1+", nullable="0+")
                source: int8 = field(versions="1+")

            synonyms: list[DescribeConfigsSynonym] = field(versions="1+", ignorable=True)
            config_type: int8 = field(versions="3+", ignorable=True)
            documentation: string | None = field(versions="3+", nullable="0+", ignorable=True)

        configs: list[DescribeConfigsResourceResult] = field()

    results: list[DescribeConfigsResult] = field()


class DescribeConfigsRequest(
    Request, api_key=32, versions="0-4", flexible="4+", response=DescribeConfigsResponse
):
    """v3+: can ask for documentation (KIP-569)."""

    class DescribeConfigsResource(Struct):
        """A resource; null keys mean all of its settings."""

        resource_type: int8 = field()
        resource_name: string = field()
        configuration_keys: list[string] | None = field(nullable="0+")

    resources: list[DescribeConfigsResource] = field()
    include_synonyms: boolean = field(versions="1+")
    include_documentation: boolean = field(versions="3+")
