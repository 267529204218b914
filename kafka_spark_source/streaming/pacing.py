"""When a query waits before its next micro-batch: while it is idle, and for its minimums.

Knows no offsets and makes no requests.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_protocol.client.clock import Deadline, cpu_ms, sleep_ms

# At the default trigger Spark asks for an end about 80 times a second. With these pauses an idle
# query on 100 partitions makes a third of the requests and needs a third of the CPU, for a few ms
# of latency. On 10,000 partitions the JSON of the offsets, which Spark passes each time, takes
# several ms, so there the pauses keep this process at a share of a core.
_IDLE_AFTER_MS = 1_000
_IDLE_PAUSE_MS = 25
_LONGEST_PAUSE_MS = 300
_IDLE_SHARE = 1 / 25


class Pacing:
    """The waiting times of one query; `max_delay_ms` is the option maxTriggerDelay."""

    def __init__(self, max_delay_ms: int) -> None:
        self._max_delay_ms = max_delay_ms
        # The first micro-batch of a run waits for no minimum, nor does the first one of a topic.
        self._delay = Deadline.after(0)
        self._delays: dict[str, Deadline] = {}
        self._idle_from = Deadline.after(_IDLE_AFTER_MS)
        self._cpu_ms = cpu_ms()

    @property
    def delay_has_passed(self) -> bool:
        """Whether maxTriggerDelay has passed since the last micro-batch."""
        return self._delay.has_passed

    def may_wait(self, topic: str) -> bool:
        """Whether maxTriggerDelay has not passed since the topic's last records."""
        return topic in self._delays and not self._delays[topic].has_passed

    def pause_if_idle(self) -> None:
        """Pause if no micro-batch was found for a second; longer if a trigger uses more CPU."""
        if self._idle_from.has_passed:
            used_ms = cpu_ms() - self._cpu_ms
            pause_ms = used_ms * (1 - _IDLE_SHARE) / _IDLE_SHARE
            sleep_ms(min(max(pause_ms, _IDLE_PAUSE_MS), _LONGEST_PAUSE_MS))
        self._cpu_ms = cpu_ms()

    def micro_batch_found(self, topics: Iterable[str] = ()) -> None:
        """Restart both times, and the delays of the topics."""
        self._delays |= {each: Deadline.after(self._max_delay_ms) for each in topics}
        self._delay = Deadline.after(self._max_delay_ms)
        self._idle_from = Deadline.after(_IDLE_AFTER_MS)
