"""Cases that are a step smaller than one that shows a difference. Pure.

`tests/truth/shrink.py` tries them. What does not run, or what no query can ask of a smaller topic,
shows no difference, and is left as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.endurance.torture.cases import Case
from tests.endurance.torture.positions import Form, Position
from tests.endurance.torture.queries import COLUMNS, WRITES, Query
from tests.endurance.torture.topics import (
    AddPartitions,
    Producing,
    Recreate,
    Shape,
    Step,
    TopicPlan,
    Transaction,
    Write,
)
from tests.truth import shrink as search

_OMITTED = Position(Form.OMITTED)


def shrink(case: Case, differs: Callable[[Case], bool], tries: int) -> Case:
    """The smallest case that was found within so many tries."""
    return search.shrink(case, smaller, search.one_by_one(differs, tries))


def smaller(case: Case) -> Iterator[Case]:
    """Cases that are a step smaller, those that leave out most first."""
    yield from _fewer_topics(case)
    yield from _simpler_queries(case)
    yield from _fewer_steps(case)
    yield from _fewer_partitions(case)
    yield from _smaller_steps(case)


def _fewer_topics(case: Case) -> Iterator[Case]:
    if len(case.plans) == 1:
        return
    for plan in case.plans:
        query = case.query
        yield Case(
            tuple(each for each in case.plans if each is not plan),
            _on_places(
                query._replace(topics=tuple(t for t in query.topics if t != plan.topic)),
                lambda place, plan=plan: place[0] != plan.topic,  # type: ignore[misc]
            ),
        )


def _on_places(query: Query, keep: Callable[[tuple[str, int]], bool]) -> Query:
    def kept(position: Position) -> Position:
        of = {place: each for place, each in position.of.items() if keep(place)}
        return position._replace(of=of, words=position.words & {topic for topic, _ in of})

    places = tuple(filter(keep, query.places))
    return query._replace(places=places, start=kept(query.start), end=kept(query.end))


def _simpler_queries(case: Case) -> Iterator[Case]:
    query = case.query
    simpler = []
    if query.way != "spark batch" and query.way not in WRITES and query.way != "threads":
        simpler.append(query._replace(way="spark batch", options=_of_batch(query), how={}))
    simpler += [query._replace(filters=kept) for kept in search.fewer(query.filters)]
    simpler += [
        query._replace(options={name: query.options[name] for name in kept})
        for kept in search.fewer([*query.options])
    ]
    simpler += [query._replace(start=_OMITTED)] * (query.start != _OMITTED)
    simpler += [query._replace(end=_OMITTED)] * (query.end != _OMITTED)
    simpler += [query._replace(committed=False)] * query.committed
    if query.columns != COLUMNS or query.select:
        simpler.append(query._replace(columns=COLUMNS, select=False))
    yield from (case._replace(query=each) for each in simpler)


def _of_batch(query: Query) -> dict[str, str]:
    of_streams = ("PerTrigger", "TriggerDelay")
    return {name: each for name, each in query.options.items() if not name.endswith(of_streams)}


def _fewer_steps(case: Case) -> Iterator[Case]:
    for plan in case.plans:
        for steps in search.fewer(plan.steps):
            yield _with_plan(case, plan, steps)


def _with_plan(case: Case, plan: TopicPlan, steps: tuple[Step, ...]) -> Case:
    smaller = plan._replace(steps=steps)
    return case._replace(plans=tuple(smaller if each is plan else each for each in case.plans))


def _fewer_partitions(case: Case) -> Iterator[Case]:
    """With `assign`, or all partitions of smaller topics."""
    query = case.query
    if query.strategy == "assign" or query.way in {"threads", "group"}:
        if len(query.places) > 1:
            for one in query.places:
                fewer = _on_places(query, lambda place, one=one: place == one)  # type: ignore[misc]
                topics = tuple(topic for topic in query.topics if topic == one[0])
                plans = tuple(plan for plan in case.plans if plan.topic == one[0])
                yield Case(plans, fewer._replace(topics=topics))
        return
    for plan in case.plans:
        growing = any(isinstance(each, AddPartitions | Recreate) for each in plan.steps)
        if plan.partitions > 1 and not growing:
            smaller = plan._replace(partitions=plan.partitions - 1)
            yield Case(
                tuple(smaller if each is plan else each for each in case.plans),
                _on_places(
                    query,
                    lambda place, smaller=smaller: (  # type: ignore[misc]
                        place[0] != smaller.topic or place[1] < smaller.partitions
                    ),
                ),
            )


def _smaller_steps(case: Case) -> Iterator[Case]:
    for plan in case.plans:
        for number, step in enumerate(plan.steps):
            for smaller in _smaller(step):
                steps = (*plan.steps[:number], smaller, *plan.steps[number + 1 :])
                yield _with_plan(case, plan, steps)


def _smaller(step: Step) -> Iterator[Step]:
    if isinstance(step, Transaction):
        yield step.write
        yield from (replace(step, write=each) for each in _smaller_writes(step.write))
    elif isinstance(step, Write):
        yield from _smaller_writes(step)


def _smaller_writes(write: Write) -> Iterator[Write]:
    if write.count > 1:
        yield replace(write, count=1)
        yield replace(write, count=write.count // 2)
        yield replace(write, count=write.count - 1)
    if write.shape != Shape():
        yield replace(write, shape=Shape())
    if write.producing != Producing():
        yield replace(write, producing=Producing())
