from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_spark_source.testing.processes.waiting import Deadline
from tests.endurance.torture.faults import FAULTS, Drawn, FaultLog, Faults, draw

SOON_SECONDS = 30
NODES = [1, 2, 3]


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


class Scene:
    """Faults of brokers that are not there."""

    def __init__(self, folder: Path, seed: int = 1, workers: list[int] | None = None) -> None:
        self.brokers = Brokers()
        self.waits = 0
        kafka: Any = self.brokers
        self.log = FaultLog(folder / "faults.log")
        self.faults = Faults(
            kafka, random.Random(seed), lambda: workers or [], self._wait, self.log
        )

    def _wait(self) -> None:
        assert not self.brokers.away
        self.waits += 1


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def drawn(name: str) -> Drawn:
    return Drawn(name, (2, 3, 1), 0.0, 0.0, 7)


@given(st.integers(0, 2**32))
def test_a_seed_repeats_the_faults(seed: int) -> None:
    first, second = (random.Random(seed) for _ in range(2))
    assert [draw(first, NODES) for _ in range(20)] == [draw(second, NODES) for _ in range(20)]


def test_all_faults_and_victims_are_drawn() -> None:
    chance = random.Random(1)
    all_drawn = [draw(chance, NODES) for _ in range(200)]
    assert {each.name for each in all_drawn} == set(FAULTS)
    assert {each.nodes[0] for each in all_drawn} == set(NODES)
    assert all(sorted(each.nodes) == NODES and 2 <= each.hold_seconds <= 8 for each in all_drawn)


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("broker killed", [("kill", 2), ("start_node", 2)]),
        ("broker stopped", [("stop_node", 2), ("start_node", 2)]),
        ("broker paused", [("pause", 2), ("resume", 2)]),
        (
            "rolling restart",
            [(call, node) for node in (2, 3, 1) for call in ("stop_node", "start_node")],
        ),
    ],
)
def test_a_broker_is_repaired_and_in_sync_at_the_end(
    scene: Scene, name: str, calls: list[tuple[str, int]]
) -> None:
    FAULTS[name](scene.faults, drawn(name))
    assert scene.brokers.calls == calls
    assert scene.waits == len(calls) / 2
    (event,) = scene.log.events
    assert event.name == name
    assert event.began <= event.ended <= time.monotonic()


def test_a_worker_is_killed(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        scene = Scene(tmp_path, workers=[process.pid])
        FAULTS["worker killed"](scene.faults, drawn("worker killed"))
        assert process.wait(SOON_SECONDS) == -9
    finally:
        process.kill()
        process.communicate()
    assert [each.victim for each in scene.log.events] == [f"process {process.pid}"]


def test_without_workers_none_is_killed(scene: Scene) -> None:
    FAULTS["worker killed"](scene.faults, drawn("worker killed"))
    assert scene.log.events == []


def test_all_is_repaired_when_the_block_ends(tmp_path: Path) -> None:
    scene = Scene(tmp_path, seed=_seed_of("broker paused"))
    with scene.faults.running():
        assert Deadline(SOON_SECONDS).wait_for(lambda: bool(scene.brokers.away))
    assert not scene.brokers.away
    assert [each.name for each in scene.log.events] == ["broker paused"]
    assert scene.waits == 1


def _seed_of(name: str) -> int:
    """A seed whose first fault has this name and comes soon."""
    first = {seed: draw(random.Random(seed), NODES) for seed in range(200)}
    return min(
        (seed for seed in first if first[seed].name == name),
        key=lambda seed: first[seed].calm_seconds,
    )


def test_an_error_of_the_thread_is_raised(tmp_path: Path) -> None:
    scene = Scene(tmp_path, seed=_seed_of("broker killed"))

    def fail() -> None:
        raise TimeoutError("not in sync")

    scene.faults.wait_for_replicas = fail
    with pytest.raises(TimeoutError, match="not in sync"):
        with scene.faults.running():
            assert Deadline(SOON_SECONDS).wait_for(lambda: bool(scene.brokers.away))
    assert not scene.brokers.away


def test_the_log_tells_what_was_during_a_query(scene: Scene, tmp_path: Path) -> None:
    start = time.monotonic()
    with scene.log.event("broker killed", "2"):
        assert scene.log.during(start, time.monotonic()) == ["broker killed"]
        assert scene.log.events == []
        assert scene.log.during(start - 2, start - 1) == []
    end = time.monotonic()
    assert scene.log.during(start, end) == ["broker killed"]
    assert scene.log.during(end + 1, end + 2) == []
    lines = (tmp_path / "faults.log").read_text().splitlines()
    assert lines[0].endswith(" broker killed (2)")
    assert " broker killed (2) repaired after 0." in lines[1]
    assert len(lines) == 2
