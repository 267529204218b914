"""The judge of refusals: what no right client sends, and nothing that brokers may refuse."""

from __future__ import annotations

import pytest

from kafka_protocol.errors import ErrorCode
from tests.simulation.judge_refusals import refusal_violations
from tests.simulation.outcome import Refused
from tests.simulation.test_judge import good


@pytest.mark.parametrize(
    ("code", "count"),
    [
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 1),
        (ErrorCode.CORRUPT_MESSAGE, 1),
        (ErrorCode.REQUEST_TIMED_OUT, 0),
        (ErrorCode.NOT_ENOUGH_REPLICAS, 0),
    ],
)
def test_refusals(code: ErrorCode, count: int) -> None:
    outcome = good(refused=[Refused("producer-0", code, "Produce to in-0")])
    assert len([*refusal_violations(outcome)]) == count
