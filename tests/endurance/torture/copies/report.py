"""What sessions of copies have to show: tables, figures, and how far the copies were behind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from tests.endurance.torture.copies.checks import COPIES
from tests.endurance.torture.copies.run import CopiesResult, RoundResult
from tests.truth.delivery import KINDS


def tables(sessions: Sequence[CopiesResult]) -> list[Table]:
    """By fault and by copy; none if there were no sessions."""
    return [_by_fault(sessions), _by_copy(sessions)] if sessions else []


def _by_fault(sessions: Sequence[CopiesResult]) -> Table:
    rounds = [each for session in sessions for each in session.rounds]
    columns = ("fault", "times", "standstill s", "stalled s", "caught up after s", "restarts")
    table = Table(*columns, title=f"copies: {len(rounds)} rounds")
    by_fault: dict[str, list[RoundResult]] = defaultdict(list)
    for each in rounds:
        for fault in each.round.faults:
            by_fault[fault.name].append(each)
    for name, of_fault in sorted(by_fault.items()):
        table.add_row(
            name,
            f"{len(of_fault)}",
            f"{max(each.standstill_seconds for each in of_fault):.1f}",
            f"{max(each.stalled_seconds for each in of_fault):.1f}",
            f"{max(each.catch_up_seconds for each in of_fault):.1f}",
            f"{sum(len(each.failures) for each in of_fault)}",
        )
    return table


def _by_copy(sessions: Sequence[CopiesResult]) -> Table:
    table = Table("copy", "records", *KINDS)
    for name in COPIES:
        count = sum(session.counts[name] for session in sessions)
        found = sum((session.findings[name] for session in sessions), Counter[str]())
        table.add_row(name, f"{count:,}", *(f"{found[kind]}" for kind in KINDS))
    return table


def figures(session: CopiesResult) -> dict[str, object]:
    """All of a session that JSON can have."""
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
        for each in session.rounds
    ]
    findings = {name: dict(found) for name, found in session.findings.items()}
    return {"counts": session.counts, "findings": findings, "rounds": rounds}


def plot(axes: Any, sessions: Sequence[CopiesResult]) -> None:
    """How far each copy is behind, with the rounds of faults in grey."""
    for number, session in enumerate(sessions):
        minutes = [sample.seconds / 60 for sample in session.samples]
        for color, name in enumerate(COPIES):
            behind = [sample.source - sample.copies[name] for sample in session.samples]
            label = name if number == 0 else None
            axes.plot(minutes, behind, linewidth=0.8, color=f"C{color}", label=label)
        for each in session.rounds:
            axes.axvspan(each.begin / 60, each.repaired / 60, color="0.88", linewidth=0)
    axes.set(xlabel="minutes", ylabel="records behind the source")
    axes.legend()
