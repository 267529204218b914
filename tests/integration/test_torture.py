"""A minute of `make torture`: each row is compared, and a planted fault is found.

TORTURE_SEED=n draws the topics and queries of a run again.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.endurance.torture.cases import case_of
from tests.endurance.torture.results import Status
from tests.endurance.torture.topics import Transaction, Write
from tests.own_process import run_module

log = logging.getLogger(__name__)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.newest,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc"),
    pytest.mark.timeout(900),
]


def run(folder: Path, **options: Any) -> Any:
    options = {"loses": False, **options}
    arguments = (str(folder), json.dumps(options))
    return run_module(folder, "tests.jobs.torture", *arguments)


def test_a_minute_of_torture(tmp_path: Path) -> None:
    seed = int(os.environ.get("TORTURE_SEED") or random.SystemRandom().randrange(10**6))
    log.warning("TORTURE_SEED=%d", seed)
    result = run(tmp_path, seed=seed, minutes=1)
    assert result["problems"] == []
    assert len(result["statuses"]) > 20
    assert set(result["statuses"]) <= {Status.RIGHT.name, Status.AGAIN.name}


def test_a_lost_row_is_found_and_cut_down(tmp_path: Path) -> None:
    """The last record of each range is dropped."""
    given = {"seed": 3, "minutes": 0.01, "ways": ["threads"], "queries": 1}
    result = run(tmp_path, loses=True, **given)
    assert Status.DIFFERENT.name in result["statuses"]
    assert any("missing at the end" in each for each in result["problems"])
    case = case_of((tmp_path / "case-1.txt").read_text())
    assert case.query.options == {}
    (plan,) = case.plans
    writes = [step.write if isinstance(step, Transaction) else step for step in plan.steps]
    assert len(writes) == 1
    assert isinstance(writes[0], Write)
    # A record in each of the partitions, at most.
    assert writes[0].count <= plan.partitions
    assert [*tmp_path.glob("data-1/*/*/*.log")]
