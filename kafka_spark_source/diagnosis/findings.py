"""The findings of a diagnosis: each is one step, on one subject, with its result."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from kafka_protocol.client.clock import monotonic_ms
from kafka_protocol.errors import KafkaError


class Result(str, Enum):
    """The result of a step."""

    GOOD = "good"
    COSTLY = "warning"  # it works, and something is not as it should be
    BAD = "error"
    UNKNOWN = "unknown"  # it could not be found out

    @property
    def mark(self) -> str:
        """Two characters for a table."""
        return _MARKS[self]


class Finding(NamedTuple):
    """The result of a step.

    Attributes:
        step: The step: "TCP", "TLS", "leaders", ...
        subject: The broker, topic, group, ... of the step.
        result: Whether it is good.
        detail: The facts, or the error with its cure. Has no secret.
    """

    step: str
    subject: str
    result: Result
    detail: str

    def __str__(self) -> str:
        return f"{self.result.mark} {self.step}: {self.subject}: {self.detail}"


_MARKS: Final = {Result.GOOD: "ok", Result.COSTLY: "!!", Result.BAD: "NO", Result.UNKNOWN: "??"}


def tried(step: str, subject: str, call: Callable[[], str]) -> Finding:
    """A step: good with the text of `call` and its time in ms, or bad with its error."""
    started = monotonic_ms()
    try:
        detail = call()
    except KafkaError as error:
        return Finding(step, subject, Result.BAD, str(error))
    return Finding(step, subject, Result.GOOD, f"{detail} ({monotonic_ms() - started:.0f} ms)")
