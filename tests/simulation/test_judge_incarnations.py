"""The judge of re-created topics: what it allows, and each way in which rows can be wrong."""

from __future__ import annotations

import pytest

from tests.simulation.disk import Row
from tests.simulation.judge_incarnations import incarnation_violations
from tests.simulation.outcome import Outcome
from tests.simulation.scenario import INPUT, Scenario
from tests.simulation.spark import Plan

OLD, NEW, BOTH = b"old", b"new", b"sent again"
IN_BOTH = [frozenset({OLD, BOTH}), frozenset({NEW, BOTH})]


def outcome(
    *batches: list[tuple[int, bytes]],
    lives: tuple[int, ...] = (1, 1, 1),
    source: dict[str, str] | None = None,
    release: str = "4.3",
) -> Outcome:
    """Micro-batches of partitions and values, each planned by the driver with that number."""
    return Outcome(
        Scenario(1, release=release, source=source or {}),
        batches={
            number: [Row(INPUT, partition, 0, 0, None, value) for partition, value in rows]
            for number, rows in enumerate(batches)
        },
        plans=[Plan(lives[number], number, "", "", ()) for number in range(len(batches))],
        incarnations=IN_BOTH,
    )


@pytest.mark.parametrize(
    "good",
    [
        outcome([(0, OLD)], [(0, OLD)]),
        outcome([(0, NEW)], [(0, NEW)]),
        outcome([(0, OLD)], [(1, NEW)]),  # nothing was read of that partition
        outcome([(0, OLD)], [(0, BOTH)], [(0, OLD)]),
        outcome([(0, OLD)], [(0, NEW)], lives=(1, 2)),
        outcome([(0, OLD)], [(0, NEW)], source={"failOnDataLoss": "false"}),
        outcome([(0, OLD)], [(0, NEW)], release="2.7"),
    ],
)
def test_good_queries(good: Outcome) -> None:
    assert [*incarnation_violations(good)] == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (outcome([(0, OLD)], [(0, NEW)]), "micro-batch 1 goes on in another topic: in-0"),
        (outcome([(0, OLD), (0, NEW)]), "micro-batch 0 has rows of two topics in in-0"),
        (
            outcome([(0, OLD), (0, NEW)], source={"failOnDataLoss": "false"}),
            "micro-batch 0 has rows of two topics in in-0",
        ),
        (
            outcome([(0, OLD)], [], [(0, NEW)], lives=(2, 1, 2)),
            "micro-batch 2 goes on in another topic: in-0",
        ),
    ],
)
def test_bad_queries(bad: Outcome, reason: str) -> None:
    assert [*incarnation_violations(bad)] == [reason]


def with_ids(*rows: tuple[bytes, str | None]) -> Outcome:
    made = outcome([(0, value) for value, _ in rows[:1]], source={"includeTopicId": "true"})
    found = [
        Row(INPUT, number, 0, 0, None, value, None, id_) for number, (value, id_) in enumerate(rows)
    ]
    made.batches = {0: found}
    return made


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([(OLD, "A"), (NEW, "B"), (OLD, "A"), (BOTH, "A")], None),
        ([(OLD, "A"), (NEW, "A")], "two topics have one id"),
        ([(OLD, "A"), (OLD, "B")], "a topic has two ids"),
        ([(OLD, None), (NEW, None)], "two topics have one id"),
    ],
)
def test_the_ids_of_topics(rows: list[tuple[bytes, str | None]], reason: str | None) -> None:
    found = [*incarnation_violations(with_ids(*rows))]
    assert [each.partition(":")[0] for each in found] == ([] if reason is None else [reason])
