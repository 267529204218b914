"""What becomes of the samples of a run that fails."""

from __future__ import annotations

import pytest

from tests.endurance.soak.run import Findings, keeping_samples

SERIES = {("reader", "rss"): [(0.0, 1.0)]}


@pytest.mark.parametrize("error", [KeyError("w1-0"), AssertionError("it"), KeyboardInterrupt()])
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
