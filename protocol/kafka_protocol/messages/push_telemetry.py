"""PushTelemetry (key 72): metrics for the brokers, in OpenTelemetry's format (KIP-714)."""

from kafka_protocol.schema import (
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
    # UNKNOWN_SUBSCRIPTION_ID: ask for the subscription anew.
    # TELEMETRY_TOO_LARGE, THROTTLING_QUOTA_EXCEEDED: less, or later.
    # UNSUPPORTED_COMPRESSION_TYPE, INVALID_RECORD: as they say.
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
