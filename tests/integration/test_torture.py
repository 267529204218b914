"""A minute of `make torture`: each row is compared, and a planted fault is found.

TORTURE_SEED=n draws the topics and queries of a run again.
"""

from __future__ import annotations

import logging
import os
import random
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kafka_protocol.arrow_io.topic import read_topic
from tests.endurance.torture.cases import case_of
from tests.endurance.torture.results import Status
from tests.endurance.torture.run import run
from tests.endurance.torture.topics import Transaction, Write
from tests.endurance.torture.ways import threads

log = logging.getLogger(__name__)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.newest,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc"),
    pytest.mark.timeout(900),
]


def test_a_minute_of_torture(tmp_path: Path) -> None:
    seed = int(os.environ.get("TORTURE_SEED") or random.SystemRandom().randrange(10**6))
    log.warning("TORTURE_SEED=%d", seed)
    result = run(tmp_path, seed, minutes=1, show=log.warning)
    assert result.problems == []
    assert len(result.results) > 20
    assert {each.status for each in result.results} <= {Status.RIGHT, Status.AGAIN}


def test_a_lost_row_is_found_and_cut_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last record of each range is dropped."""

    def without_the_last(*args: Any, **options: Any) -> pa.RecordBatchReader:
        table = read_topic(*args, **options).read_all()
        return table.slice(0, max(0, table.num_rows - 1)).to_reader()

    # The planted fault.
    monkeypatch.setattr(threads, "read_topic", without_the_last)
    told: list[str] = []
    result = run(tmp_path, seed=3, minutes=0.01, show=told.append, ways=("threads",), queries=1)
    assert {each.status for each in result.results} >= {Status.DIFFERENT}
    assert any("missing" in each for each in result.problems)
    case = case_of((tmp_path / "case-1.txt").read_text())
    assert case.query.options == {}
    (plan,) = case.plans
    writes = [step.write if isinstance(step, Transaction) else step for step in plan.steps]
    assert len(writes) == 1
    assert isinstance(writes[0], Write)
    # A record in each of the partitions, at most.
    assert writes[0].count <= plan.partitions
    assert [*tmp_path.glob("data-1/*/*/*.log")]
