"""Simulated operating system processes: code that blocks, memory of its own, sudden death.

The client is synchronous, so each strand of code is a greenlet: a call that blocks goes back to the
scheduler, and comes back at its moment. What modules of the product keep between calls belongs to a
process, and is exchanged when another process goes on. A killed process can send nothing more, also
while its code unwinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple, Protocol, TypeVar

import greenlet
from pyspark.taskcontext import TaskContext

from kafka_formats.registry import cache as registry_cache
from kafka_formats.registry import client as registry_client
from kafka_protocol.client import pool
from kafka_protocol.client.broker import api_versions
from kafka_protocol.client.consumer import stale_leaders
from kafka_protocol.client.producer import producer_id
from kafka_spark_source.writing import commit_log_topic
from tests.simulation.scheduler import EventScheduler
from tests.simulation.trace import Trace

T = TypeVar("T")


class ProcessKilledError(BaseException):
    """The process is dead. Not an Exception: nothing that catches errors may stop it."""


class _Cell(NamedTuple):
    """A variable of a module that differs from process to process, and its value in a new one."""

    owner: Any
    name: str
    new: Callable[[], Any]


def _new_cache_of() -> Callable[..., Any]:
    return lru_cache(registry_cache.MAX_CONFIGURATIONS)(registry_cache.cache_of.__wrapped__)


_CELLS = (
    _Cell(pool._local, "shared", dict),
    _Cell(api_versions, "_remembered", dict),
    _Cell(commit_log_topic, "_check", partial(cache, commit_log_topic._check.__wrapped__)),
    _Cell(stale_leaders, "_of_this_process", stale_leaders.ToldEnds),
    _Cell(registry_client, "cache_of", _new_cache_of),
    _Cell(producer_id, "warn_of_missing_ids", lambda: _ignore),
    _Cell(TaskContext, "_taskContext", lambda: None),
)


def memory() -> list[object]:
    """What the modules have now."""
    return [getattr(cell.owner, cell.name, None) for cell in _CELLS]


def _ignore(*_arguments: object) -> None:
    """In place of a warning once in a process."""


class Socket(Protocol):
    """What a process closes when it dies."""

    def die(self) -> None:
        """The kernel closes the socket: its process is gone."""


class Process:
    """An operating system process: its memory and its sockets."""

    def __init__(self, name: str, host: str) -> None:
        self.name = name
        self.host = host
        self.is_alive = True
        self.sockets: dict[int, Socket] = {}  # by a number, in the order of their creation
        self._memory = [cell.new() for cell in _CELLS]

    def __repr__(self) -> str:
        return f"<Process {self.name}, {'alive' if self.is_alive else 'dead'}>"

    def load(self) -> None:
        """Make its memory that of the modules."""
        for cell, value in zip(_CELLS, self._memory, strict=True):
            setattr(cell.owner, cell.name, value)

    def save(self) -> None:
        """Keep what is in the modules now."""
        self._memory = [getattr(cell.owner, cell.name) for cell in _CELLS]

    def die(self) -> None:
        """Lose memory and sockets."""
        self.is_alive = False
        sockets, self.sockets = self.sockets, {}
        for socket in sockets.values():
            socket.die()
        self._memory = [cell.new() for cell in _CELLS]


class Signal:
    """Something that strands wait for."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Strand, int]] = []


class Strand:
    """Code that runs by itself, in one process or in several, one after the other."""

    def __init__(self, name: str, process: Process) -> None:
        self.name = name
        self.processes = [process]  # those that it is inside of, the innermost last
        self.is_ended = False
        self.calls = 0
        self.dies_at_call: int | None = None
        self.greenlet: Any = None
        self.waits = 0  # counts them, so that a late timer ends no other wait

    @property
    def process(self) -> Process:
        """The process that it runs in now."""
        return self.processes[-1]


