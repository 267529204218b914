"""Each checker sees its kind of fault, and no other one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection
from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.truth.delivery import (
    AT_LEAST_ONCE,
    KINDS,
    SO_FAR,
    Difference,
    compare,
    compare_all,
    complaints,
    counts,
    itself,
    match,
    sentences,
    shown,
)
from tests.truth.wrongs import WRONGS

Item = tuple[int, str]
numbers = st.integers(0, 50)
items = st.lists(st.tuples(numbers, st.sampled_from("ab")), min_size=2, unique_by=itemgetter(0))
few = st.lists(st.integers(0, 3), max_size=8)


def kinds(sent: Collection[object], seen: Collection[object]) -> Counter[str]:
    return Counter(each.kind for each in compare([*sent], seen))


def other_identity(item: Item) -> Item:
    return item[0] + 100, item[1]


def other_contents(item: Item) -> Item:
    return item[0], item[1].upper()


def test_each_kind_of_difference_can_be_made() -> None:
    assert {*WRONGS} == {*KINDS}


@pytest.mark.parametrize("kind", KINDS)
@given(items, st.randoms(use_true_random=False))
def test_a_fault_is_seen_by_its_checker_alone(
    kind: str, sent: list[Item], chance: random.Random
) -> None:
    change = other_contents if kind == "altered" else other_identity
    seen = WRONGS[kind](chance, sent, change)
    found = compare(sent, seen, itemgetter(0))
    assert {each.kind for each in found} == {kind}
    assert compare(sent, seen, itemgetter(0), allowed={kind}) == []
    matched = match(sent, seen, itemgetter(0))
    for name, check in KINDS.items():
        assert bool([*check(matched)]) == (name == kind)


@given(items, st.randoms(use_true_random=False))
def test_all_of_it_in_order_is_right(sent: list[Item], chance: random.Random) -> None:
    assert compare(sent, sent) == compare(sent, sent, itemgetter(0)) == []
    assert compare([*sent, *sent], [*sent, *sent]) == []


@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        ("abcde", {}),
        ("", {"behind": 5}),
        ("abc", {"behind": 2}),
        ("abde", {"lost": 1}),
        ("bcd", {"behind": 1, "lost": 1}),
        ("abcabcde", {"twice": 3}),
        ("abdce", {"reordered": 1}),
        ("abxcde", {"unknown": 1}),
        ("eba", {"lost": 2, "reordered": 2}),
    ],
)
def test_differences_are_counted(copy: str, expected: dict[str, int]) -> None:
    assert kinds("abcde", copy) == expected


def test_the_items_themselves_are_told() -> None:
    assert {*compare("abcde", "adxba")} == {
        Difference("behind", "e"),
        Difference("lost", "c"),
        Difference("twice", None, "a"),
        Difference("reordered", "b", "b"),
        Difference("unknown", None, "x"),
    }


@given(numbers, st.data())
def test_repeated_prefixes_as_of_failed_attempts_are_no_other_difference(
    count: int, data: st.DataObject
) -> None:
    source = list(range(count))
    ends = data.draw(st.lists(st.integers(0, count)))
    copy = [item for end in sorted(ends) for item in source[:end]]
    assert kinds(source, [*copy, *source]) == Counter(twice=len(copy))
    assert compare(source, [*copy, *source], allowed=AT_LEAST_ONCE) == []


@given(st.sets(st.integers(0, 100)), st.randoms())
def test_every_item_is_copied_or_lost_or_behind(kept: set[int], chance: random.Random) -> None:
    copy = [*kept]
    chance.shuffle(copy)
    found = kinds(range(101), copy)
    assert len(copy) + found["lost"] + found["behind"] == 101
    assert (found["reordered"] == 0) == (copy == sorted(copy))
    assert found["twice"] == found["unknown"] == found["altered"] == 0


@given(few, few)
def test_items_that_were_sent_more_than_once_are_counted(sent: list[int], seen: list[int]) -> None:
    found, wanted, there = kinds(sent, seen), Counter(sent), Counter(seen)
    assert found["lost"] + found["behind"] == (wanted - there).total()
    more = there - wanted
    assert found["unknown"] == sum(more[each] for each in more if each not in wanted)
    assert found["twice"] + found["unknown"] == more.total()


def test_a_repeated_item_that_is_altered_is_no_repetition() -> None:
    found = compare(["a1"], ["a1", "a2"], itemgetter(0))
    assert found == [Difference("altered", "a1", "a2")]


@given(items, st.data())
def test_only_what_must_be_there_can_be_missing(sent: list[Item], data: st.DataObject) -> None:
    must = data.draw(st.sets(st.sampled_from([number for number, _ in sent])))
    seen = data.draw(st.lists(st.sampled_from(sent), unique=True))
    missing = [each for each in compare(sent, seen, itemgetter(0), must) if each.found is None]
    assert {each.expected[0] for each in missing} == must - {number for number, _ in seen}
    unlimited = compare(sent, seen, itemgetter(0))
    found = compare(sent, seen, itemgetter(0), must)
    assert [each for each in found if each.found] == [each for each in unlimited if each.found]


def test_a_sentence_tells_a_few_items_of_what_is_not_allowed() -> None:
    found = {7: compare(range(20), [0, *range(9, 18), 9])}
    assert complaints("copy", found, AT_LEAST_ONCE | SO_FAR) == [
        "copy, partition 7: 8 lost, as 1, 2, 3, 4, 5"
    ]
    assert complaints("copy", found)[-1:] == ["copy, partition 7: 2 missing at the end, as 18, 19"]
    assert counts(found) == {"twice": 1, "lost": 8, "behind": 2}


def test_each_partition_is_compared() -> None:
    found = compare_all({0: "ab", 1: "c", 2: "d"}, {0: "ab", 1: "", 3: "x"})
    assert complaints("copy", found) == [
        "copy, partition 1: 1 missing at the end, as 'c'",
        "copy, partition 2: 1 missing at the end, as 'd'",
        "copy, partition 3: 1 unknown, as 'x'",
    ]


def test_an_altered_item_is_told_with_the_one_that_was_sent() -> None:
    found = compare(["a1", "b1"], ["a2", "b1"], itemgetter(0))
    assert sentences("copy", found) == ["copy: 1 altered, as 'a2' for 'a1'"]
    assert shown(found[0], str.upper) == "A2 for A1"
    assert itself("a1") == "a1"
