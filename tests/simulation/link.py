"""The way between a host and a broker, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tests.simulation.network import Connection


class Delay(NamedTuple):
    """A request of an API is late: its client loses the connection, and goes on.

    Attributes:
        ms: After which time the broker gets it, as TCP sends again what it has accepted. Then the
            stream ends.
        is_partition: Whether nothing else gets to the broker meanwhile.
        skips: How many requests of the API arrive before it.
    """

    api: str
    ms: float
    is_partition: bool
    skips: int = 0


@dataclass
class Link:
    """The way between a host and a broker; its fields are faults.

    Attributes:
        holds_requests, holds_responses: A partition of the network, one way or both.
        leads_to: The broker that really gets new connections; None for the right one.
        is_unknown: The broker's name cannot be resolved.
        extra_ms: More latency.
        piece_bytes: The size of pieces in which bytes arrive, each later; None for whole frames.
        cuts_request, cuts_response: The next frame breaks off in its middle, with a reset.
        breaks_at: An API, and whether at its request or at its response: the next one does not
            arrive, and the connection is reset.
        copies_of_response: How often the next response arrives, where a proxy loses or repeats it.
        delay: A request that will be late.
    """

    holds_requests: bool = False
    holds_responses: bool = False
    leads_to: int | None = None
    is_unknown: bool = False
    extra_ms: float = 0.0
    piece_bytes: int | None = None
    cuts_request: bool = False
    cuts_response: bool = False
    breaks_at: tuple[str, str] | None = None
    copies_of_response: int = 1
    delay: Delay | None = None
    connections: dict[int, Connection] = field(default_factory=dict)

    def takes_cut(self, *, is_request: bool) -> bool:
        """Whether the frame that is sent now breaks off; only one does."""
        if is_request:
            is_cut, self.cuts_request = self.cuts_request, False
        else:
            is_cut, self.cuts_response = self.cuts_response, False
        return is_cut

    def takes_delay(self, api: str) -> Delay | None:
        """The delay of a request that is sent now; only one has it, and none in a partition."""
        delay = self.delay
        if delay is None or delay.api != api or self.holds_requests:
            return None
        if delay.skips:
            self.delay = delay._replace(skips=delay.skips - 1)
            return None
        self.delay = None
        self.holds_requests = delay.is_partition
        return delay

    def let_requests_go(self) -> None:
        """End a partition of requests."""
        self.holds_requests = False
        for connection in [*self.connections.values()]:
            connection.release()