class Processes:
    """All processes of a run."""

    def __init__(self, scheduler: EventScheduler, trace: Trace) -> None:
        self._scheduler = scheduler
        self._trace = trace
        self._main = greenlet.getcurrent()
        self._loaded: Process | None = None
        self._current: Strand | None = None
        self._idle = Process("nobody", "nowhere")
        self._idle.save()
        self.strands: list[Strand] = []

    @property
    def current(self) -> Strand:
        """The strand that runs now."""
        assert self._current is not None, "only code of a simulated process may block"
        return self._current

    # --- From outside -----------------------------------------------------------------------------

    def start(
        self, strand: Strand, run: Callable[[], T], ended: Callable[[T | BaseException], None]
    ) -> None:
        """Start code in a strand. `ended` gets its result, or what ended it."""

        def body() -> None:
            result: T | BaseException
            try:
                self._check(strand)
                result = run()
            except (Exception, ProcessKilledError) as error:  # noqa: BLE001
                result = error.with_traceback(None) if isinstance(error, _EXPECTED) else error
            strand.is_ended = True
            self.strands.remove(strand)
            ended(result)

        strand.greenlet = greenlet.greenlet(body, parent=self._main)
        self.strands.append(strand)
        self._scheduler.call_after(0, lambda: self._go_on(strand))

    def kill(self, strand: Strand) -> None:
        """Kill all processes that a strand is inside of; its code ends at once."""
        if strand.is_ended:
            return
        self._trace.note(strand.name, "killed")
        for process in strand.processes:
            process.die()
        if self._current is strand:
            raise ProcessKilledError
        strand.waits += 1
        if self._current is None:
            self._go_on(strand)
        else:  # a strand must not run within another one
            self._scheduler.call_after(0, lambda: self._go_on(strand))

    def set(self, signal: Signal) -> None:
        """Wake all that wait for a signal."""
        waiting, signal.waiting = signal.waiting, []
        for strand, number in waiting:
            self._scheduler.call_after(0, lambda s=strand, n=number: self._wake(s, n))  # type: ignore[misc]

    def close(self) -> None:
        """End all strands, at the end of a run; gives the modules their first memory back."""
        for strand in [*self.strands]:
            self.kill(strand)
        self._load(self._idle)

    # --- From inside a strand ---------------------------------------------------------------------

    def call(self) -> None:
        """Count a call of the current strand; it may be its last one."""
        strand = self.current
        self._check(strand)
        strand.calls += 1
        if strand.dies_at_call is not None and strand.calls >= strand.dies_at_call:
            self.kill(strand)

    def sleep(self, ms: float) -> None:
        """Let time pass."""
        self.wait(Signal(), self._scheduler.now_ms + ms)

    def wait(self, signal: Signal, until_ms: float) -> None:
        """Wait for a signal, until a moment at the latest."""
        self.call()
        strand = self.current
        strand.waits += 1
        number = strand.waits
        signal.waiting.append((strand, number))
        # A little later than the deadline, which rounding must not leave in the future.
        left_ms = until_ms - self._scheduler.now_ms + 0.002
        self._scheduler.call_after(left_ms, lambda: self._wake(strand, number))
        self._main.switch()
        self._check(strand)

    @contextmanager
    def inside(self, process: Process) -> Iterator[None]:
        """Run the code of a block in another process, as if that worked for this one."""
        strand = self.current
        strand.processes.append(process)
        self._load(process)
        try:
            yield
        finally:
            strand.processes.pop()
            self._load(strand.process)

    # ----------------------------------------------------------------------------------------------

    def _wake(self, strand: Strand, number: int) -> None:
        if not strand.is_ended and strand.waits == number:
            strand.waits += 1
            self._go_on(strand)

    def _go_on(self, strand: Strand) -> None:
        if strand.is_ended:
            return
        before, self._current = self._current, strand
        self._load(strand.process)
        strand.greenlet.switch()
        self._current = before

    def _check(self, strand: Strand) -> None:
        if not all(process.is_alive for process in strand.processes):
            raise ProcessKilledError

    def _load(self, process: Process) -> None:
        if self._loaded is not process:
            if self._loaded is not None and self._loaded.is_alive:
                self._loaded.save()
            self._loaded = process
            process.load()


_EXPECTED = (ProcessKilledError,)
