"""Whether a measure grows: arithmetic on samples, without I/O.

Memory and objects go up and down with garbage collection, so the slope is that of the minima of
short spans (Theil-Sen, which ignores up to 29 % of outliers). A count such as descriptors must
not grow at all: it has grown if both the minimum and the median of the last quarter are above
those of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

Series = Sequence[tuple[float, float]]
"""Seconds since the start, and the value then."""

_HOUR: Final = 3600
_SPANS: Final = 24
_MAX_WARM_UP_SECONDS: Final = 30 * 60


class Verdict(NamedTuple):
    """The judgement of one measure.

    Attributes:
        first: The minimum of the first quarter after the warm-up.
        last: The minimum of the last quarter.
        per_hour: The slope of the minima.
        limit: The highest slope that is allowed; None if the measure is shown only.
        grows: Whether it is above.
    """

    first: float
    last: float
    per_hour: float
    limit: float | None
    grows: bool


def warm_up_seconds(seconds: float) -> float:
    """The first quarter of a run, at most half an hour."""
    return min(seconds / 4, _MAX_WARM_UP_SECONDS)


def after(series: Series, seconds: float) -> Series:
    """The samples from a time on."""
    return [sample for sample in series if sample[0] >= seconds]


def slope_per_hour(series: Series) -> float:
    """The slope of the minima; 0 if there are not two spans with samples."""
    points = _minima(series)
    slopes = [
        (after_value - value) / (then - now)
        for (now, value), (then, after_value) in combinations(points, 2)
    ]
    return float(np.median(slopes)) * _HOUR if slopes else 0.0


def judge_slope(series: Series, limit: float | None) -> Verdict:
    """Judge memory or objects: the slope may be up to the limit an hour."""
    slope = slope_per_hour(series)
    first, last = _quarters(series)
    return Verdict(min(first), min(last), slope, limit, limit is not None and slope > limit)


def judge_count(series: Series, limit: float | None = 0) -> Verdict:
    """Judge a count that must not grow, such as descriptors."""
    first, last = _quarters(series)
    grows = min(last) > min(first) and float(np.median(last)) > float(np.median(first))
    return Verdict(min(first), min(last), slope_per_hour(series), limit, grows)


class Rule(NamedTuple):
    """How a measure is judged, and its limit an hour."""

    judge: Callable[[Series, float | None], Verdict]
    limit: float | None


RULES: Final = {
    "rss": Rule(judge_slope, 1.0),
    "live heap": Rule(judge_slope, 1.0),
    # A leak of one object in each micro-batch is 3600 an hour.
    "objects": Rule(judge_slope, 500.0),
    "descriptors": Rule(judge_count, 0.0),
    "threads": Rule(judge_count, 0.0),
    "processes": Rule(judge_count, 0.0),
}
# Shown only: the bytes of the live heap are judged.
SHOWN: Final = frozenset({("jvm", "objects")})


def judge_all(series: Mapping[tuple[str, str], Series], seconds: float) -> dict[str, Verdict]:
    """Judge each role and measure of a run of so many seconds."""
    verdicts = {}
    for (role, measure), samples in series.items():
        kept = after(samples, warm_up_seconds(seconds))
        if measure not in RULES or not kept:
            continue
        judge, limit = RULES[measure]
        if (role, measure) in SHOWN:
            limit = None
        verdicts[f"{role} {measure}"] = judge(kept, limit)
    return verdicts


def _minima(series: Series) -> list[tuple[float, float]]:
    """The lowest sample of each of the equal spans of time."""
    if not series:
        return []
    begin, end = series[0][0], series[-1][0]
    width = (end - begin) / _SPANS or 1.0
    spans: dict[int, tuple[float, float]] = {}
    for time, value in series:
        span = min(int((time - begin) / width), _SPANS - 1)
        if span not in spans or value < spans[span][1]:
            spans[span] = (time, value)
    return list(spans.values())


def _quarters(series: Series) -> tuple[list[float], list[float]]:
    """The values of the first and of the last quarter; each has at least one."""
    size = max(1, len(series) // 4)
    values = [value for _, value in series]
    return values[:size], values[-size:]
