"""Frames of responses, as a broker makes them."""

from __future__ import annotations

from kafka_protocol.messages.api_versions import ApiVersionsResponse
from kafka_protocol.wire.codec import write_message
from kafka_protocol.wire.framing import response_header_version
from kafka_protocol.wire.primitives import Out
from kafka_protocol.wire.schema import Response


def encode_response(response: Response, version: int, correlation_id: int) -> bytes:
    """A whole frame, including its size."""
    out: Out = [correlation_id.to_bytes(4, "big")]
    if response_header_version(type(response), version) == 1:
        out.append(b"\x00")
    # The response to an unsupported version of ApiVersions has the layout of v0.
    is_refusal = isinstance(response, ApiVersionsResponse) and response.error_code == 35
    write_message(response, 0 if is_refusal else version, out)
    frame = b"".join(out)
    return len(frame).to_bytes(4, "big") + frame
