from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.endurance.torture.options import source_options, stream_limits

seeds = st.integers(0, 2**32)
totals = st.integers(0, 10**6)


@given(seeds, totals)
def test_a_query_has_few_tasks(seed: int, total: int) -> None:
    most = int(source_options(random.Random(seed), total).get("maxRecordsPerPartition", total or 1))
    assert total / most <= 40


@given(seeds, totals)
def test_a_stream_has_few_micro_batches(seed: int, total: int) -> None:
    limits = stream_limits(random.Random(seed), total)
    most = int(limits.get("maxOffsetsPerTrigger", total or 1))
    assert total / most <= 8
    assert ("minOffsetsPerTrigger" in limits) == ("maxTriggerDelay" in limits)
