"""Compares what a reader saw of a partition with what was sent to it. Pure.

Items are whatever tells records apart, such as values or rows. `match` finds which sent item each
seen one is; then each promise has one checker, and `KINDS` has them by name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import (
    Callable,
    Collection,
    Container,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, Final, NamedTuple

_SHOWN: Final = 5
_SHOWN_CHARACTERS: Final = 120

EXACTLY_ONCE: Final[frozenset[str]] = frozenset()
AT_LEAST_ONCE: Final = frozenset({"twice"})
SO_FAR: Final = frozenset({"behind"})
"""The kinds of differences that a copy may have; SO_FAR while it is written."""


class Difference(NamedTuple):
    """An item that is not as it should be.

    Attributes:
        kind: A name of `KINDS`.
        expected: What was sent; None for `twice` and `unknown`.
        found: What was seen; None for `lost` and `behind`.
    """

    kind: str
    expected: Any = None
    found: Any = None


class Seen(NamedTuple):
    """A seen item.

    Attributes:
        place: Which of the sent items it is; None for an unknown one.
        is_again: Whether all sent items like it were seen before it.
    """

    item: Any
    place: int | None
    is_again: bool = False


class Matched(NamedTuple):
    """What was sent, in its order, and what was seen of it, in the order of the reader.

    Attributes:
        must: The places of the sent items that must be seen.
    """

    sent: Sequence[Any]
    seen: Sequence[Seen]
    must: Sequence[int]

    @property
    def found(self) -> frozenset[int | None]:
        """The places of the sent items that were seen."""
        return frozenset(each.place for each in self.seen)

    @property
    def last(self) -> int:
        """The place of the last sent item that was seen; -1 if there is none."""
        return max((each.place for each in self.seen if each.place is not None), default=-1)


def itself(item: Any) -> Any:
    """The identity of items that are equal only to themselves."""
    return item


def match(
    sent: Sequence[Any],
    seen: Iterable[Any],
    identity: Callable[[Any], Hashable] = itself,
    must: Container[Hashable] | None = None,
) -> Matched:
    """Finds which sent item each seen one is: the first of its identity, then the second.

    Args:
        sent: In order.
        seen: In order.
        identity: Tells items apart; items of one identity that are not equal are altered.
        must: The identities that must be seen; None for all.
    """
    places: dict[Hashable, list[int]] = defaultdict(list)
    for place, item in enumerate(sent):
        places[identity(item)].append(place)
    times: Counter[Hashable] = Counter()
    matched = []
    for item in seen:
        key = identity(item)
        of = places.get(key)
        if of is None:
            matched.append(Seen(item, None))
            continue
        matched.append(Seen(item, of[min(times[key], len(of) - 1)], times[key] >= len(of)))
        times[key] += 1
    wanted = [at for at, item in enumerate(sent) if must is None or identity(item) in must]
    return Matched(sent, matched, wanted)


# --- One checker for each promise ---------------------------------------------------------------


def lost(matched: Matched) -> Iterator[Difference]:
    """Each sent item is seen before a later one is, or never."""
    found, last = matched.found, matched.last
    for place in matched.must:
        if place < last and place not in found:
            yield Difference("lost", matched.sent[place])


def behind(matched: Matched) -> Iterator[Difference]:
    """The last sent items are seen, too."""
    last = matched.last
    for place in matched.must:
        if place > last:
            yield Difference("behind", matched.sent[place])


def twice(matched: Matched) -> Iterator[Difference]:
    """No item is seen more often than it was sent."""
    for item, place, is_again in matched.seen:
        if is_again and place is not None and matched.sent[place] == item:
            yield Difference("twice", None, item)


def reordered(matched: Matched) -> Iterator[Difference]:
    """Items are seen in the order in which they were sent; repeated ones do not count."""
    last = -1
    for item, place, is_again in matched.seen:
        if place is None or is_again:
            continue
        if place < last:
            yield Difference("reordered", matched.sent[place], item)
        last = max(last, place)


def unknown(matched: Matched) -> Iterator[Difference]:
    """Only what was sent is seen."""
    for item, place, _ in matched.seen:
        if place is None:
            yield Difference("unknown", None, item)


def altered(matched: Matched) -> Iterator[Difference]:
    """Seen items are equal to the sent ones in all that they have."""
    for item, place, _ in matched.seen:
        if place is not None and matched.sent[place] != item:
            yield Difference("altered", matched.sent[place], item)


KINDS: Final[Mapping[str, Callable[[Matched], Iterator[Difference]]]] = {
    "altered": altered,
    "unknown": unknown,
    "twice": twice,
    "reordered": reordered,
    "lost": lost,
    "behind": behind,
}
WORDS: Final = {kind: kind for kind in KINDS} | {"behind": "missing at the end"}


# --- All of them --------------------------------------------------------------------------------


def compare(
    sent: Sequence[Any],
    seen: Iterable[Any],
    identity: Callable[[Any], Hashable] = itself,
    must: Container[Hashable] | None = None,
    allowed: Collection[str] = EXACTLY_ONCE,
) -> list[Difference]:
    """All differences of one partition, except those of kinds that are allowed."""
    matched = match(sent, seen, identity, must)
    return [each for kind, check in KINDS.items() if kind not in allowed for each in check(matched)]


def compare_all(
    sent: Mapping[Any, Sequence[Any]],
    seen: Mapping[Any, Sequence[Any]],
    compare_one: Callable[[Sequence[Any], Sequence[Any]], list[Difference]] = compare,
) -> dict[Any, list[Difference]]:
    """The differences of each partition that one of them has."""
    partitions = sorted({*sent, *seen})
    return {each: compare_one(sent.get(each, []), seen.get(each, [])) for each in partitions}


def counts(found: Mapping[Any, Sequence[Difference]]) -> Counter[str]:
    """How many differences of each kind all partitions have together."""
    return Counter(each.kind for differences in found.values() for each in differences)


def complaints(
    name: str, found: Mapping[Any, Sequence[Difference]], allowed: Collection[str] = ()
) -> list[str]:
    """A sentence for each partition and each kind of difference that is not allowed."""
    return [
        sentence
        for partition, differences in found.items()
        for sentence in sentences(f"{name}, partition {partition}", differences, allowed)
    ]


def sentences(
    name: str, differences: Sequence[Difference], allowed: Collection[str] = ()
) -> list[str]:
    """A sentence for each kind of difference that is not allowed, with a few items."""
    by_kind: dict[str, list[Difference]] = defaultdict(list)
    for each in differences:
        by_kind[each.kind].append(each)
    return [
        f"{name}: {len(of_kind)} {WORDS[kind]}, as " + ", ".join(map(shown, of_kind[:_SHOWN]))
        for kind, of_kind in by_kind.items()
        if kind not in allowed
    ]


def short(item: object) -> str:
    """The beginning of an item, for a sentence."""
    return repr(item)[:_SHOWN_CHARACTERS]


def shown(difference: Difference, show: Callable[[Any], str] = short) -> str:
    """The item of a difference; of an altered one both sides."""
    if difference.kind == "altered":
        return f"{show(difference.found)} for {show(difference.expected)}"
    return show(difference.expected if difference.found is None else difference.found)
