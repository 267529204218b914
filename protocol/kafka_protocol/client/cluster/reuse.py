"""Which open connections are used again. No I/O but a look at a socket."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import monotonic_ms

# A connection that had a response so recently is not looked at, which costs system calls.
_QUIET_MS: Final = 1_000


def is_trusted(broker: Broker, others: Iterable[Broker]) -> bool:
    """Whether a connection is open, and not older than a time-out of another one.

    The cause of the time-out may have made this one half-open too. A new connection shows that at
    once, a request only after request.timeout.ms. Load balancers and brokers close connections that
    were quiet: a request on one would fail, and be repeated after a pause.
    """
    if broker.is_closed or (_was_quiet(broker) and broker.has_response):
        return False
    silent_since_ms = max((each.silent_since_ms or 0.0 for each in others), default=0.0)
    return broker.in_flight > 0 or broker.last_response_ms >= silent_since_ms


def _was_quiet(broker: Broker) -> bool:
    """Whether a connection awaits no response, and had none for a while."""
    return not broker.in_flight and monotonic_ms() - broker.last_response_ms > _QUIET_MS
