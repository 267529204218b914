"""What a run shows: tables, a plot, and figures."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from rich.table import Table

from tests.endurance.command import Report
from tests.endurance.torture.copies import report as copies_report
from tests.endurance.torture.results import PROBLEMS, Result, RunResult, Status


def report_of(result: RunResult) -> Report:
    """Tables by way, by fault and by copy, the figures, and a plot of all of it."""
    of_queries = [_by_way(result), _by_fault(result)] if result.results else []
    return Report(
        [*of_queries, *copies_report.tables(result.copies), _sentence(result)],
        _all_figures(result),
        lambda plt: _plot(plt, result),
        result.problems,
    )


def report_of_case(*, differs: bool) -> Report:
    """Whether a case still shows a difference."""
    problems = ["it still differs"] if differs else []
    return Report([] if differs else ["No difference."], {}, None, problems)


def _sentence(result: RunResult) -> str:
    return (
        f"seed {result.seed}: "
        f"{len(result.results):,} queries in {result.seconds / 60:.1f} minutes, "
        f"{result.queries_per_minute:.1f} a minute; {result.rounds} rounds, {result.topics} topics "
        f"with {result.records:,} records; {len(result.faults)} faults, "
        f"{result.restarts} restarts of streams after one; "
        f"{sum(len(each.rounds) for each in result.copies)} rounds of copies; "
        f"{len(result.problems)} problems"
    )


def _by_way(result: RunResult) -> Table:
    table = Table(
        *("way", "queries", "rows", "median s", "longest s", "under faults", "ran again"),
        "problems",
        title=f"seed {result.seed}",
    )
    for way, results in _grouped((each.way, each) for each in result.results):
        table.add_row(way, *map(str, _figures(results).values()))
    table.add_row("all", *map(str, _figures(result.results).values()))
    return table


def _by_fault(result: RunResult) -> Table:
    table = Table("fault", "times", "queries", "ran again", "longest s", "problems")
    times = Counter(each.name for each in result.faults)
    pairs = ((fault, each) for each in result.results for fault in each.faults or ("none",))
    for fault, results in _grouped(pairs):
        figures = _figures(results)
        shown = (figures[name] for name in ("queries", "again", "longest_seconds", "problems"))
        table.add_row(fault, f"{times.get(fault, '-')}", *map(str, shown))
    return table


def _grouped(pairs: Iterable[tuple[str, Result]]) -> list[tuple[str, list[Result]]]:
    groups: dict[str, list[Result]] = defaultdict(list)
    for name, each in pairs:
        groups[name].append(each)
    return sorted(groups.items())


def _figures(results: Sequence[Result]) -> dict[str, float]:
    seconds = [each.seconds for each in results] or [0.0]
    return {
        "queries": len(results),
        "rows": sum(each.rows for each in results),
        "median_seconds": round(statistics.median(seconds), 1),
        "longest_seconds": round(max(seconds), 1),
        "under_faults": sum(bool(each.faults) for each in results),
        "again": sum(each.status is Status.AGAIN for each in results),
        "problems": sum(each.status in PROBLEMS for each in results),
    }


def _all_figures(result: RunResult) -> dict[str, object]:
    pairs = ((fault, each) for each in result.results for fault in each.faults)
    return {
        "seed": result.seed,
        "minutes": round(result.seconds / 60, 1),
        "queries_per_minute": round(result.queries_per_minute, 1),
        "rounds": result.rounds,
        "topics": result.topics,
        "records": result.records,
        "restarts_of_streams": result.restarts,
        "all": _figures(result.results),
        "by_way": {
            way: _figures(of) for way, of in _grouped((each.way, each) for each in result.results)
        },
        "by_fault": {fault: _figures(of) for fault, of in _grouped(pairs)},
        "faults": dict(Counter(each.name for each in result.faults)),
        "copies": [copies_report.figures(each) for each in result.copies],
        "ran_again": [
            {"round": each.round, "way": each.way, "error": each.text.splitlines()[0][:300]}
            for each in result.results
            if each.status is Status.AGAIN
        ],
    }


def _plot(plt: Any, result: RunResult) -> Any:
    """How long each query took, and how far copies were behind, with the faults in grey."""
    parts = [
        *([partial(_plot_queries, result=result)] if result.results else []),
        *([partial(copies_report.plot, sessions=result.copies)] if result.copies else []),
    ]
    height = 4 * max(1, len(parts))
    figure, axes = plt.subplots(
        max(1, len(parts)), figsize=(12, height), layout="constrained", squeeze=False
    )
    for part, of_part in zip(parts, axes[:, 0], strict=False):
        part(of_part)
    figure.suptitle(_sentence(result))
    return figure


def _plot_queries(axes: Any, result: RunResult) -> None:
    for each in result.faults:
        axes.axvspan(each.began / 60, each.ended / 60, color="0.88", linewidth=0)
    for way, results in _grouped((each.way, each) for each in result.results):
        minutes = [each.began / 60 for each in results]
        axes.plot(minutes, [each.seconds for each in results], ".", markersize=4, label=way)
    wrong = [each for each in result.results if each.status in PROBLEMS]
    if wrong:
        minutes = [each.began / 60 for each in wrong]
        axes.plot(minutes, [each.seconds for each in wrong], "rx", label="problems")
    axes.set(xlabel="minutes", ylabel="seconds of a query", yscale="log")
    axes.legend(ncols=2, fontsize="small")
