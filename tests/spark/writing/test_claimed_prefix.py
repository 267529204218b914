"""Which tasks of a micro-batch still have to write, by what the driver found decided."""

from __future__ import annotations

import pickle
from itertools import product

import pytest

from kafka_protocol.client.producer.transactions import Transaction
from kafka_spark_source.writing.claimed_prefix import (
    ACTIONS,
    EVERY_TASK,
    Action,
    ClaimedPrefix,
    Decided,
    Records,
)
from kafka_spark_source.writing.decision_format import MicroBatch
from kafka_spark_source.writing.delivery import TaskAttempt

DRIVER = Transaction("p-driver", 1, 2, 3)
CURRENT = MicroBatch("q", 5)
DECIDED = {
    Decided.NONE: None,
    Decided.ANOTHER_QUERY: MicroBatch("another", 9),
    Decided.EARLIER: MicroBatch("q", 4),
    Decided.THIS: CURRENT,
    Decided.LATER: MicroBatch("q", 6),
}


def action(decided: MicroBatch | None, rolled_back: frozenset[int], task: int = 3) -> Action:
    prefix = ClaimedPrefix(DRIVER, decided, rolled_back)
    return prefix.action(TaskAttempt(task, 0, CURRENT))


def test_the_table_has_each_case() -> None:
    assert ACTIONS.keys() == {*Decided}
    assert all(row.keys() == {*Records} for row in ACTIONS.values())


@pytest.mark.parametrize(("decided", "records"), [*product(Decided, Records)])
def test_each_case(decided: Decided, records: Records) -> None:
    rolled_back = frozenset({3} if records is Records.ROLLED_BACK else {2})
    assert action(DECIDED[decided], rolled_back) is ACTIONS[decided][records]


def test_records_that_are_committed_are_never_written_again() -> None:
    for decided in (Decided.THIS, Decided.LATER):
        assert action(DECIDED[decided], frozenset()) is Action.SKIP


def test_a_task_that_the_decision_does_not_know_writes_if_nothing_is_committed() -> None:
    prefix = ClaimedPrefix(DRIVER, CURRENT, EVERY_TASK)
    assert prefix.action(TaskAttempt(2_000_000, 0, CURRENT)) is Action.WRITE


def test_a_batch_query_always_writes() -> None:
    prefix = ClaimedPrefix(DRIVER, CURRENT)
    assert prefix.action(TaskAttempt(3, 0, None)) is Action.WRITE


def test_it_travels_to_the_tasks() -> None:
    prefix = ClaimedPrefix(DRIVER, CURRENT, EVERY_TASK)
    assert pickle.loads(pickle.dumps(prefix)) == prefix
