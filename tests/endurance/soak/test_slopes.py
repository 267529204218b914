"""A leak is found in noise, and noise is not taken for a leak."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.endurance.soak.slopes import (
    Series,
    Verdict,
    after,
    judge_all,
    judge_count,
    judge_slope,
    slope_per_hour,
    warm_up_seconds,
)

TWO_HOURS = 7200
LIMIT = 1.0
seeds = st.integers(0, 2**32 - 1)


def memory(seed: int, per_hour: float, seconds: int = TWO_HOURS) -> Series:
    """A sawtooth of 30 MiB with noise and rare peaks, on top of a slope."""
    random = np.random.default_rng(seed)
    times = np.arange(0, seconds, 10.0)
    sawtooth = 30 * (times % 170) / 170
    peaks = np.where(random.random(len(times)) < 0.02, 50, 0)
    noise = random.exponential(0.3, len(times))
    values = 200 + sawtooth + peaks + noise + per_hour * times / 3600
    return [*zip(times.tolist(), values.tolist(), strict=True)]


def judged(series: Series) -> Verdict:
    return judge_slope(after(series, warm_up_seconds(TWO_HOURS)), LIMIT)


@given(seeds)
def test_a_leak_of_two_mebibytes_an_hour_is_found(seed: int) -> None:
    verdict = judged(memory(seed, per_hour=2))
    assert verdict.grows, verdict


@given(seeds, st.floats(-5, 0.2))
def test_noise_is_no_leak(seed: int, per_hour: float) -> None:
    verdict = judged(memory(seed, per_hour))
    assert not verdict.grows, verdict


def test_growth_in_the_warm_up_is_none() -> None:
    series = [(time, 100 + min(time, 1800.0) / 10) for time, _ in memory(1, 0)]
    assert slope_per_hour([sample for sample in series if sample[0] < 1800]) > LIMIT
    assert not judged(series).grows


@given(st.floats(-1e3, 1e3), st.floats(0, 1e6), st.integers(2, 800))
def test_the_slope_of_a_line_is_its_own(per_hour: float, start: float, count: int) -> None:
    series = [(10.0 * each, start + per_hour * each / 360) for each in range(count)]
    assert slope_per_hour(series) == pytest.approx(per_hour, abs=1e-3)


@given(seeds, st.integers(1, 400))
def test_the_slope_does_not_depend_on_the_level(seed: int, level: int) -> None:
    series = memory(seed, 1)
    raised = [(time, value + level) for time, value in series]
    assert slope_per_hour(raised) == pytest.approx(slope_per_hour(series), abs=1e-6)


@given(st.lists(st.integers(20, 30), min_size=40, max_size=400))
def test_a_count_that_varies_around_its_floor_stays(peaks: list[int]) -> None:
    series = [(10.0 * time, min(20 + time % 5 * peak, 40)) for time, peak in enumerate(peaks)]
    assert not judge_count(series).grows


@given(st.integers(40, 400), st.integers(0, 5))
def test_one_descriptor_more_is_found(count: int, noise: int) -> None:
    """A single one, half way, below noise that is larger."""
    series = [(10.0 * n, 20 + (n > count // 2) + n % (noise + 1)) for n in range(count)]
    assert judge_count(series).grows


def test_a_peak_at_the_end_is_no_growth() -> None:
    series = [(10.0 * time, 20 + (time > 90) * 5) for time in range(100)]
    assert not judge_count(series).grows


@pytest.mark.parametrize("series", [[], [(0.0, 5.0)], [(0.0, 5.0), (0.0, 6.0)]])
def test_too_few_samples_have_no_slope(series: Series) -> None:
    assert slope_per_hour(series) == 0


def test_the_warm_up_is_a_quarter_but_at_most_half_an_hour() -> None:
    assert warm_up_seconds(120) == 30
    assert warm_up_seconds(TWO_HOURS) == 1800
    assert warm_up_seconds(10 * TWO_HOURS) == 1800


def test_all_measures_are_judged_after_the_warm_up() -> None:
    leak, flat = memory(1, 3), memory(2, 0)
    counts = [(time, 20.0 + (time > TWO_HOURS / 2)) for time, _ in flat]
    verdicts = judge_all(
        {
            ("workers", "rss"): leak,
            ("reader", "rss"): flat,
            ("jvm", "descriptors"): counts,
            ("jvm", "objects"): [(time, 1e6 * value) for time, value in leak],
            ("jvm", "anonymous"): leak,
            ("driver", "objects"): [(100.0, 1.0)],
        },
        TWO_HOURS,
    )
    assert [name for name, verdict in verdicts.items() if verdict.grows] == [
        "workers rss",
        "jvm descriptors",
    ]
    assert {*verdicts} == {"workers rss", "reader rss", "jvm descriptors", "jvm objects"}
    assert verdicts["jvm objects"].limit is None
