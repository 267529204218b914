"""What a run shows: tables, a plot, and figures."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from rich.table import Table

from tests.endurance.chaos.checks import COPIES
from tests.endurance.chaos.run import Result, RoundResult
from tests.endurance.command import Report
from tests.truth.delivery import KINDS


def report_of(result: Result) -> Report:
    """Tables by fault and by copy, figures of each round, and how far the copies were behind."""
    return Report(
        [_by_fault(result), _by_copy(result)],
        _figures(result),
        lambda plt: _plot(plt, result),
        result.problems,
    )


def _by_fault(result: Result) -> Table:
    title = f"seed {result.seed}: {len(result.rounds)} rounds"
    columns = ("fault", "times", "standstill s", "stalled s", "caught up after s", "restarts")
    table = Table(*columns, title=title)
    by_fault: dict[str, list[RoundResult]] = defaultdict(list)
    for each in result.rounds:
        for fault in each.round.faults:
            by_fault[fault.name].append(each)
    for name, rounds in sorted(by_fault.items()):
        table.add_row(
            name,
            f"{len(rounds)}",
            f"{max(each.standstill_seconds for each in rounds):.1f}",
            f"{max(each.stalled_seconds for each in rounds):.1f}",
            f"{max(each.catch_up_seconds for each in rounds):.1f}",
            f"{sum(len(each.failures) for each in rounds)}",
        )
    return table


def _by_copy(result: Result) -> Table:
    table = Table("copy", "records", *KINDS)
    for name in COPIES:
        found = (f"{result.findings[name][kind]}" for kind in KINDS)
        table.add_row(name, f"{result.counts[name]:,}", *found)
    return table


def _figures(result: Result) -> dict[str, object]:
    rounds = [
        {
            "faults": each.round.name,
            "begin": round(each.begin, 1),
            "repaired": round(each.repaired, 1),
            "caught_up": round(each.caught_up, 1),
            "standstill_seconds": round(each.standstill_seconds, 1),
            "stalled_seconds": round(each.stalled_seconds, 1),
            "failures": list(each.failures),
        }
        for each in result.rounds
    ]
    return {
        "seed": result.seed,
        "counts": result.counts,
        "findings": {name: dict(found) for name, found in result.findings.items()},
        "rounds": rounds,
    }


def _plot(plt: Any, result: Result) -> Any:
    """How far each copy is behind, with the rounds of faults in grey."""
    figure, axes = plt.subplots(figsize=(12, 4), layout="constrained")
    minutes = [sample.seconds / 60 for sample in result.samples]
    for name in COPIES:
        behind = [sample.source - sample.copies[name] for sample in result.samples]
        axes.plot(minutes, behind, linewidth=0.8, label=name)
    for each in result.rounds:
        axes.axvspan(each.begin / 60, each.repaired / 60, color="0.88", linewidth=0)
    axes.set(xlabel="minutes", ylabel="records behind the source", title=f"seed {result.seed}")
    axes.legend()
    return figure
