"""Faults of brokers and of Spark's workers, one at a time, while queries run.

Never are two brokers away together: with three replicas, two of them in sync, every query can
succeed. So each fault lasts until all replicas are in sync again.
"""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from kafka_spark_source.testing import KafkaCluster
from tests.endurance.brokers import killed, paused, send, stopped

_HOLD_SECONDS = (2.0, 8.0)
_CALM_SECONDS = (0.5, 5.0)
_NOT_ENDED = float("inf")


class FaultEvent(NamedTuple):
    """A fault that came and went; times in seconds of `time.monotonic()`.

    Attributes:
        name: `broker killed`, `broker stopped`, `broker paused`, `rolling restart` or
            `worker killed`.
        victim: The node ids, or the process id of the worker.
        ended: When it was repaired, and all replicas were in sync again.
    """

    name: str
    victim: str
    began: float
    ended: float


class FaultLog:
    """The faults so far.

    Args:
        file: Gets a line for each, with the time of day.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._events: list[FaultEvent] = []

    @property
    def events(self) -> list[FaultEvent]:
        """All that have ended, in order."""
        return [each for each in self._events if each.ended < _NOT_ENDED]

    def during(self, began: float, ended: float) -> list[str]:
        """The names of the faults that overlap with these seconds of `time.monotonic()`.

        Also one that has not ended yet.
        """
        return [e.name for e in self._events if e.began <= ended and began <= e.ended]

    @contextmanager
    def event(self, name: str, victim: str) -> Iterator[None]:
        """Notes a fault for as long as the block lasts."""
        event = FaultEvent(name, victim, time.monotonic(), _NOT_ENDED)
        self._events.append(event)
        self._write(f"{name} ({victim})")
        try:
            yield
        finally:
            # One comes at a time, so this is the last one.
            self._events[-1] = ended = event._replace(ended=time.monotonic())
            self._write(f"{name} ({victim}) repaired after {ended.ended - ended.began:.1f} s")

    def _write(self, text: str) -> None:
        with self._file.open("a") as file:
            file.write(f"{datetime.now(timezone.utc):%H:%M:%S.%f} {text}\n")


class Drawn(NamedTuple):
    """A fault that was drawn.

    Attributes:
        nodes: All brokers; the first one fails, or is the first to restart.
        seed: Of the choice of a worker, as it is not known how many there will be.
    """

    name: str
    nodes: tuple[int, ...]
    hold_seconds: float
    calm_seconds: float
    seed: int


class Faults:
    """Faults come and go in a thread.

    Args:
        chance: Used in that thread only.
        workers: The process ids of Spark's Python workers at the moment.
        wait_for_replicas: Returns when all replicas are in sync.
    """

    def __init__(
        self,
        kafka: KafkaCluster,
        chance: random.Random,
        workers: Callable[[], list[int]],
        wait_for_replicas: Callable[[], None],
        log: FaultLog,
    ) -> None:
        self.kafka = kafka
        self.workers = workers
        self.wait_for_replicas = wait_for_replicas
        self.log = log
        self._chance = chance
        self._leave = threading.Event()

    @contextmanager
    def running(self) -> Iterator[FaultLog]:
        """As long as the block lasts; then all is repaired. Raises the error of the thread."""
        with ThreadPoolExecutor(1) as pool:
            thread = pool.submit(self._run)
            try:
                yield self.log
            finally:
                self._leave.set()
        thread.result()

    def hold(self, seconds: float) -> None:
        """Waits, at most until the block has ended."""
        self._leave.wait(seconds)

    def _run(self) -> None:
        nodes = [broker.node_id for broker in self.kafka.brokers]
        while True:
            drawn = draw(self._chance, nodes)
            if self._leave.wait(drawn.calm_seconds):
                return
            FAULTS[drawn.name](self, drawn)


Cause = Callable[[Faults, Drawn], None]


def draw(chance: random.Random, nodes: Sequence[int]) -> Drawn:
    """A fault, its length and its victim."""
    return Drawn(
        chance.choice(sorted(FAULTS)),
        tuple(chance.sample(nodes, len(nodes))),
        chance.uniform(*_HOLD_SECONDS),
        chance.uniform(*_CALM_SECONDS),
        chance.getrandbits(32),
    )


def _one_broker(fault: Callable[[KafkaCluster, int], AbstractContextManager[None]]) -> Cause:
    def cause(faults: Faults, drawn: Drawn) -> None:
        victim = drawn.nodes[0]
        with faults.log.event(drawn.name, str(victim)):
            with fault(faults.kafka, victim):
                faults.hold(drawn.hold_seconds)
            faults.wait_for_replicas()

    return cause


def _paused(kafka: KafkaCluster, node_id: int) -> AbstractContextManager[None]:
    return paused(kafka, [node_id])


def _restart_all(faults: Faults, drawn: Drawn) -> None:
    with faults.log.event(drawn.name, ", ".join(map(str, drawn.nodes))):
        for node_id in drawn.nodes:
            with stopped(faults.kafka, node_id):
                pass
            faults.wait_for_replicas()


def _kill_worker(faults: Faults, drawn: Drawn) -> None:
    for pid in send(random.Random(drawn.seed), faults.workers(), signal.SIGKILL):
        with faults.log.event(drawn.name, f"process {pid}"):
            faults.hold(drawn.hold_seconds)


FAULTS: dict[str, Cause] = {
    "broker killed": _one_broker(killed),
    "broker stopped": _one_broker(stopped),
    "broker paused": _one_broker(_paused),
    "rolling restart": _restart_all,
    "worker killed": _kill_worker,
}
