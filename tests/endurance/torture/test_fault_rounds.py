from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_spark_source.testing.processes.waiting import Deadline
from tests.endurance.torture.fault_rounds import (
    OVERLAPPING,
    Round,
    faults_come_and_go,
    play,
    rounds,
)
from tests.endurance.torture.faults import FAULTS, Fault, Place
from tests.endurance.torture.test_faults import BY_NAME, MadeUpStage

SOON_SECONDS = 30
seeds = st.integers(0, 10**9)


def round_of(*faults: Fault) -> Round:
    """A round without pauses."""
    return Round(1, faults, 0.0, 0.0, 7)


def drawn(seed: int, count: int = 40, overlapping: float = OVERLAPPING) -> list[Round]:
    return [*islice(rounds(random.Random(seed), FAULTS, overlapping), count)]


@given(seeds)
def test_a_seed_repeats_the_rounds(seed: int) -> None:
    assert drawn(seed) == drawn(seed)


def test_other_seeds_give_other_rounds() -> None:
    assert len({drawn(seed, 1)[0] for seed in range(20)}) == 20


@given(seeds, st.sampled_from([0.0, OVERLAPPING]))
def test_each_fault_comes_as_often_as_the_others(seed: int, overlapping: float) -> None:
    counts: Counter[str] = Counter()
    for each in drawn(seed, 3 * len(FAULTS), overlapping):
        counts.update(fault.name for fault in each.faults)
        if counts.total() == 3 * len(FAULTS):
            break
    assert counts == {fault.name: 3 for fault in FAULTS}


@given(seeds)
def test_faults_of_a_round_have_different_places(seed: int) -> None:
    for each in drawn(seed):
        assert len({fault.place for fault in each.faults}) == len(each.faults) <= 2
        assert each.may_fail_queries == any(f.place is Place.SPARK for f in each.faults)
        assert each.starts_anew == ("driver killed" in each.name)
    assert all(len(each.faults) == 1 for each in drawn(seed, overlapping=0.0))


def test_a_round_is_repaired_and_settled_at_the_end(tmp_path: Path) -> None:
    made_up = MadeUpStage(tmp_path)
    held: list[set[int]] = []
    stage = replace(made_up.stage, hold=lambda _: held.append({*made_up.brokers.away}))
    play(stage, round_of(BY_NAME["broker killed"], BY_NAME["slow network"]), made_up.log)
    assert [len(each) for each in held] == [1]
    assert made_up.waits == 1
    first, second = made_up.log.events
    assert (first.name, second.name) == ("broker killed", "slow network")
    assert first.began <= second.began < second.ended <= first.ended <= time.monotonic()
    lines = (tmp_path / "faults.log").read_text().splitlines()
    assert len(lines) == 4
    assert " broker killed (" in lines[0]
    assert " slow network ([" in lines[1]
    assert " repaired after 0." in lines[2]


def test_a_fault_without_a_victim_was_none(tmp_path: Path) -> None:
    made_up = MadeUpStage(tmp_path)
    play(made_up.stage, round_of(BY_NAME["Python worker killed"]), made_up.log)
    assert made_up.log.events == []


def _chance_of(made_up: MadeUpStage, name: str) -> random.Random:
    """Draws a fault of this name first, and soon."""
    faults = [each for each in FAULTS if not each.of_copies]

    def first(seed: int) -> Round:
        return next(rounds(random.Random(seed), faults, 0.0))

    seed = min(
        (s for s in range(300) if first(s).name == name), key=lambda s: first(s).calm_seconds
    )
    return random.Random(seed)


def test_all_is_repaired_when_the_block_ends(tmp_path: Path) -> None:
    made_up = MadeUpStage(tmp_path)
    chance = _chance_of(made_up, "broker paused")
    with faults_come_and_go(made_up.stage, chance, made_up.log):
        assert Deadline(SOON_SECONDS).wait_for(lambda: bool(made_up.brokers.away))
    assert not made_up.brokers.away
    assert [each.name for each in made_up.log.events] == ["broker paused"]
    assert made_up.waits == 1


def test_an_error_of_the_thread_is_raised(tmp_path: Path) -> None:
    made_up = MadeUpStage(tmp_path)

    def fail() -> None:
        raise TimeoutError("not in sync")

    stage = replace(made_up.stage, settle=fail)
    with pytest.raises(TimeoutError, match="not in sync"):
        with faults_come_and_go(stage, _chance_of(made_up, "broker killed"), made_up.log):
            assert Deadline(SOON_SECONDS).wait_for(lambda: bool(made_up.brokers.away))
    assert not made_up.brokers.away


def test_the_log_tells_what_was_during_a_query(tmp_path: Path) -> None:
    log = MadeUpStage(tmp_path).log
    start = time.monotonic()
    with log.event("broker killed") as victims:
        victims.append("2")
        assert log.during(start, time.monotonic()) == ["broker killed"]
        assert log.events == []
        assert log.during(start - 2, start - 1) == []
    end = time.monotonic()
    assert log.during(start, end) == ["broker killed"]
    assert log.during(end + 1, end + 2) == []
    (line,) = (tmp_path / "faults.log").read_text().splitlines()
    assert " broker killed (2) repaired after 0." in line
