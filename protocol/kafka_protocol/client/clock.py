"""Deadlines and back-off. Only this module reads a clock, sleeps or draws random numbers.

Random numbers for secrets are not drawn here, but by `secrets`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar

from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.wait_observer import waiting_for
from kafka_protocol.errors import BrokerConnectionError, KafkaError

T = TypeVar("T")

_JITTER: Final = 0.2  # KIP-580


class Source(Protocol):
    """Time and random numbers, with the names and units of Python's `time` and `random`."""

    def time_ns(self) -> int:
        """The wall-clock time."""

    def monotonic(self) -> float:
        """A time that never goes back."""

    def process_time_ns(self) -> int:
        """The CPU time of this process."""

    def sleep(self, seconds: float, /) -> None:
        """Wait."""

    def uniform(self, a: float, b: float) -> float:
        """A number between two others."""

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Change the order of a sequence."""

    def getrandbits(self, k: int, /) -> int:
        """A whole number of `k` bits."""


class SystemSource:
    """The clock of the system, and Python's random numbers, whose seed differs after a fork."""

    time_ns = staticmethod(time.time_ns)
    monotonic = staticmethod(time.monotonic)
    process_time_ns = staticmethod(time.process_time_ns)
    sleep = staticmethod(time.sleep)
    uniform = staticmethod(random.uniform)
    shuffle = staticmethod(random.shuffle)
    getrandbits = staticmethod(random.getrandbits)


_source: Source = SystemSource()


@contextmanager
def use(source: Source) -> Iterator[None]:
    """Take time and random numbers from another source, in the whole process: for tests.

    A `Deadline` belongs to the source that it was made with.
    """
    global _source  # noqa: PLW0603  the one place that replaces it
    previous, _source = _source, source
    try:
        yield
    finally:
        _source = previous


def now_ms() -> int:
    """The wall-clock time in ms since 1970, like the timestamps of records."""
    return _source.time_ns() // 1_000_000


def monotonic_ms() -> float:
    """A time in ms that never goes back, to compare moments of this process."""
    return _source.monotonic() * 1000


def cpu_ms() -> float:
    """The CPU time that this process has used, in ms."""
    return _source.process_time_ns() / 1e6


def sleep_ms(ms: float) -> None:
    """Sleep for `ms` milliseconds."""
    _source.sleep(ms / 1000)


def uniform(low: float, high: float) -> float:
    """A random number between two others. No secret may depend on it."""
    return _source.uniform(low, high)


def shuffle(values: MutableSequence[Any]) -> None:
    """Put a sequence into a random order."""
    _source.shuffle(values)


def random_seed() -> int:
    """The seed of another generator of random numbers, of 64 bits."""
    return _source.getrandbits(64)


class Deadline:
    """The moment at which an operation must end."""

    __slots__ = ("_at",)

    def __init__(self, at: float) -> None:
        self._at = at

    @classmethod
    def after(cls, ms: float) -> Deadline:
        """Return the moment `ms` milliseconds from now."""
        return cls(_source.monotonic() + ms / 1000)

    def __repr__(self) -> str:
        return f"<Deadline in {self.remaining_ms:.0f} ms>"

    @property
    def remaining_ms(self) -> float:
        """The time left in ms, at least 0."""
        return max(0.0, (self._at - _source.monotonic()) * 1000)

    @property
    def has_passed(self) -> bool:
        """Whether no time is left."""
        return _source.monotonic() >= self._at

    def broker_timeout_ms(self, config: ClientConfig) -> int:
        """Return the `timeout_ms` field of a request: how long the broker may take, at least 1."""
        return max(1, int(self.capped_at(config.request_timeout_ms).remaining_ms))

    def capped_at(self, ms: float) -> Deadline:
        """Return this moment, or the one `ms` milliseconds from now if it is earlier."""
        return Deadline(min(self._at, _source.monotonic() + ms / 1000))


