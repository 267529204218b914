"""Quotas: a client that is too fast is told to wait, or waits (KIP-13, KIP-219)."""

from __future__ import annotations

from typing import Any, Final

from tests.simulation.kafka.call import Call

_LONGEST_MS: Final = 10_000  # one window of quotas


def respond_within_quota(call: Call, response: Any, size: int, *, mutes: bool) -> None:
    """Respond to a request that moved `size` bytes of records.

    Args:
        mutes: Whether the response comes at once and the connection is muted; else the response
            comes late, as it did before Kafka 2.0.
    """
    throttle_ms = _charge(call, size)
    response.throttle_time_ms = round(throttle_ms)
    if mutes or not throttle_ms:
        call.respond(response, throttle_ms)
    else:
        call.broker.after(throttle_ms, lambda: call.respond(response))


def _charge(call: Call, size: int) -> float:
    broker = call.broker
    if broker.quota is None:
        return 0
    passed_ms = broker.now_ms - broker.owed_since_ms
    broker.owed_since_ms = broker.now_ms
    broker.owed_bytes = max(0, broker.owed_bytes - broker.quota * passed_ms / 1000) + size
    over_ms = 1000 * broker.owed_bytes / broker.quota - 1000
    return min(max(0, over_ms), _LONGEST_MS)
