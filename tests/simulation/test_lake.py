"""`topics_to_tables` in the model of a lake: each offset once in each table, whatever dies."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable, Iterable
from typing import Any, Final
from unittest.mock import patch

import pytest

from kafka_spark_source.tables import backfill_plan, late, micro_batch, writer
from kafka_spark_source.tables.late import LateTopics
from tests.simulation.lake import Lake, Trouble, problems_of
from tests.tiers import first_are_quick

pytestmark = pytest.mark.no_cover

IS_QUICK: Final = os.environ.get("HYPOTHESIS_PROFILE") == "quick"


@pytest.fixture(autouse=True)
def _without_log(caplog: pytest.LogCaptureFixture) -> None:
    """Each topic that is away is a warning, of which there are millions."""
    caplog.set_level(logging.ERROR, micro_batch.__name__)


def first_problem(seeds: Iterable[int]) -> str | None:
    """The first seed whose tables are wrong, and how."""
    for seed in seeds:
        for is_delta in (True, False):
            if problems := problems_of(seed, is_delta=is_delta):
                return f"seed {seed}, delta: {is_delta}: {problems}"
    return None


def test_each_offset_is_once_in_each_table() -> None:
    """300 seeds, the same in each run; with all tests 2,700 more, new in each run."""
    assert first_problem(range(300)) is None
    if not IS_QUICK:
        begin = random.randrange(300, 10**9)
        assert first_problem(range(begin, begin + 2_700)) is None


@pytest.mark.parametrize(
    ("away", "is_delta"),
    first_are_quick([("types", False), ("types", True), ("", False), ("b", False), ("b", True)]),
)
def test_a_driver_that_dies_at_each_step_and_again_at_each(away: str, is_delta: bool) -> None:
    first = 0
    while True:
        second = 0
        while True:
            lake = Lake(is_delta)
            lake.ends.update({"a": 3, "b": 2, "types": 3})
            lake.run(Trouble(away=frozenset([away])))
            lake.ends.update({"a": 1, "b": 1, "types": 1})
            lake.run(Trouble(first))
            died_once = lake.is_dead
            lake.run(Trouble(second))
            died_twice = lake.is_dead
            for _ in range(2):
                lake.run(Trouble(on_error="fail"))
            assert lake.problems() == [], (first, second)
            if not died_twice:
                break
            second += 1
        if not died_once:
            break
        first += 1
    assert first > 10


def _marks_what_it_adds() -> Any:
    """The end of a late write is marked with what it adds, not with all that the table has then."""
    real = writer.TableWriter._write

    def write(self: Any, known: Any, work: Any, *, is_first: bool) -> None:
        lacking = writer._lacking(known.target, work) if is_first else work.ranges
        real(self, known, work._replace(ranges=lacking), is_first=is_first)

    return patch.object(writer.TableWriter, "_write", write)


def _looks_only_before_the_first_write() -> Any:
    """A micro-batch that is repeated is not looked for after the late write at the start."""
    real = writer.TableWriter._write

    def write(self: Any, known: Any, work: Any, *, is_first: bool) -> None:
        real(self, known, work._replace(since_ms=None), is_first=is_first)

    return patch.object(writer.TableWriter, "_write", write)


def _takes_a_late_write_for_that_of_a_newer_checkpoint() -> Any:
    """A start that writes what was late has the number of the state, which may be an older one."""
    real = writer._lacking

    def lacking(target: Any, work: Any) -> Any:
        return real(target, work._replace(planned_before=-1))

    return patch.object(writer, "_lacking", lacking)


def _takes_each_table_for_new() -> Any:
    real = Lake.prepare
    return patch.object(Lake, "prepare", lambda *a: real(*a)._replace(is_new=True))


def _forgets_what_is_late() -> Any:
    return patch.object(LateTopics, "save", lambda self, spark, *_: self.newest(spark))


def _has_two_slots() -> Any:
    """A new state replaces the one before, which a repeated micro-batch begins with."""
    return patch.object(late, "_SLOTS", (1, 2))


def _goes_on_after_a_failure_with_what_it_knew() -> Any:
    return patch.object(writer, "_lacking", lambda _target, work: work.ranges)


def _fills_what_is_late_too() -> Any:
    return patch.object(backfill_plan, "without", lambda ranges, _: ranges)


def _fills_what_is_planned() -> Any:
    """A micro-batch that has not ended runs again, and writes its records itself."""
    return patch.object(
        Lake,
        "last_finished",
        lambda self, *_: (len(self.finished) - 1, self._ends_of(self.planned)),
    )


def _fills_each_slice_again() -> Any:
    real = writer._lacking

    def lacking(target: Any, work: Any) -> Any:
        return work.ranges if work.is_backfill else real(target, work)

    return patch.object(writer, "_lacking", lacking)


def _fills_only_what_is_new() -> Any:
    return patch.object(backfill_plan, "plan_backfills", lambda *_: None)


@pytest.mark.parametrize(
    "planted",
    [
        *(_marks_what_it_adds, _looks_only_before_the_first_write, _takes_each_table_for_new),
        _takes_a_late_write_for_that_of_a_newer_checkpoint,
        *(_forgets_what_is_late, _has_two_slots, _goes_on_after_a_failure_with_what_it_knew),
        *(_fills_what_is_late_too, _fills_what_is_planned, _fills_each_slice_again),
        _fills_only_what_is_new,
    ],
)
def test_a_planted_fault_is_seen(planted: Callable[[], Any]) -> None:
    with planted():
        assert first_problem(range(20_000)) is not None
