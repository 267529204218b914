from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.endurance.torture import topics
from tests.endurance.torture.topics import (
    KINDS,
    AddPartitions,
    Compact,
    DeleteRecords,
    Recreate,
    Retain,
    Step,
    TopicPlan,
    Transaction,
    Write,
    draw_change,
    draw_plan,
    partitions_after,
)

seeds = st.integers(0, 2**32)
kinds = st.sampled_from(sorted(KINDS))


def writes_of(steps: tuple[Step, ...]) -> list[Write]:
    writes = [step.write if isinstance(step, Transaction) else step for step in steps]
    return [write for write in writes if isinstance(write, Write)]


@given(seeds)
def test_a_seed_repeats_a_topic_and_its_changes(seed: int) -> None:
    first, second = (random.Random(seed) for _ in range(2))
    plan = draw_plan(first, "t")
    assert plan == draw_plan(second, "t")
    assert draw_change(first, plan) == draw_change(second, plan)


@given(seeds, kinds)
def test_the_text_of_a_plan_makes_the_plan(seed: int, kind: str) -> None:
    plan = draw_plan(random.Random(seed), "t", kind)
    assert eval(repr(plan), vars(topics)) == plan


def test_all_kinds_and_steps_are_drawn() -> None:
    chance = random.Random(1)
    plans = [draw_plan(chance, "t") for _ in range(300)]
    steps = Counter(type(step) for plan in plans for step in plan.steps)
    every = {Write, Transaction, DeleteRecords, AddPartitions, Recreate, Compact, Retain}
    assert set(steps) == every
    assert {plan.partitions for plan in plans} == set(range(1, 7))
    assert {plan.cleanup for plan in plans} == {"delete", "compact", "compact,delete"}
    assert {plan.timestamp_type for plan in plans} == {"CreateTime", "LogAppendTime"}
    ends = Counter(
        step.committed for plan in plans for step in plan.steps if isinstance(step, Transaction)
    )
    assert min(ends[True], ends[False]) > 50


@given(seeds, kinds)
def test_brokers_accept_what_is_drawn(seed: int, kind: str) -> None:
    chance = random.Random(seed)
    plan = draw_plan(chance, "t", kind)
    changed = plan._replace(steps=(*plan.steps, *draw_change(chance, plan)))
    for write in writes_of(changed.steps):
        # A compacted topic needs keys.
        assert not plan.is_compacted or write.shape.keys in {"few", "unique"}
        assert 0 < write.count <= 20_000
    kinds_of_steps = {type(step) for step in changed.steps}
    # Records of a topic that is only compacted cannot be deleted.
    assert plan.cleanup != "compact" or not kinds_of_steps & {DeleteRecords, Retain}
    # Without closed segments there is nothing to wait for.
    assert plan.rolls or not kinds_of_steps & {Compact, Retain}


@given(seeds)
def test_large_values_are_few(seed: int) -> None:
    plan = draw_plan(random.Random(seed), "t", "large")
    large = [write for write in writes_of(plan.steps) if write.shape.values == "large"]
    assert 1 <= sum(write.count for write in large) <= 12


@pytest.mark.parametrize(
    ("steps", "count"),
    [
        ((), 2),
        ((AddPartitions(5),), 5),
        ((AddPartitions(1),), 2),
        ((AddPartitions(5), Recreate(1)), 1),
        ((Recreate(1), AddPartitions(3), Compact()), 3),
    ],
)
def test_partitions_after_all_steps(steps: tuple[Step, ...], count: int) -> None:
    assert partitions_after(TopicPlan("t", 2, steps=steps)) == count


@given(seeds)
def test_a_change_adds_partitions(seed: int) -> None:
    chance = random.Random(seed)
    plan = draw_plan(chance, "t")
    for step in draw_change(chance, plan):
        if isinstance(step, AddPartitions):
            assert step.partitions > partitions_after(plan)


def test_steps_are_not_equal_to_others_and_not_false() -> None:
    steps: list[Step] = [Compact(), Recreate(3), AddPartitions(3), Retain(3)]
    assert all(steps)
    assert len(set(steps)) == 4
    assert replace(Write(1, 10), count=5) == Write(1, 5)


def test_what_retention_changes_is_configured_from_the_start() -> None:
    """A broker that restarts merges the configurations of both lives of a topic."""
    config = TopicPlan("t", 1, "compact", "LogAppendTime", rolls=True).config
    assert config[topics.RETENTION_BYTES] == "-1"
    assert config["cleanup.policy"] == "compact"
    assert config["message.timestamp.type"] == "LogAppendTime"
    assert config["segment.ms"] == "200"
    assert "segment.ms" not in TopicPlan("t", 1).config
