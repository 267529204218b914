"""What each fault does to brokers, proxies and processes that are made up, or to a real process."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.endurance.torture.fault_rounds import FaultLog
from tests.endurance.torture.faults import FAULTS, Place, Stage, possible

SOON_SECONDS = 30
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


@pytest.fixture
def made_up(tmp_path: Path) -> MadeUpStage:
    return MadeUpStage(tmp_path)


def caused(made_up: MadeUpStage, name: str, chance: int = 1) -> str:
    """Causes and repairs a fault, and returns its victim."""
    with BY_NAME[name].cause(made_up.stage, random.Random(chance)) as victim:
        return victim


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("broker killed", ["kill", "start_node"]),
        ("broker stopped", ["stop_node", "start_node"]),
        ("broker paused", ["pause", "resume"]),
    ],
)
def test_a_broker_is_away_and_comes_back(made_up: MadeUpStage, name: str, calls: list[str]) -> None:
    victims = {caused(made_up, name, chance) for chance in range(20)}
    assert victims == {f"{node_id}" for node_id in NODES}
    assert [call for call, _ in made_up.brokers.calls] == calls * 20
    assert not made_up.brokers.away


def test_brokers_restart_one_after_the_other(made_up: MadeUpStage) -> None:
    caused(made_up, "rolling restart")
    nodes = [node_id for _, node_id in made_up.brokers.calls]
    assert nodes[::2] == nodes[1::2]
    assert sorted(nodes[::2]) == NODES
    assert made_up.waits == len(NODES)


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("connections refused", ["refuse", "accept"]),
        ("half-open connections", ["silence"]),
        ("slow network", ["delay", "delay"]),
        ("connections cut", ["cut"]),
    ],
)
def test_connections_are_disturbed_through_the_proxies(
    made_up: MadeUpStage, monkeypatch: pytest.MonkeyPatch, name: str, calls: list[str]
) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    assert caused(made_up, name)
    disturbed = [proxy.calls for proxy in made_up.proxies.values() if proxy.calls]
    assert disturbed
    assert all(each[: len(calls)] == calls for each in disturbed)


@pytest.mark.parametrize(("name", "is_killed"), [("killed", True), ("paused", False)])
def test_a_python_worker(tmp_path: Path, name: str, is_killed: bool) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        victim = caused(MadeUpStage(tmp_path, [process.pid]), f"Python worker {name}")
        assert victim == f"process {process.pid}"
        if is_killed:
            assert process.wait(SOON_SECONDS) == -9
        else:
            process.communicate(b"\n", SOON_SECONDS)  # it goes on
    finally:
        process.kill()
        process.communicate()


def test_without_workers_none_is_killed(made_up: MadeUpStage) -> None:
    assert caused(made_up, "Python worker killed") == ""


def test_copies_get_a_partition_and_another_driver(made_up: MadeUpStage) -> None:
    copies: Any = Calls()
    copies.job = Calls()
    made_up.stage = replace(made_up.stage, copies=copies)
    assert caused(made_up, "partition added") == "called"
    assert copies.calls == ["add_partition"]
    caused(made_up, "driver killed")
    assert copies.job.calls == ["kill", "start"]


def test_queries_have_no_faults_of_copies_and_without_proxies_none_of_the_network(
    made_up: MadeUpStage,
) -> None:
    with_copies: Any = replace(made_up.stage, copies=Calls())  # type: ignore[arg-type]
    assert possible(with_copies) == [*FAULTS]
    assert not any(each.of_copies for each in possible(made_up.stage))
    direct = possible(replace(made_up.stage, proxies={}))
    assert {each.place for each in direct} == {Place.BROKERS, Place.SPARK}
