"""Errors that brokers tell instead of doing what is requested, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kafka_protocol.errors import ErrorCode
from kafka_protocol.wire.schema import Request


@dataclass(eq=False)
class Refusal:
    """An error for the next requests of a kind, as far as they are about these things.

    Attributes:
        kind: The API.
        error: The error; NONE lets a request pass.
        node: The broker that refuses; None for each.
        topic: The topic that is refused; None for all parts of a request.
        partition: The same of a partition.
        count: How many more requests are refused; None for all.
    """

    kind: type[Request]
    error: ErrorCode
    node: int | None = None
    topic: str | None = None
    partition: int | None = None
    count: int | None = None

    def covers(self, topic: str | None, partition: int | None) -> bool:
        return self.topic in (None, topic) and self.partition in (None, partition)


class Refusals:
    """The refusals of a cluster. Each request takes the first ones that cover its parts."""

    def __init__(self) -> None:
        self._waiting: list[Refusal] = []

    def add(self, refusal: Refusal) -> None:
        self._waiting.append(refusal)

    def of_request(
        self, kind: type[Request], node: int
    ) -> Callable[[str | None, int | None], ErrorCode]:
        """What a broker asks for each part of one request."""
        taken: list[Refusal] = []
        waiting = [r for r in self._waiting if r.kind is kind and r.node in (None, node)]

        def refuse(topic: str | None = None, partition: int | None = None) -> ErrorCode:
            found = next((r for r in waiting if r.covers(topic, partition)), None)
            if found is None:
                return ErrorCode.NONE
            if found not in taken:
                taken.append(found)
                self._take(found)
            return found.error

        return refuse

    def _take(self, refusal: Refusal) -> None:
        if refusal.count is not None:
            refusal.count -= 1
            if not refusal.count:
                self._waiting.remove(refusal)
