"""Deadlines and back-off: the only module that tells the time or sleeps."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Final

from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import BrokerConnectionError, KafkaError

_JITTER: Final = 0.2  # KIP-580


def now_ms() -> int:
    """The time of day, in ms since 1970, as the timestamps of records count."""
    return time.time_ns() // 1_000_000


def pause(ms: float) -> None:
    """Wait that long."""
    time.sleep(ms / 1000)


class Deadline:
    """A moment after which nobody waits any longer."""

    __slots__ = ("_at",)

    def __init__(self, at: float) -> None:
        self._at = at

    @classmethod
    def after(cls, ms: float) -> Deadline:
        """The moment `ms` milliseconds from now."""
        return cls(time.monotonic() + ms / 1000)

    def __repr__(self) -> str:
        return f"<Deadline in {self.remaining_ms:.0f} ms>"

    @property
    def remaining_ms(self) -> float:
        """Milliseconds left, 0 at the least."""
        return max(0.0, (self._at - time.monotonic()) * 1000)

    @property
    def has_passed(self) -> bool:
        """Whether nothing is left."""
        return time.monotonic() >= self._at

    def broker_timeout_ms(self, config: ClientConfig) -> int:
        """What a request's own `timeout_ms` says: how long the broker may take; at least 1."""
        return max(1, int(self.or_sooner(config.request_timeout_ms).remaining_ms))

    def or_sooner(self, ms: float) -> Deadline:
        """This moment, or the one `ms` milliseconds from now, whichever comes first."""
        return Deadline(min(self._at, time.monotonic() + ms / 1000))


class Retry:
    """Decides after each failure whether to try again, and waits before that.

    The waits grow from retry.backoff.ms to retry.backoff.max.ms, each with a fifth of jitter
    (KIP-580); no count ends them, only deadlines.

    Args:
        config: For the back-off.
        deadline: When to give up in any case.
        unreachable_ms: How long brokers may be unreachable without a break. A cluster that
            cannot be reached at all is a wrong address more often than an outage.
    """

    def __init__(self, config: ClientConfig, deadline: Deadline, unreachable_ms: float) -> None:
        self._initial_ms = config.retry_backoff_ms
        self._max_ms = config.retry_backoff_max_ms
        self._deadline = deadline
        self._unreachable_ms = unreachable_ms
        self._before: KafkaError | None = None
        self.succeeded()

    def succeeded(self) -> None:
        """Begin anew: something went well."""
        self._failures = 0
        self._unreachable = Deadline.after(self._unreachable_ms)

    def pause(self) -> None:
        """Keep from asking again at once, where nothing failed and nothing came."""
        time.sleep(max(1, self._initial_ms) / 1000)

    def wait_after_any(self, errors: Sequence[KafkaError]) -> None:
        """The same for several failures at once: one that cannot pass decides.

        Raises:
            KafkaError: That one, or the first where the time is up.
        """
        final = [error for error in errors if not error.retriable]
        self.wait_after((final or errors)[0])

    def wait_after(self, error: KafkaError) -> None:
        """Sleep before the next try.

        Raises:
            KafkaError: `error` itself, where no further try is due.
        """
        if not error.retriable:
            raise error
        self.wait(error)

    def wait(self, error: KafkaError) -> None:
        """The same where the caller knows that another try can help, whatever the error says.

        Raises:
            KafkaError: `error` itself, where the time is up; the one before it, where it was over
                in the middle of the last try, which says nothing then.
        """
        time.sleep(self.due_ms(error) / 1000)

    def due_ms(self, error: KafkaError) -> float:
        """How long to wait before the next try, for whoever waits for several at once.

        Raises:
            KafkaError: As from `wait`.
        """
        # At least 1 ms, or a back-off of 0 would neither pause nor end.
        pause_ms: float = max(
            1.0, min(self._max_ms, self._initial_ms * 2 ** min(self._failures, 30))
        )
        pause_ms *= random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311  no secret in it
        self._failures += 1
        if not isinstance(error, BrokerConnectionError):
            # Whatever went wrong, a broker said so, or took a request and was silent: that cost
            # the request's own time-out.
            self._unreachable = Deadline.after(self._unreachable_ms)
        if min(self._deadline.remaining_ms, self._unreachable.remaining_ms) < pause_ms:
            raise (self._deadline.has_passed and self._before) or error
        self._before = error
        return pause_ms
