"""Simulated processes: they wait in virtual time, keep their own memory, and die at any call."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kafka_protocol.client import clock, pool
from tests.simulation.clocks import SimulatedSource, SpinningError
from tests.simulation.processes import (
    Process,
    Processes,
    ProcessKilledError,
    Signal,
    Strand,
    memory,
)
from tests.simulation.scheduler import EventScheduler
from tests.simulation.trace import Trace


class Machine:
    """Strands, and how each ended."""

    def __init__(self) -> None:
        self.scheduler = EventScheduler(1)
        self.processes = Processes(self.scheduler, Trace(self.scheduler))
        self.ended: dict[str, object] = {}

    def start(self, name: str, run: Callable[[], object]) -> Strand:
        strand = Strand(name, Process(name, "host"))
        self.processes.start(strand, run, lambda result: self.ended.update({name: result}))
        return strand

    def run(self, until_ms: float = 1_000_000) -> None:
        self.scheduler.run(lambda: False, until_ms)


@pytest.fixture
def machine() -> Iterator[Machine]:
    machine = Machine()
    with clock.use(SimulatedSource(machine.scheduler, machine.processes, 1)):
        yield machine
        machine.processes.close()


class FakeSocket:
    """Counts how often it died."""

    def __init__(self) -> None:
        self.deaths = 0

    def die(self) -> None:
        self.deaths += 1


def test_after_a_run_modules_have_what_they_had_before() -> None:
    before = memory()
    machine = Machine()
    with clock.use(SimulatedSource(machine.scheduler, machine.processes, 1)):
        machine.start("one", lambda: clock.sleep_ms(1))
        machine.run()
        assert [id(each) for each in memory()] != [id(each) for each in before]
        machine.processes.close()
    assert [id(each) for each in memory()] == [id(each) for each in before]


def test_sleeps_overlap_in_virtual_time(machine: Machine) -> None:
    seen: list[tuple[str, int]] = []

    def run(name: str, ms: float) -> None:
        for _ in range(2):
            clock.sleep_ms(ms)
            seen.append((name, round(clock.monotonic_ms())))

    machine.start("slow", lambda: run("slow", 50_000))
    machine.start("quick", lambda: run("quick", 20_000))
    machine.run()
    assert seen == [("quick", 20_000), ("quick", 40_000), ("slow", 50_000), ("slow", 100_000)]


def test_a_wait_ends_with_its_signal_or_at_its_time(machine: Machine) -> None:
    signal, seen = Signal(), list[float]()

    def wait() -> None:
        for _ in range(2):
            machine.processes.wait(signal, machine.scheduler.now_ms + 100)
            seen.append(machine.scheduler.elapsed_ms)

    machine.start("waiting", wait)
    machine.scheduler.call_after(30, lambda: machine.processes.set(signal))
    machine.run()
    assert seen == [pytest.approx(30), pytest.approx(130, abs=0.1)]


def test_each_process_has_its_own_memory(machine: Machine) -> None:
    seen: dict[str, list[int]] = {"one": [], "two": []}
    other = Process("other", "host")

    def run(name: str) -> None:
        for _ in range(2):
            pool._local.shared[name] = object()  # type: ignore[index,assignment]
            clock.sleep_ms(1)
            seen[name].append(len(pool._local.shared))
        with machine.processes.inside(other):
            seen[name].append(len(pool._local.shared))
        seen[name].append(len(pool._local.shared))

    machine.start("one", lambda: run("one"))
    machine.start("two", lambda: run("two"))
    machine.run()
    assert seen == {"one": [1, 1, 0, 1], "two": [1, 1, 0, 1]}
    machine.processes.close()
    assert not pool._local.shared


def test_a_killed_process_ends_where_it_waits_and_cannot_wait_again(machine: Machine) -> None:
    reached: list[str] = []

    def run() -> None:
        try:
            clock.sleep_ms(1_000)
        finally:
            reached.append("cleaned up")
            clock.sleep_ms(1)
            reached.append("waited")

    strand = machine.start("doomed", run)
    socket = FakeSocket()
    strand.process.sockets[1] = socket
    machine.scheduler.call_after(10, lambda: machine.processes.kill(strand))
    machine.run()
    assert reached == ["cleaned up"]
    assert isinstance(machine.ended["doomed"], ProcessKilledError)
    assert (socket.deaths, machine.scheduler.elapsed_ms < 1_001) == (1, True)


def test_a_process_dies_at_a_call(machine: Machine) -> None:
    calls: list[int] = []

    def run() -> None:
        for number in range(10):
            machine.processes.call()
            calls.append(number)

    machine.start("doomed", run).dies_at_call = 4
    machine.run()
    assert calls == [0, 1, 2]
    assert isinstance(machine.ended["doomed"], ProcessKilledError)


def test_a_process_kills_another_one_and_goes_on(machine: Machine) -> None:
    victim = machine.start("victim", lambda: clock.sleep_ms(100))

    def run() -> str:
        clock.sleep_ms(1)
        machine.processes.kill(victim)
        clock.sleep_ms(1)
        return "done"

    machine.start("killer", run)
    machine.run()
    assert machine.ended["killer"] == "done"
    assert isinstance(machine.ended["victim"], ProcessKilledError)


def test_code_that_waits_without_a_pause_is_found(machine: Machine) -> None:
    deadline = clock.Deadline.after(10)

    def run() -> None:
        while not deadline.has_passed:
            pass

    machine.start("spinning", run)
    machine.run()
    assert isinstance(machine.ended["spinning"], SpinningError)
