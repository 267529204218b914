from __future__ import annotations

import random

from hypothesis import example, given
from hypothesis import strategies as st

from tests.endurance.torture.cases import Case
from tests.endurance.torture.made_up import BEGUN_MS, TRUTH
from tests.endurance.torture.positions import Form, Position
from tests.endurance.torture.queries import COLUMNS, Query, draw
from tests.endurance.torture.shrink import shrink, smaller
from tests.endurance.torture.topics import (
    DeleteRecords,
    Producing,
    Shape,
    TopicPlan,
    Transaction,
    Write,
)
from tests.truth.filters import Filter

BIG = Write(7, 1_000, Shape(keys="many"), Producing(codec="zstd"))


def case_of_two() -> Case:
    plans = (
        TopicPlan("a", 3, steps=(BIG, Transaction(BIG), DeleteRecords((0.5,)), BIG)),
        TopicPlan("b", 2, steps=(BIG,)),
    )
    places = tuple((plan.topic, p) for plan in plans for p in range(plan.partitions))
    query = Query(
        "spark stream",
        ("a", "b"),
        "subscribe",
        places,
        Position(Form.OFFSETS, dict.fromkeys(places, 3), words=frozenset("b")),
        Position(Form.OMITTED),
        committed=True,
        filters=(Filter("offset", ">", 3), Filter("partition", "=", 1)),
        options={"minPartitions": "4", "maxOffsetsPerTrigger": "9"},
        how={"sink": "memory"},
    )
    return Case(plans, query)


def records(case: Case) -> int:
    writes = [
        step.write if isinstance(step, Transaction) else step
        for plan in case.plans
        for step in plan.steps
    ]
    return sum(each.count for each in writes if isinstance(each, Write))


def test_what_does_not_matter_is_taken_out() -> None:
    def differs(case: Case) -> bool:
        writes = [each for plan in case.plans for each in plan.steps if isinstance(each, Write)]
        return case.query.options.get("minPartitions") == "4" and any(
            each.count >= 10 for each in writes
        )

    small = shrink(case_of_two(), differs, tries=500)
    (plan,) = small.plans
    assert plan.partitions == 1
    assert plan.steps == (Write(7, 10),)
    query = small.query
    assert (query.way, query.options, query.filters) == ("spark batch", {"minPartitions": "4"}, ())
    assert query.topics == (plan.topic,)
    assert query.places == ((plan.topic, 0),)
    assert query.start == query.end == Position(Form.OMITTED)
    assert (query.columns, query.committed) == (COLUMNS, False)


@example(83)  # a group that reads one of two partitions
@given(st.integers(0, 2**32))
def test_smaller_cases_are_whole_and_others(seed: int) -> None:
    query = draw(random.Random(seed), TRUTH, BEGUN_MS)
    case = Case(tuple(TRUTH[topic].plan for topic in query.topics), query)
    for each in smaller(case):
        assert each != case
        assert records(each) <= records(case)
        topics = {plan.topic for plan in each.plans}
        assert topics == {*each.query.topics} == {topic for topic, _ in each.query.places}
        for position in (each.query.start, each.query.end):
            assert not position.of or {*position.of} == {*each.query.places}
