"""One session of copies: rounds of faults, a check after each, and the whole check at the end."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from kafka_spark_source.testing.processes.waiting import Deadline
from tests.endurance.torture.copies.checks import (
    COPIES,
    AllDifferences,
    aborted_but_seen,
    complaints,
    differences,
    lost_by_brokers,
    settled,
    written_back,
)
from tests.endurance.torture.copies.scene import Copies, copying
from tests.endurance.torture.fault_rounds import OVERLAPPING, FaultLog, Round, play, rounds
from tests.endurance.torture.faults import Stage, possible
from tests.endurance.torture.scene import Scene
from tests.jobs.copies import TRANSACTION_TIMEOUT_MS
from tests.truth.delivery import counts
from tests.truth.progress import Sample, standstill
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


class CopiesResult(NamedTuple):
    """A session; it is good if there are no problems.

    Attributes:
        findings: The differences of each copy at the end, by kind.
        counts: The records of the source and of each copy.
    """

    rounds: Sequence[RoundResult]
    findings: dict[str, Counter[str]]
    counts: dict[str, int]
    samples: Sequence[Sample]
    problems: Sequence[str]


def copy_under_faults(
    scene: Scene,
    folder: Path,
    chance: random.Random,
    most_rounds: int | None,
    seconds: float,
    stall_seconds: float,
    show: Callable[[str], None],
) -> CopiesResult:
    """Rounds of faults, once all copies run.

    Args:
        scene: The brokers.
        folder: For the files of the job.
        chance: Draws the faults.
        most_rounds: How many rounds there are at most; None for no limit.
        seconds: How long new rounds begin, from the first one on.
        stall_seconds: A copy that gets nothing for longer after a round is a problem. The time
            of the first start is added where the driver had to start again.
        show: Gets a line about each step.
    """
    results: list[RoundResult] = []
    problems: list[str] = []
    with copying(scene, folder) as copies:
        watcher, log = copies.watcher, FaultLog(folder / "faults.log")
        stage = replace(scene.stage(copies.job.workers), copies=copies)
        with copies.writing(random.Random(chance.random())):
            start_seconds = -watcher.seconds
            _catch_up(copies)
            start_seconds += watcher.seconds
            show(f"all copies run after {start_seconds:.0f} s; the faults begin")
            drawn = islice(rounds(chance, possible(stage), OVERLAPPING), most_rounds)
            for each in _until(Deadline(seconds), drawn):
                stage.hold(each.calm_seconds)
                results.append(_play(stage, copies, each, log))
                allowed = stall_seconds + (start_seconds if each.starts_anew else 0)
                new = _judge(results[-1], allowed)
                records = settled(watcher.records)
                delivered = complaints(differences(records), is_end=False)
                delivered += aborted_but_seen(records)
                new += [f"{_where(each)}: {problem}" for problem in delivered]
                problems += new
                show(_line(results[-1], new))
        show("the writers have ended; the copies are completed")
        at_end = _complete(copies)
        problems += [
            *complaints(at_end, is_end=True),
            *aborted_but_seen(watcher.records),
            *lost_by_brokers(watcher.records, copies.journal.records),
            *written_back(watcher.records),
        ]
        all_counts = {name: watcher.count(name) for name in watcher.records}
    findings = {name: counts(found) for name, found in at_end.items()}
    return CopiesResult(results, findings, all_counts, watcher.samples, problems)


def _until(deadline: Deadline, drawn: Iterator[Round]) -> Iterator[Round]:
    for each in drawn:
        if deadline.has_passed:
            return
        yield each


def _play(stage: Stage, copies: Copies, each: Round, log: FaultLog) -> RoundResult:
    known = len(copies.job.failures())
    begin = copies.watcher.seconds
    play(stage, each, log)
    repaired = _catch_up(copies)
    samples = copies.watcher.samples
    return RoundResult(
        each,
        begin,
        repaired,
        copies.watcher.seconds,
        standstill(samples, begin),
        standstill(samples, repaired),
        copies.job.failures()[known:],
    )


def _catch_up(copies: Copies) -> float:
    """Waits until the copies have all, and returns since when the source got records again."""
    count = copies.watcher.count
    wanted = count("source") + _MORE_RECORDS
    goes_on = Deadline(_HANGS_SECONDS).wait_for(lambda: count("source") >= wanted)
    assert goes_on, "nothing comes to the source any more"
    since = copies.watcher.seconds

    def have_caught_up() -> bool:
        copies.job.driver.expect_running()
        return all(count(name) >= wanted for name in COPIES)

    done = Deadline(_HANGS_SECONDS).wait_for(have_caught_up)
    counts = {name: count(name) for name in COPIES}
    assert done, f"the copies have {counts} of {wanted}; {copies.job.driver.printed()}"
    return since


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
    return f"round {each.number} of copies ({each.name})"


def _complete(copies: Copies) -> AllDifferences:
    """The differences when all copies have all, or at the deadline."""

    def is_complete() -> bool:
        copies.job.driver.expect_running()
        found = {copies.watcher.count(name) for name in ("source", *COPIES)}
        behind = (counts(each)["behind"] for each in differences(records).values())
        return found == {wanted} and not any(behind)

    records = copies.watcher.records
    partitions = range(len(records["source"]))
    values = [values_of(copies.servers, copies.source, each) for each in partitions]
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
