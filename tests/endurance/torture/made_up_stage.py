"""A stage whose brokers and proxies are not there, for the tests of faults."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.endurance.torture.fault_rounds import FaultLog, Round
from tests.endurance.torture.faults import FAULTS, Fault, Stage

NODES = [1, 2, 3]
BY_NAME = {fault.name: fault for fault in FAULTS}


class Brokers:
    """Notes what is done to them; at most one may be away."""

    def __init__(self) -> None:
        self.brokers = [SimpleNamespace(node_id=node_id) for node_id in NODES]
        self.away: set[int] = set()
        self.calls: list[tuple[str, int]] = []

    def __getattr__(self, name: str) -> Callable[[int], None]:
        def call(node_id: int) -> None:
            self.calls.append((name, node_id))
            if name in {"kill", "stop_node", "pause"}:
                assert not self.away
                self.away.add(node_id)
            else:
                assert name in {"start_node", "resume"}
                self.away.remove(node_id)

        return call


class Calls:
    """Notes what is called."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., str]:
        def call(*_arguments: object) -> str:
            self.calls.append(name)
            return "called"

        return call


class MadeUpStage:
    """Faults of brokers that are not there."""

    def __init__(self, folder: Path, workers: list[int] | None = None) -> None:
        self.brokers = Brokers()
        self.proxies = {node_id: Calls() for node_id in NODES}
        self.waits = 0
        self.log = FaultLog(folder / "faults.log")
        brokers: Any = self.brokers
        proxies: Any = self.proxies
        client: Any = None
        self.stage = Stage(
            *(brokers, client, proxies), lambda: workers or [], self.settle, lambda _: None
        )

    def settle(self) -> None:
        """Notes that all replicas are in sync."""
        assert not self.brokers.away
        self.waits += 1


def round_of(*faults: Fault) -> Round:
    """A round without pauses."""
    return Round(1, faults, 0.0, 0.0, random.Random(1).getrandbits(32))
