"""A case: plans of topics and one query of them, which can be run again on new topics. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tests.endurance.torture import positions, queries, topics
from tests.endurance.torture.positions import Position
from tests.endurance.torture.queries import Query
from tests.endurance.torture.topics import TopicPlan
from tests.truth.filters import Filter


class Case(NamedTuple):
    """The topics of a query, in its order, and the query."""

    plans: tuple[TopicPlan, ...]
    query: Query


_NAMES = {
    name: each
    for module in (positions, queries, topics)
    for name, each in vars(module).items()
    if isinstance(each, type)
}


def case_of(text: str) -> Case:
    """The case whose `repr` the text is."""
    case = eval(text, {**_NAMES, "Case": Case})
    assert isinstance(case, Case), text
    return case


def on_topics(case: Case, names: Mapping[str, str]) -> Case:
    """The same case on topics of other names."""
    query = case.query
    return Case(
        tuple(plan._replace(topic=names[plan.topic]) for plan in case.plans),
        query._replace(
            topics=tuple(names[each] for each in query.topics),
            places=tuple((names[topic], partition) for topic, partition in query.places),
            start=_renamed(query.start, names),
            end=_renamed(query.end, names),
            filters=tuple(_renamed_filter(each, names) for each in query.filters),
        ),
    )


def _renamed(position: Position, names: Mapping[str, str]) -> Position:
    return position._replace(
        of={(names[topic], partition): each for (topic, partition), each in position.of.items()},
        words=frozenset(names[each] for each in position.words),
    )


def _renamed_filter(each: Filter, names: Mapping[str, str]) -> Filter:
    if each.column != "topic":
        return each
    if each.operator == "IN":
        return each._replace(value=tuple(names.get(name, name) for name in each.value))
    return each._replace(value=names.get(each.value, each.value))
