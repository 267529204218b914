"""The rules about the end of a micro-batch. `test_micro_batches` has them with brokers."""

from __future__ import annotations

import pytest

from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.streaming.micro_batch_rules import RULES, Reach, Rule, Run, Turn
from tests.fakes.micro_batches import T0, T1, U0


def test_each_case_has_rules() -> None:
    assert {(turn, run) for turn in Turn for run in Run} == {
        (turn, run) for turn, row in RULES.items() for run in row
    }


@pytest.mark.parametrize("turn", Turn)
def test_a_run_with_a_target_never_waits_and_an_endless_one_has_nothing_to_check(
    turn: Turn,
) -> None:
    assert not RULES[turn][Run.TO_TARGET] & {Rule.WAIT, Rule.STAY_IF_READ, Rule.BEGIN_AGAIN}
    assert Rule.CHECK_TARGET not in RULES[turn][Run.ENDLESS]


def test_partitions_begin_at_the_start_or_at_the_start_of_their_log() -> None:
    reach = Reach.of(start={T0: 3, U0: 9}, available={T0: 5, T1: 7}, earliest={T1: 2})
    assert reach.begin == {T0: 3, T1: 2}
    assert reach.latest == {T0: 5, T1: 7}


def test_nothing_new_is_read_of_a_topic_that_waits() -> None:
    reach = Reach.of(start={T0: 3, U0: 9}, available={T0: 5, T1: 7, U0: 11}, earliest={T1: 2})
    assert reach.without({"t"}) == Reach(reach.start, reach.begin, {T0: 3, T1: 2, U0: 11})
    assert reach.without(set()) is reach


@pytest.mark.parametrize(
    ("available", "is_shorter"), [({T0: 3}, False), ({T0: 2}, True), ({T1: 1}, False)]
)
def test_a_log_that_ends_before_the_start(available: Offsets, is_shorter: bool) -> None:
    assert Reach.of({T0: 3}, available, {}).has_shorter_log is is_shorter