def backoff_after(earlier_failures: int, initial_ms: float, max_ms: float) -> float:
    """How long to wait after a failure before the next try, in ms, with 20 % jitter (KIP-580).

    It doubles with each earlier failure, up to `max_ms`, and is never 0: retries without a pause
    would not end.
    """
    backoff_ms = max(1.0, min(max_ms, initial_ms * 2.0 ** min(earlier_failures, 30)))
    return backoff_ms * uniform(1 - _JITTER, 1 + _JITTER)


def pause_before_retry(config: ClientConfig, earlier_failures: int) -> None:
    """Sleep for the back-off after a failure; the caller decides how long it goes on."""
    backoff_ms = backoff_after(
        earlier_failures, config.retry_backoff_ms, config.retry_backoff_max_ms
    )
    sleep_ms(backoff_ms)


class Retry:
    """Decides after each failure whether to retry, and waits before the retry.

    The back-off grows from retry.backoff.ms to retry.backoff.max.ms, with 20 % jitter (KIP-580).
    Only deadlines end the retries; their number has no limit.

    Args:
        config: The back-off options.
        deadline: When to give up in any case.
        unreachable_ms: How long brokers may be unreachable without a break. A cluster that
            cannot be reached at all more often means a wrong address than an outage.
    """

    def __init__(self, config: ClientConfig, deadline: Deadline, unreachable_ms: float) -> None:
        self._initial_ms = config.retry_backoff_ms
        self._max_ms = config.retry_backoff_max_ms
        self._deadline = deadline
        self._unreachable_ms = unreachable_ms
        self._unreachable = Deadline.after(unreachable_ms)
        self._failures = 0
        self._previous: KafkaError | None = None

    def pause(self) -> None:
        """Sleep for retry.backoff.ms, after a response without an error and without data."""
        _source.sleep(max(1, self._initial_ms) / 1000)

    def wait_if_all_retriable(self, errors: Sequence[KafkaError]) -> None:
        """Sleep before the next try after several failures.

        Raises:
            KafkaError: The first that is not retriable; the first of all if the time is up.
        """
        final = [error for error in errors if not error.retriable]
        self.wait_if_retriable((final or errors)[0])

    def until_done(self, call: Callable[[], T]) -> T:
        """Call until there is no error, and wait after each retriable one.

        Raises:
            KafkaError: As from `wait_if_retriable`.
        """
        while True:
            try:
                return call()
            except KafkaError as error:
                self.wait_if_retriable(error)

    def wait_if_retriable(self, error: KafkaError) -> None:
        """Sleep before the next try.

        Raises:
            KafkaError: `error` itself, if it is not retriable; else as from `wait`.
        """
        if not error.retriable:
            raise error
        self.wait(error)

    def wait(self, error: KafkaError) -> None:
        """Sleep before the next try, whether or not `error` is retriable.

        Raises:
            KafkaError: The time is up: `error` itself, or the error before it if the deadline
                passed during the last try and so caused `error`.
        """
        backoff_ms = self.next_backoff_ms(error)
        with waiting_for(lambda: f"another try after: {error}"):
            _source.sleep(backoff_ms / 1000)

    def next_backoff_ms(self, error: KafkaError) -> float:
        """Count a failure, and return how long to wait before the next try, in ms.

        For callers that wait for several failures together.

        Raises:
            KafkaError: As from `wait`.
        """
        backoff_ms = backoff_after(self._failures, self._initial_ms, self._max_ms)
        self._failures += 1
        if not isinstance(error, BrokerConnectionError):
            # A broker was reached: it returned the error, or did not respond to a request in time.
            self._unreachable = Deadline.after(self._unreachable_ms)
        if min(self._deadline.remaining_ms, self._unreachable.remaining_ms) < backoff_ms:
            raise (self._deadline.has_passed and self._previous) or error
        self._previous = error
        return backoff_ms
