"""One run: rounds of faults, a check after each, and the whole check at the end."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from kafka_spark_source.testing.processes.waiting import Deadline
from tests.endurance.chaos.checks import (
    COPIES,
    AllDifferences,
    aborted_but_seen,
    complaints,
    differences,
    lost_by_brokers,
    missing,
    settled,
    written_back,
)
from tests.endurance.chaos.scene import Scene, running
from tests.endurance.chaos.schedule import Round, rounds
from tests.endurance.chaos.sinks import Sample
from tests.jobs.chaos_copies import TRANSACTION_TIMEOUT_MS
from tests.truth.delivery import counts as counts_of
from tests.witness import values_of

# After this long a copy does not just stall, and the run ends.
_HANGS_SECONDS = 240 + TRANSACTION_TIMEOUT_MS / 1_000
# The writers write as many in about a second.
_MORE_RECORDS = 50


class RoundResult(NamedTuple):
    """What happened in a round; times are seconds of the run.

    Attributes:
        begin: The first fault.
        repaired: All faults were repaired, and the source got records again.
        caught_up: Each copy had what was in the source then.
        standstill_seconds: The longest time in which a copy got nothing.
        stalled_seconds: The longest such time after the repair.
        failures: The queries that failed, with their errors.
    """

    round: Round
    begin: float
    repaired: float
    caught_up: float
    standstill_seconds: float
    stalled_seconds: float
    failures: Sequence[str]

    @property
    def catch_up_seconds(self) -> float:
        """From the repair on."""
        return self.caught_up - self.repaired


class Result(NamedTuple):
    """A run; it is good if there are no problems."""

    seed: int
    rounds: Sequence[RoundResult]
    findings: dict[str, Counter[str]]
    counts: dict[str, int]
    samples: Sequence[Sample]
    problems: Sequence[str]


def run(
    folder: Path,
    seed: int,
    minutes: float,
    stall_seconds: float,
    show: Callable[[str], None] = print,
) -> Result:
    """Faults for so many minutes.

    Args:
        folder: For the files of the job.
        seed: Fixes the faults.
        minutes: How long new rounds begin.
        stall_seconds: A copy that gets nothing for longer after a round is a problem. The time
            of the first start is added where the driver had to start again.
        show: Gets a line about each step.
    """
    results: list[RoundResult] = []
    problems: list[str] = []
    with running(folder) as scene:
        watcher = scene.watcher
        with scene.writing(random.Random(seed)):
            start_seconds = -watcher.seconds
            _catch_up(scene)
            start_seconds += watcher.seconds
            show(f"all copies run after {start_seconds:.0f} s; the faults begin")
            deadline = Deadline(minutes * 60)
            for each in rounds(seed):
                if deadline.has_passed:
                    break
                results.append(_play(scene, each))
                allowed = stall_seconds + (start_seconds if each.starts_anew else 0)
                new = _judge(results[-1], allowed)
                records = settled(watcher.records)
                delivered = complaints(differences(records)) + aborted_but_seen(records)
                new += [f"{_where(each)}: {problem}" for problem in delivered]
                problems += new
                show(_line(results[-1], new))
                time.sleep(each.calm_seconds)
        show("the writers have ended; the copies are completed")
        at_end = _complete(scene)
        problems += [
            *complaints(at_end),
            *missing(at_end),
            *aborted_but_seen(watcher.records),
            *lost_by_brokers(watcher.records, scene.journal.records),
            *written_back(watcher.records),
        ]
        counts = {name: watcher.count(name) for name in watcher.records}
    findings = {name: counts_of(found) for name, found in at_end.items()}
    return Result(seed, results, findings, counts, watcher.samples, problems)


def _play(scene: Scene, each: Round) -> RoundResult:
    chance = random.Random(each.seed)
    known = len(scene.job.failures())
    begin = scene.watcher.seconds
    with ExitStack() as stack:
        for fault in each.faults:
            stack.enter_context(fault.cause(scene, chance))
        time.sleep(each.hold_seconds)
    repaired = _catch_up(scene)
    return RoundResult(
        each,
        begin,
        repaired,
        scene.watcher.seconds,
        standstill(scene.watcher.samples, begin),
        standstill(scene.watcher.samples, repaired),
        scene.job.failures()[known:],
    )


def _catch_up(scene: Scene) -> float:
    """Waits until the copies have all, and returns since when the source got records again."""
    wanted = scene.watcher.count("source") + _MORE_RECORDS
    goes_on = Deadline(_HANGS_SECONDS).wait_for(lambda: scene.watcher.count("source") >= wanted)
    assert goes_on, "nothing comes to the source any more"
    since = scene.watcher.seconds

    def have_caught_up() -> bool:
        scene.job.driver.expect_running()
        return all(scene.watcher.count(name) >= wanted for name in COPIES)

    done = Deadline(_HANGS_SECONDS).wait_for(have_caught_up)
    counts = {name: scene.watcher.count(name) for name in COPIES}
    assert done, f"the copies have {counts} of {wanted}; {scene.job.driver.printed()}"
    return since


def standstill(all_samples: Sequence[Sample], begin: float) -> float:
    """The longest time from `begin` on in which a copy got nothing, while the source had more."""
    samples = [sample for sample in all_samples if sample.seconds >= begin]
    longest = 0.0
    for name in COPIES:
        since = samples[0].seconds if samples else 0.0
        for before, after in pairwise(samples):
            if before.copies[name] >= before.source:
                since = before.seconds
            longest = max(longest, after.seconds - since)
            if after.copies[name] > before.copies[name]:
                since = after.seconds
    return longest


def _judge(result: RoundResult, allowed_seconds: float) -> list[str]:
    where = _where(result.round)
    problems = []
    if result.stalled_seconds > allowed_seconds:
        problems.append(f"{where}: a copy got nothing for {result.stalled_seconds:.0f} s")
    if result.failures and not result.round.may_fail_queries:
        # Spark's description of the query comes after the reason.
        reasons = Counter(failure.partition(" === Streaming")[0] for failure in result.failures)
        problems += [f"{where}: a query failed: {why} ({n} times)" for why, n in reasons.items()]
    return problems


def _where(each: Round) -> str:
    return f"round {each.number} ({each.name})"


def _complete(scene: Scene) -> AllDifferences:
    """The differences when all copies have all, or at the deadline."""

    def is_complete() -> bool:
        scene.job.driver.expect_running()
        counts = {scene.watcher.count(name) for name in ("source", *COPIES)}
        return counts == {wanted} and not missing(differences(records))

    records = scene.watcher.records
    partitions = range(len(records["source"]))
    values = [values_of(scene.direct_servers, scene.source, each) for each in partitions]
    wanted = len({value for of_partition in values for value in of_partition})
    Deadline(_HANGS_SECONDS).wait_for(is_complete)
    return differences(records)


def _line(result: RoundResult, problems: Sequence[str]) -> str:
    text = (
        f"{result.begin:6.0f} s  {result.round.number:3}  {result.round.name}: "
        f"{result.repaired - result.begin:.0f} s, caught up {result.catch_up_seconds:.1f} s later"
    )
    failed = f", {len(result.failures)} queries started again" if result.failures else ""
    return "\n".join([text + failed, *(f"  PROBLEM: {each}" for each in problems)])
