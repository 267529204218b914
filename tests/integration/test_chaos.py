"""A minute of `make chaos`: the delivery is checked, and that nothing hangs.

CHAOS_SEED=n repeats the faults of a run. How soon copies catch up is judged by `make chaos` alone,
on a machine that has nothing else to do.
"""

from __future__ import annotations

import logging
import os
import random
import sys
from pathlib import Path

import pytest

from tests.endurance.torture.run import COPIES, run

log = logging.getLogger(__name__)


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.spark
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, and several loopback hosts")
@pytest.mark.timeout(900)
def test_fault_55_and_57_a_minute_of_chaos(tmp_path: Path) -> None:
    seed = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(10**6))
    log.warning("CHAOS_SEED=%d", seed)
    result = run(tmp_path, seed, 1, log.warning, [COPIES], stall_seconds=float("inf"))
    assert result.problems == []
    (copies,) = result.copies
    assert copies.rounds
    assert min(copies.counts.values()) > 1_000
