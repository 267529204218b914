"""Good reads and commits of a group, and each way in which one can be wrong."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.truth.groups import Commit, Reader, Step, ahead, wrong_follows, wrong_reads

IN = ("in", 0)
VISIBLE = {IN: [0, 1, 3, 4, 5]}  # 2 was aborted
ENDS = [{IN: 3}, {IN: 6}]


class Row(NamedTuple):
    topic: str
    partition: int
    offset: int


def taken(*offsets: int) -> Step:
    return Step([Row(*IN, offset) for offset in offsets])


def commit(position: int, *, is_done: bool = True) -> Step:
    return Step((), {IN: position}, is_done)


def reads(*readers: list[Step]) -> list[str]:
    return [*wrong_reads(Reader(f"{n}", each, VISIBLE) for n, each in enumerate(readers, 1))]


@pytest.mark.parametrize(
    "good",
    [
        ([taken(0, 1), commit(2)], [taken(3, 4, 5), commit(6)]),
        ([taken(0, 1), commit(1)], [taken(1, 3), commit(4)]),
        ([taken(0, 1), commit(2, is_done=False)], [taken(3), commit(4)]),
        ([taken(0, 1), commit(2, is_done=False)], [taken(0, 1, 3), commit(4)]),
        ([taken(0, 1)], [taken(0, 1, 3), commit(4)]),
    ],
)
def test_good_reads(good: tuple[list[Step], ...]) -> None:
    assert reads(*good) == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (([taken(0, 1), commit(2)], [taken(1)]), "2: ('in', 0) at 1 was committed, and comes"),
        (([taken(0), commit(2)],), "1: ('in', 0): 2 is committed, and 1 was never read"),
        (([taken(0), commit(2, is_done=False)],), "2 is committed, and 1 was never read"),
        (([taken(0, 1), commit(2)], [taken(4), commit(5)]), "and 3 was never read"),
    ],
)
def test_bad_reads(bad: tuple[list[Step], ...], reason: str) -> None:
    assert any(reason in each for each in reads(*bad))


@given(st.lists(st.integers(0, 6), max_size=4), st.randoms(use_true_random=False))
def test_reads_that_go_on_where_the_last_has_committed(
    positions: list[int], chance: random.Random
) -> None:
    """Each reads as far as it likes, and commits no more than that."""
    readers, begin = [], 0
    for position in sorted(positions):
        far = chance.randint(position, 6)
        readers.append(
            [taken(*(each for each in VISIBLE[IN] if begin <= each < far)), commit(position)]
        )
        begin = position
    assert reads(*readers) == []
    skipped = [step for step in readers[0] if step.positions is not None] if readers else []
    unread = [each for each in VISIBLE[IN] if each < sorted(positions)[0]] if readers else []
    assert bool(reads(skipped)) == bool(unread)


def follow(*steps: Step) -> list[str]:
    return [*wrong_follows(Reader("1", steps, VISIBLE))]


def test_a_read_that_follows_has_each_record_before_its_position() -> None:
    assert follow(taken(0, 1), taken(3), commit(4)) == []
    assert follow(taken(0), taken(1)) == []  # it did not end by itself


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ((taken(0, 1), commit(4)), "3 was never read"),
        ((taken(0, 1), taken(1), commit(2)), "twice or out of order"),
        ((taken(1, 0), commit(2)), "twice or out of order"),
        ((commit(6),), "6 is the position, and 0 was never read"),
        ((taken(0, 1), commit(2, is_done=False)), "did not come to the ends of the logs"),
    ],
)
def test_a_read_that_follows_and_is_wrong(steps: tuple[Step, ...], reason: str) -> None:
    assert any(reason in each for each in follow(*steps))


@pytest.mark.parametrize(
    ("offset", "finished", "reason"),
    [
        (3, 1, ""),
        (3, 2, ""),
        (6, 2, ""),
        (6, 1, "before its micro-batch is finished"),
        (3, 0, "before its micro-batch is finished"),
        (4, 2, "which is the end of no micro-batch"),
    ],
)
def test_a_commit_is_not_ahead_of_what_is_finished(offset: int, finished: int, reason: str) -> None:
    # A right commit afterwards does not hide it.
    wrong, right = Commit("g", IN, offset, finished), Commit("g", IN, 6, 2)
    assert [*ahead([wrong, right], ENDS)] == ([(wrong, reason)] if reason else [])


@given(st.lists(st.integers(1, 5), min_size=1), st.integers(0, 9), st.integers(0, 60))
def test_a_commit_is_the_end_of_one_of_the_finished_micro_batches(
    sizes: list[int], finished: int, offset: int
) -> None:
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    found = [*ahead([Commit("g", IN, offset, finished)], [{IN: end} for end in ends])]
    assert (found == []) == (offset in ends[:finished])
