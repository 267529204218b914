from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from kafka_spark_source.testing import KafkaCluster
from tests.endurance.brokers import killed, paused, send, stopped

SOON_SECONDS = 30
# More than Linux gives to a process.
_NO_PID = 2**22 + 1


class Brokers:
    """Notes what is done to them."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[[int], None]:
        return lambda node_id: self.calls.append(f"{name} {node_id}")


def _one_paused(kafka: KafkaCluster, node_id: int) -> AbstractContextManager[None]:
    return paused(kafka, [node_id])


@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        (killed, ["kill 2", "start_node 2"]),
        (stopped, ["stop_node 2", "start_node 2"]),
        (_one_paused, ["pause 2", "resume 2"]),
    ],
)
def test_a_fault_is_repaired_also_after_an_error(
    fault: Callable[[KafkaCluster, int], AbstractContextManager[None]], calls: list[str]
) -> None:
    brokers: Any = Brokers()
    with pytest.raises(KeyError):
        with fault(brokers, 2):
            assert brokers.calls == calls[:1]
            raise KeyError
    assert brokers.calls == calls


def test_several_are_paused() -> None:
    brokers: Any = Brokers()
    with paused(brokers, [3, 1]):
        assert brokers.calls == ["pause 3", "pause 1"]
    assert brokers.calls[2:] == ["resume 3", "resume 1"]


def test_one_process_gets_the_signal() -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) for _ in range(2)
    ]
    try:
        pids = [each.pid for each in processes]
        (pid,) = send(random.Random(1), pids, signal.SIGKILL)
        victim = processes[pids.index(pid)]
        assert victim.wait(SOON_SECONDS) == -signal.SIGKILL
        assert [each.poll() for each in processes if each is not victim] == [None]
    finally:
        for each in processes:
            each.kill()
            each.communicate()


def test_a_process_that_has_ended_is_no_error() -> None:
    assert send(random.Random(1), [_NO_PID], signal.SIGKILL) == [_NO_PID]


def test_without_processes_none_gets_the_signal() -> None:
    assert send(random.Random(1), [], signal.SIGKILL) == []
