"""PushTelemetry (key 72): metrics for the brokers, in OpenTelemetry's format (KIP-714).

To the broker that answered GetTelemetrySubscriptions.
"""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    boolean,
    bytes_,
    field,
    int8,
    int16,
    int32,
    uuid,
)


class PushTelemetryResponse(Response, api_key=72, versions="0", flexible="0+"):
    """The outcome."""

    throttle_time_ms: int32 = field()
    # UNKNOWN_SUBSCRIPTION_ID: request the subscription again.
    # TELEMETRY_TOO_LARGE: more than telemetry_max_bytes.
    # THROTTLING_QUOTA_EXCEEDED: before push_interval_ms was over.
    # UNSUPPORTED_COMPRESSION_TYPE: not one of accepted_compression_types.
    # INVALID_RECORD: the broker's plug-in failed on the metrics.
    # INVALID_REQUEST: an earlier push was marked as terminating.
    error_code: int16 = field()


class PushTelemetryRequest(
    Request, api_key=72, versions="0", flexible="0+", response=PushTelemetryResponse
):
    """`terminating` marks the last push of a client that goes."""

    client_instance_id: uuid = field()
    subscription_id: int32 = field()
    terminating: boolean = field()
    compression_type: int8 = field()
    metrics: bytes_ = field()
