"""A slice of the simulation: fixed seeds, and new ones in `make test-all`; and all cases."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.simulation.campaign import campaign
from tests.simulation.drawing import draw
from tests.simulation.judge import violations
from tests.simulation.run import run
from tests.simulation.scenario import from_json

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))
SECONDS = 25


@pytest.mark.no_cover
def test_fixed_seeds() -> None:
    totals = campaign(0, seconds=SECONDS)
    assert not totals.failures
    assert totals.seeds > 3


@pytest.mark.no_cover
@pytest.mark.slow
def test_new_seeds() -> None:
    totals = campaign(random.randrange(2**31), seconds=60)
    assert not totals.failures


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_cases_that_failed_once(case: Path) -> None:
    outcome, _ = run(from_json(case.read_text()))
    assert violations(outcome) == []


@pytest.mark.no_cover
def test_a_seed_gives_the_same_run() -> None:
    scenario = draw(7)
    digests = {run(scenario)[0].digest for _ in range(2)}
    assert len(digests) == 1
