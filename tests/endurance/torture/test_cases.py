from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.endurance.torture.cases import Case, case_of, on_topics
from tests.endurance.torture.made_up import BEGUN_MS, TRUTH
from tests.endurance.torture.queries import draw, ranges_of, read_options
from tests.endurance.torture.topics import draw_plan
from tests.truth.filters import Filter


@given(st.integers(0, 2**32))
def test_the_text_of_a_case_makes_it(seed: int) -> None:
    query = draw(random.Random(seed), TRUTH, BEGUN_MS)
    plans = tuple(draw_plan(random.Random(seed), topic) for topic in query.topics)
    case = Case(plans, query)
    assert case_of(f"{case!r}\n") == case


@given(st.integers(0, 2**32))
def test_a_case_on_other_topics_asks_for_the_same(seed: int) -> None:
    query = draw(random.Random(seed), TRUTH, BEGUN_MS)
    query = query._replace(filters=(*query.filters, Filter("topic", "IN", ("a", "none"))))
    names = {topic: f"other-{topic}" for topic in TRUTH}
    case = Case(tuple(TRUTH[topic].plan for topic in query.topics), query)
    moved = on_topics(case, names)
    truth = {names[topic]: each for topic, each in TRUTH.items()}
    assert [plan.topic for plan in moved.plans] == [names[each] for each in query.topics]
    assert [*ranges_of(moved.query, truth).values()] == [*ranges_of(query, TRUTH).values()]
    assert "other-a" in moved.query.filters[-1].value
    back = on_topics(moved, {new: old for old, new in names.items()})
    assert read_options(back.query) == read_options(query)
