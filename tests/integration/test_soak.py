"""The soak test itself works: `make soak` runs it for two hours, and judges what grows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.endurance.soak.run import soak
from tests.endurance.soak.sampling import PYTHON_ROLES, ROLES

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.newest,
    pytest.mark.skipif(sys.platform != "linux", reason="samples are read from /proc"),
]

SECONDS = 90
SAMPLES = 5


def test_samples_of_all_processes_and_whole_copies(tmp_path: Path) -> None:
    """The second batch job begins after 72 seconds. Slopes need hours, so none is judged."""
    told: list[str] = []
    findings = soak(SECONDS, tmp_path, lambda _, words: told.append(words))
    assert findings.faults == []
    assert findings.records > 0
    assert findings.jobs == 2
    assert len(told) >= SAMPLES
    for role in ROLES:
        for measure in ("rss", "anonymous", "descriptors", "threads", "processes"):
            samples = findings.series[role, measure]
            assert len(samples) >= SAMPLES, (role, measure)
            assert min(value for _, value in samples) > 0, (role, measure)
    for role in PYTHON_ROLES:
        assert len(findings.series[role, "objects"]) >= SAMPLES // 2, role
    assert {value for _, value in findings.series["reader", "processes"]} == {2}
    assert {value for _, value in findings.series["jvm", "processes"]} == {1}
    if not findings.notes:
        assert len(findings.series["jvm", "live heap"]) >= SAMPLES
