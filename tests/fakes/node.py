"""A simulated broker and its socket."""

from __future__ import annotations

from kafka_protocol.wire.schema import Request, VersionRange
from tests.fakes.broker import Handler, ScriptedBroker
from tests.simulation.kafka.broker import Broker
from tests.simulation.kafka.settings import Release


class Node:
    """One broker, and the socket that it listens on while it is up.

    Attributes:
        broker: The socket as it is, or was last.
    """

    def __init__(self, simulated: Broker, table: dict[type[Request], Handler]) -> None:
        self.simulated = simulated
        self.broker = ScriptedBroker(table)
        self.is_up = False

    @property
    def versions(self) -> dict[int, VersionRange]:
        """API key -> the versions that it serves."""
        return self.simulated.versions

    def become(self, release: str) -> None:
        """Serve what another release serves."""
        self.simulated.become(Release(release))

    def start(self) -> None:
        self.broker.__enter__()
        self.is_up = True

    def start_again(self) -> None:
        """Listen on another port."""
        before, self.broker = self.broker, ScriptedBroker(self.broker.handlers)
        self.broker.requests = before.requests
        self.start()
