"""Figures of the results, each of which makes one statement: `make docs` draws them.

A figure is an SVG of the width of a phone. Its statement is made of its figures, so they cannot
contradict it. Text and lines are dark on a light page and light on a dark one. Knows no Spark.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.tables import RESULTS, Row, results_of

# Points; a page shows a point as 4/3 pixels, or less on a narrow screen.
_WIDTH: Final = 340
_BAR_HEIGHT: Final = 21
_TITLE_HEIGHT: Final = 62
_LINES_HEIGHT: Final = 230
_FONT: Final = 11.5

_INK: Final = "#1f2328"
_FASTER, _SLOWER, _OTHER = "#0a7ea4", "#c2571a", "#8b949e"
# The lines of a figure, and their colours.
_COMPARED: Final = {"kafka, tuned": _OTHER, "pykafka": _FASTER}
# Whoever prefers dark pages gets light ink; the colours of bars can be seen on both.
_STYLE: Final = f"""<style>
@media (prefers-color-scheme: dark) {{
  [style*="fill: {_INK}"] {{ fill: #e6edf3 !important; }}
  [style*="stroke: {_INK}"] {{ stroke: #e6edf3 !important; }}
}}
</style>
"""


# Of a line: x, y.
Points = list[tuple[float, float]]


class Bars(NamedTuple):
    """A bar for each case: how many times faster pykafka is. At 1 both take the same time."""

    statement: str
    times: Sequence[tuple[str, float]]


class Lines(NamedTuple):
    """A line for each contender, on logarithmic axes."""

    statement: str
    x: str
    y: str
    lines: Mapping[str, Points]


def _times(title: str, rows: Iterable[Row], label: str, key: str) -> Bars:
    times = [(str(row[label]), float(row[key])) for row in rows if row["contender"] == "pykafka"]
    ahead = sum(_is_ahead(each) for _, each in times)
    return Bars(
        f"{title}: {_range(times)} times Spark's connector,\n"
        f"tuned; as fast or faster in {ahead} of {len(times)} cases",
        times,
    )


def _range(times: Sequence[tuple[str, float]]) -> str:
    figures = [each for _, each in times]
    return f"{min(figures):.1f} to {max(figures):.1f}"


def _is_ahead(times: float) -> bool:
    """Whether it is at least 1 in the way that it is shown."""
    return round(times, 1) >= 1


def _read(results: Row) -> Bars:
    return _times("Reads", results["results"], "workload", "to_tuned")


def _record_size(results: Row) -> Lines:
    sizes = {"100 B x 1,000": 100, "1 kB x 1,000": 1_000, "10 kB x 1,000": 10_000}
    lines: dict[str, Points] = {
        name: [
            (sizes[row["workload"]], 1e6 / row["rows_per_second"])
            for row in results["results"]
            if row["contender"] == name and row["workload"] in sizes
        ]
        for name in _COMPARED
    }
    first, last = (_ratio(lines, place) for place in (0, -1))
    return Lines(
        f"Records of 100 B are read {first:.1f} times as fast as by\n"
        f"Spark's connector, tuned, records of 10 kB {last:.1f} times",
        "bytes of a value",
        "µs of a row",
        lines,
    )


def _partitions(results: Row) -> Lines:
    lines: dict[str, Points] = {
        name: [
            (row["partitions"], row["seconds"])
            for row in results["results"]
            if row["contender"] == name and row["workload"] == "batch"
        ]
        for name in _COMPARED
    }
    most = max(partitions for partitions, _ in lines["pykafka"])
    return Lines(
        f"{most:,.0f} partitions with 100 rows each are read\n"
        f"{_ratio(lines, -1):.0f} times as fast as by Spark's connector, tuned",
        "partitions",
        "seconds",
        lines,
    )


def _write(results: Row) -> Bars:
    tuned = " tuned"
    rows = [
        row | {"workload": row["workload"].removesuffix(tuned)}
        for row in results["write"]
        if row["workload"].endswith(tuned)
    ]
    return _times("Writes", rows, "workload", "to_kafka")


def _stream(results: Row) -> Bars:
    caught_up = [
        (f"catching up, {row['workload']}", row["to_tuned"])
        for row in results["catch_up"]
        if row["contender"] == "pykafka"
    ]
    (few,) = (row["to_tuned"] for row in results["latency"] if row["contender"] == "pykafka")
    times = [("a few new rows", few), *caught_up]
    return Bars(f"Streams: {_range(times)} times Spark's connector,\ntuned", times)


def _formats(results: Row) -> Bars:
    return _times("Avro", results["queries"], "workload", "to_tuned")


# By name, with the results that they are of.
FIGURES: Final[dict[str, tuple[str, Callable[[Row], Bars | Lines]]]] = {
    "reads": ("read", _read),
    "record-size": ("read", _record_size),
    "partitions": ("wide", _partitions),
    "streams": ("stream", _stream),
    "formats": ("formats", _formats),
    "writes": ("write", _write),
}


def _ratio(lines: Mapping[str, Points], place: int) -> float:
    """How many times as fast pykafka is at a point."""
    return lines["kafka, tuned"][place][1] / lines["pykafka"][place][1]


# --- Drawing -------------------------------------------------------------------------------------


def draw_all(folder: Path = RESULTS) -> None:
    """Draw every figure whose results are in the folder, beside them."""
    for name, (results, figure) in FIGURES.items():
        if (folder / f"{results}.json").exists():
            (folder / f"{name}.svg").write_text(svg(figure(results_of(results, folder))))


def svg(figure: Bars | Lines) -> str:
    """The text of the file; the same for the same figures."""
    plt = _pyplot()
    drawn = _bars(plt, figure) if isinstance(figure, Bars) else _lines(plt, figure)
    drawn.suptitle(figure.statement, x=0.02, ha="left", fontsize=_FONT, color=_INK)
    text = io.StringIO()
    drawn.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    plt.close(drawn)
    head, tag, rest = text.getvalue().partition("<defs>")
    return f"{head}{_STYLE}{tag}{rest}"


def _pyplot() -> Any:
    import matplotlib as mpl  # noqa: PLC0415 - slow to import

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    plt.rcParams.update(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "pykafka",
            "font.family": "sans-serif",
            "font.size": _FONT,
            **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), _INK),
            **dict.fromkeys(("xtick.color", "ytick.color"), _INK),
            **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
        }
    )
    return plt


def _new(plt: Any, height: int) -> tuple[Any, Any]:
    new: tuple[Any, Any] = plt.subplots(figsize=(_WIDTH / 72, height / 72), layout="constrained")
    return new


def _bars(plt: Any, figure: Bars) -> Any:
    drawn, axes = _new(plt, _TITLE_HEIGHT + _BAR_HEIGHT * len(figure.times))
    labels, times = zip(*reversed(figure.times), strict=True)
    colors = [_FASTER if _is_ahead(each) else _SLOWER for each in times]
    bars = axes.barh(range(len(times)), times, 0.7, color=colors)
    axes.bar_label(bars, fmt="%.1f", padding=3, color=_INK)
    axes.set_yticks(range(len(times)), labels)
    axes.axvline(1, color=_INK, linewidth=0.8)
    axes.set_xlim(0, 1.12 * max(times))
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.tick_params(length=0)
    axes.set_xticks([1], ["1: as fast"])
    return drawn


def _lines(plt: Any, figure: Lines) -> Any:
    drawn, axes = _new(plt, _LINES_HEIGHT)
    for name, color in _COMPARED.items():
        xs, ys = zip(*figure.lines[name], strict=True)
        axes.loglog(xs, ys, color=color, marker="o", linewidth=2, label=name)
    # Times rise, so no line comes near this corner.
    axes.legend(loc="upper left", frameon=False, labelcolor="linecolor")
    axes.minorticks_off()
    axes.set_xticks(xs, [f"{x:,.0f}" for x in xs])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.margins(y=0.2)
    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    return drawn


if __name__ == "__main__":
    draw_all()
