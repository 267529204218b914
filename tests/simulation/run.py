"""Runs a scenario: puts the simulated clock and network in place of the real ones."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count
from typing import Final
from unittest import mock

from kafka_formats import read_stages
from kafka_formats.upsert import upsert
from kafka_formats.upsert.newest import MemoryLimits
from kafka_protocol.client import clock
from kafka_protocol.client.broker import api_versions, refusals, token_sources
from kafka_protocol.client.network.connect import use_opener
from kafka_protocol.errors import OutOfStepError, ProtocolError
from kafka_spark_source.worker.worker import exclude_modules_from_gc, keep_freed_memory
from tests.simulation.collecting import collect
from tests.simulation.outcome import Outcome
from tests.simulation.scenario import Scenario
from tests.simulation.trace import Trace
from tests.simulation.world import World

_LOGGERS: Final = ("kafka_spark_source", "kafka_protocol", "kafka_formats")

_COLLECT_EVERY_RUNS: Final = 25
_runs = count()


def run(scenario: Scenario) -> tuple[Outcome, Trace]:
    """Run a scenario; what the judge needs, and all events for people."""
    with simulated(scenario) as world:
        world.begin()
        world.run_until_level()
    return collect(world), world.trace


@contextmanager
def simulated(scenario: Scenario) -> Iterator[World]:
    """A world whose clock and network are those of the product within the block."""
    # What a process keeps of brokers.
    refusals.pauses._refusals.clear()
    token_sources._kept.clear()
    api_versions._remembered.clear()
    # Once in a process, and so not in the first run only.
    exclude_modules_from_gc()
    keep_freed_memory()
    world = World(scenario)
    memory = (
        mock.patch.object(read_stages, "Upsert", UpsertWithLittleMemory)
        if scenario.spills
        else nullcontext()
    )
    with _without_gc(), clock.use(world.source), use_opener(world.network.open), memory:
        with _keeping_warnings(world), _noting_steps(world.outcome.out_of_step):
            try:
                yield world
            finally:
                world.processes.close()


@contextmanager
def _without_gc() -> Iterator[None]:
    """Objects that close connections when they are collected must not do so at random moments."""
    gc.disable()
    if next(_runs) % _COLLECT_EVERY_RUNS == 0:
        gc.collect()
    try:
        yield
    finally:
        gc.enable()


@dataclass(frozen=True, slots=True)
class UpsertWithLittleMemory(upsert.Upsert):
    """The newest records of keys go into temporary files."""

    limits: MemoryLimits = MemoryLimits(buffer=4_096, piece=1_024, bucket_bits=2)


@contextmanager
def _noting_steps(noted: list[str]) -> Iterator[None]:
    """Note each response that is out of step: the error is retried, so nobody else sees it."""

    def note(error: OutOfStepError, text: str) -> None:
        noted.append(text)
        ProtocolError.__init__(error, text)

    OutOfStepError.__init__ = note  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        del OutOfStepError.__init__


@contextmanager
def _keeping_warnings(world: World) -> Iterator[None]:
    handler = _KeepingHandler(world.outcome.warnings.append)
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
            logger.propagate = True


class _KeepingHandler(logging.Handler):
    """Keeps the warnings of the product."""

    def __init__(self, keep: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._keep = keep

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a warning."""
        self._keep(record.getMessage())
