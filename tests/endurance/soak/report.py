"""The results of a soak test: a table, a plot and the samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.table import Table

from tests.endurance.command import Report
from tests.endurance.soak.run import Findings
from tests.endurance.soak.slopes import RULES, Series, Verdict, judge_all, warm_up_seconds

# Below this, 1 MiB an hour is less than what a process needs to settle.
_JUDGED_SECONDS: Final = 55 * 60

_UNITS: Final = {"rss": "MiB", "live heap": "MiB"}
_WIDTH: Final = 11
_PANEL_HEIGHT: Final = 2.6


def report_of(findings: Findings) -> Report:
    """A table of what grew, and the samples; what grew is a problem, and what was not delivered."""
    verdicts = judge_all(findings.series, findings.seconds)
    problems = [f"{name} grows" for name, verdict in verdicts.items() if verdict.grows]
    problems += findings.faults
    return Report(
        [_table(verdicts), *_sentences(findings, is_good=not problems)],
        _figures(findings, verdicts),
        lambda plt: _plot(plt, findings.seconds, findings.series),
        problems,
    )


def _sentences(findings: Findings, *, is_good: bool) -> Iterator[str]:
    if findings.seconds < _JUDGED_SECONDS:
        yield "Note: in less than an hour, caches that fill look like growth."
    yield from (f"Note: {note}." for note in findings.notes)
    if is_good:
        copied = f"Both streams copied all {findings.records} records once and in order, and "
        jobs = f"{findings.jobs} batch jobs succeeded."
        yield f"Nothing grew. {copied if findings.records else ''}{jobs}"


def _table(verdicts: Mapping[str, Verdict]) -> Table:
    """A row for each role and measure."""
    columns = ("measure", "after warm-up", "at the end", "an hour", "limit", "verdict")
    shown = Table(*columns, title="What grew after the warm-up")
    for name, verdict in verdicts.items():
        unit = next((f" ({unit})" for each, unit in _UNITS.items() if name.endswith(each)), "")
        numbers = [f"{verdict.first:,.1f}", f"{verdict.last:,.1f}", f"{verdict.per_hour:+,.2f}"]
        limit = "none" if verdict.limit is None else f"{verdict.limit:g}"
        shown.add_row(name + unit, *numbers, limit, _words(verdict))
    return shown


def _words(verdict: Verdict) -> str:
    if verdict.limit is None:
        return "shown only"
    return "GROWS" if verdict.grows else "stays"


def _figures(findings: Findings, verdicts: Mapping[str, Verdict]) -> dict[str, object]:
    """The samples, the verdicts and other facts of the run."""
    return {
        "records": findings.records,
        "jobs": findings.jobs,
        "faults": findings.faults,
        "seconds": round(findings.seconds),
        "warm_up_seconds": round(warm_up_seconds(findings.seconds)),
        "verdicts": {name: verdict._asdict() for name, verdict in verdicts.items()},
        "samples": {
            f"{role} {measure}": [[round(time, 1), round(value, 3)] for time, value in samples]
            for (role, measure), samples in findings.series.items()
        },
    }


def _plot(plt: Any, seconds: float, series: Mapping[tuple[str, str], Series]) -> Any:
    """Draw a panel for each measure and a line for each role."""
    measures = [name for name in RULES if any(name == measure for _, measure in series)]
    size = (_WIDTH, _PANEL_HEIGHT * len(measures))
    figure, panels = plt.subplots(len(measures), 1, figsize=size, sharex=True, squeeze=False)
    for panel, measure in zip(panels[:, 0], measures, strict=True):
        for (role, name), samples in series.items():
            if name == measure:
                times, values = zip(*samples, strict=True)
                panel.plot([time / 60 for time in times], values, label=role, linewidth=1)
        panel.axvline(warm_up_seconds(seconds) / 60, color="grey", linestyle=":")
        panel.set_ylabel(f"{measure} {_UNITS.get(measure, '')}".strip())
        panel.legend(loc="upper left", fontsize="small")
    panels[-1, 0].set_xlabel("minutes; the dotted line ends the warm-up")
    figure.tight_layout()
    return figure
