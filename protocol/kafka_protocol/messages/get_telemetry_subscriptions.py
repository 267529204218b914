"""GetTelemetrySubscriptions (key 71): which metrics brokers want of this client (KIP-714).

Any broker that has the API.
"""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    boolean,
    field,
    int8,
    int16,
    int32,
    string,
    uuid,
)


class GetTelemetrySubscriptionsResponse(Response, api_key=71, versions="0", flexible="0+"):
    """Metrics by prefix; an empty prefix means all of them."""

    throttle_time_ms: int32 = field()
    # THROTTLING_QUOTA_EXCEEDED: requested again before push_interval_ms was over.
    # INVALID_REQUEST: the client's last push was marked as terminating.
    error_code: int16 = field()
    client_instance_id: uuid = field()
    subscription_id: int32 = field()
    accepted_compression_types: list[int8] = field()
    push_interval_ms: int32 = field()
    telemetry_max_bytes: int32 = field()
    delta_temporality: boolean = field()
    requested_metrics: list[string] = field()


class GetTelemetrySubscriptionsRequest(
    Request, api_key=71, versions="0", flexible="0+", response=GetTelemetrySubscriptionsResponse
):
    """The zero id requests a new one."""

    client_instance_id: uuid = field()
