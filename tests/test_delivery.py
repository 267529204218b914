from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.delivery import Differences, Findings, compare, compare_all, complaints, numbered

counts = st.integers(0, 50)


@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        ("abcde", Findings()),
        ("", Findings(behind=5)),
        ("abc", Findings(behind=2)),
        ("abde", Findings(lost=1)),
        ("bcd", Findings(behind=1, lost=1)),
        ("abcabcde", Findings(twice=3)),
        ("abdce", Findings(reordered=1)),
        ("abxcde", Findings(unknown=1)),
        ("eba", Findings(lost=2, reordered=2)),
    ],
)
def test_each_kind_of_difference_is_found(copy: str, expected: Findings) -> None:
    assert compare("abcde", copy).findings == expected


def test_the_items_themselves_are_told() -> None:
    found = compare("abcde", "adxba")
    assert found == Differences(behind="e", lost=["c"], twice=["a"], reordered=["b"], unknown=["x"])


@given(counts, st.data())
def test_repeated_prefixes_as_of_failed_attempts_are_no_other_difference(
    count: int, data: st.DataObject
) -> None:
    source = list(range(count))
    ends = data.draw(st.lists(st.integers(0, count)))
    copy = [item for end in sorted(ends) for item in source[:end]]
    found = compare(source, [*copy, *source]).findings
    assert found == Findings(twice=len(copy))


@given(st.sets(st.integers(0, 100)), st.randoms())
def test_every_item_is_copied_or_lost_or_behind(kept: set[int], chance: random.Random) -> None:
    copy = [*kept]
    chance.shuffle(copy)
    found = compare(range(101), copy).findings
    assert len(copy) + found.lost + found.behind == 101
    assert (found.reordered == 0) == (copy == sorted(copy))
    assert found.twice == found.unknown == 0


def test_findings_add_up() -> None:
    assert Findings(1, 2) + Findings(3, 4, 5) == Findings(4, 6, 5)


@given(st.lists(st.integers(0, 3)))
def test_numbered_items_are_unique_and_in_order(items: list[int]) -> None:
    found = numbered(items)
    assert len(set(found)) == len(items)
    assert [item for item, _ in found] == items


def test_a_sentence_tells_a_few_items_of_what_is_not_allowed() -> None:
    found = {7: compare(range(20), [0, *range(9, 18), 9])}
    assert complaints("copy", found, allowed=("twice", "behind")) == [
        "copy, partition 7: 8 lost, as 1, 2, 3, 4, 5"
    ]
    assert complaints("copy", found)[:1] == ["copy, partition 7: 2 missing at the end, as 18, 19"]


def test_each_partition_is_compared() -> None:
    found = compare_all({0: "ab", 1: "c", 2: "d"}, {0: "ab", 1: "", 3: "x"})
    assert complaints("copy", found) == [
        "copy, partition 1: 1 missing at the end, as 'c'",
        "copy, partition 2: 1 missing at the end, as 'd'",
        "copy, partition 3: 1 unknown, as 'x'",
    ]
