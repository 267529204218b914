"""What rounds tell in which contenders take turns: medians, spread and ratios.

A ratio is that of two runs of one round, which the machine treated alike; its median and quartiles
are those of all rounds. Knows no Spark.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from benchmarks.processes import Run, cpu_of_a_row

Result = dict[str, Any]
T = TypeVar("T")


def results_of(
    rows: int, runs: Mapping[str, Sequence[Run]], references: Mapping[str, str]
) -> list[Result]:
    """A result for each contender.

    Args:
        rows: The rows of a run.
        runs: The runs of each contender, by round.
        references: The contenders that others are compared with, by the name of the ratio.
    """
    seconds = {name: [run.seconds for run in done] for name, done in runs.items()}
    return [
        {
            "contender": name,
            "rows": rows,
            "rows_per_second": round(rows / statistics.median(seconds[name])),
            "cpu_ns": cpu_of_a_row(rows, done),
            **ratios(seconds, name, references),
        }
        for name, done in runs.items()
    ]


def shuffled(contenders: Iterable[T], round_number: int) -> Sequence[T]:
    """The contenders in the order of a round; the same in each run.

    Java goes on to compile the code of one contender while the next one runs, so none may always
    come after the same one.
    """
    order = [*contenders]
    random.Random(round_number).shuffle(order)
    return order


def ratios(
    seconds: Mapping[str, Sequence[float]], name: str, references: Mapping[str, str]
) -> Result:
    """How many times as fast a contender is as each reference: median and quartiles."""
    found: Result = {}
    for ratio, reference in references.items():
        times = np.divide(seconds[reference], seconds[name])
        low, middle, high = (round(float(each), 2) for each in np.percentile(times, [25, 50, 75]))
        found |= {ratio: middle, f"{ratio}_quartiles": [low, high]}
    return found
