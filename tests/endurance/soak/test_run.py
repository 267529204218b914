"""What becomes of the samples of a run that fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.endurance.soak.run import SAMPLES, Findings, keep, keeping_samples

SERIES = {("reader", "rss"): [(0.0, 1.0)]}


def test_each_sample_is_written_down_at_once(tmp_path: Path) -> None:
    findings = Findings()
    for seconds in (0.0, 10.0):
        keep(findings, tmp_path, seconds, {"reader": {"rss": seconds + 1}})
        lines = (tmp_path / SAMPLES).read_text().splitlines()
        assert json.loads(lines[-1]) == {"seconds": seconds, "reader": {"rss": seconds + 1}}
    assert len(lines) == 2
    assert findings.series == {("reader", "rss"): [(0.0, 1.0), (10.0, 11.0)]}
    assert findings.seconds == 10


@pytest.mark.parametrize(
    "error", [KeyError("w1-0"), AssertionError("it"), KeyboardInterrupt(), SystemExit(1)]
)
def test_an_error_is_a_fault_of_a_run_with_samples(error: BaseException) -> None:
    findings = Findings(series=SERIES)

    def fail() -> None:
        raise error

    with keeping_samples(findings):
        fail()
    (fault,) = findings.faults
    assert fault.startswith(f"the run ended early: {type(error).__name__}")


def test_an_error_before_the_first_sample_is_raised() -> None:
    with pytest.raises(KeyError), keeping_samples(Findings()):
        raise KeyError
