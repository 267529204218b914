"""The time for which a broker throttles this client, because of a quota: noted, and waited for.

A broker from 2.0 on responds at once, and does not read from the connection for that time. Older
ones have waited before they responded.

Source: KIP-219.
"""

from __future__ import annotations

from kafka_protocol.client.clock import Deadline, sleep_ms
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.wait_observer import waiting_for
from kafka_protocol.errors import KafkaTimeoutError


class Throttling:
    """The throttling of one connection."""

    def __init__(self) -> None:
        self._end = Deadline.after(0)

    @property
    def is_over(self) -> bool:
        """Whether the broker reads requests."""
        return self._end.has_passed

    def begin(self, throttle_ms: int) -> None:
        """Note that the broker reads no request for so many ms."""
        self._end = Deadline.after(throttle_ms)

    def wait(self, context: str, address: Address, deadline: Deadline) -> None:
        """Wait until the broker at an address reads a request; `context` names both in the error.

        Raises:
            KafkaTimeoutError: It reads it only after the deadline.
        """
        throttled_ms, left_ms = self._end.remaining_ms, deadline.remaining_ms
        if throttled_ms > left_ms:
            raise KafkaTimeoutError(
                f"{context}: the broker throttles this client for another {throttled_ms:.0f} ms, "
                f"because of a quota, and only {left_ms:.0f} ms are left"
            )
        with waiting_for(lambda: f"{address} (throttled, for a quota)"):
            sleep_ms(throttled_ms)
