"""The results of a soak test: a table, a plot and the samples as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rich.table import Table

from benchmarks.report import pyplot
from tests.endurance.soak.slopes import RULES, Series, Verdict, warm_up_seconds

_UNITS: Final = {"rss": "MiB", "live heap": "MiB"}
_WIDTH: Final = 11
_PANEL_HEIGHT: Final = 2.6


def table(verdicts: Mapping[str, Verdict]) -> Table:
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


def save(
    file: Path,
    seconds: float,
    series: Mapping[tuple[str, str], Series],
    verdicts: Mapping[str, Verdict],
    facts: Mapping[str, object],
) -> None:
    """Write the samples, the verdicts and other facts of the run."""
    found = {
        **facts,
        "seconds": round(seconds),
        "warm_up_seconds": round(warm_up_seconds(seconds)),
        "verdicts": {name: verdict._asdict() for name, verdict in verdicts.items()},
        "samples": {
            f"{role} {measure}": [[round(time, 1), round(value, 3)] for time, value in samples]
            for (role, measure), samples in series.items()
        },
    }
    file.write_text(json.dumps(found, indent=1) + "\n")


def plot(file: Path, seconds: float, series: Mapping[tuple[str, str], Series]) -> None:
    """Draw a panel for each measure and a line for each role."""
    plt = pyplot()
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
    figure.savefig(file, dpi=120)
    plt.close(figure)
