"""The pauses of an idle query: for little CPU, and for a new record soon."""

from __future__ import annotations

import pytest

from kafka_spark_source.streaming import pacing
from kafka_spark_source.streaming.pacing import Pacing


class Machine:
    """The CPU time and the sleeps of a query, in ms."""

    def __init__(self) -> None:
        self.cpu_ms = 0.0
        self.pauses: list[float] = []

    def trigger(self, query: Pacing, uses_ms: float) -> None:
        query.pause_if_idle()
        self.cpu_ms += uses_ms


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(pacing, "cpu_ms", lambda: machine.cpu_ms)
    monkeypatch.setattr(pacing, "sleep_ms", machine.pauses.append)
    return machine


@pytest.mark.parametrize(
    ("uses_ms", "pause_ms"), [(0, 25), (1, 25), (5, 120), (12, 288), (40, 300)]
)
def test_an_idle_query_uses_a_twenty_fifth_of_a_core(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, uses_ms: float, pause_ms: float
) -> None:
    """A trigger on 100 partitions takes 1 ms, on 10,000 some 8 ms."""
    monkeypatch.setattr(pacing, "_IDLE_AFTER_MS", -1)
    query = Pacing(0)
    for _ in range(4):
        machine.trigger(query, uses_ms)
    assert machine.pauses == pytest.approx([25, pause_ms, pause_ms, pause_ms])


def test_a_busy_query_is_not_delayed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first pause afterwards is no longer than the others."""
    query = Pacing(0)
    for _ in range(3):
        machine.trigger(query, 1_000)
    assert machine.pauses == []
    monkeypatch.setattr(pacing, "_IDLE_AFTER_MS", -1)
    query.micro_batch_found()
    machine.trigger(query, 5)
    machine.trigger(query, 5)
    assert machine.pauses == pytest.approx([300, 120])
