"""What the copies have, compared with the source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tests.endurance.torture.copies.transactions import ABORTED
from tests.endurance.torture.copies.watcher import Item
from tests.stream_records import Record
from tests.truth.delivery import (
    AT_LEAST_ONCE,
    EXACTLY_ONCE,
    SO_FAR,
    Difference,
    compare,
    compare_all,
    sentences,
)
from tests.truth.delivery import complaints as complaints_of

Records = Mapping[str, Mapping[int, list[Item]]]
"""Of the source and of each copy, by partition."""

AllDifferences = Mapping[str, Mapping[int, list[Difference]]]
"""Of each copy, by partition."""


class Copy(NamedTuple):
    """A kind of copy: how it is compared, and the kinds of differences that it may have."""

    compare: Callable[[Sequence[Any], Sequence[Any]], list[Difference]]
    allowed: frozenset[str]


def _values(items: Sequence[Item]) -> list[str]:
    return [value for _, value in items]


def _each_once(source: Sequence[Item], copy: Sequence[Item]) -> list[Difference]:
    return compare(_values(source), _values(copy))


def _at_least_once(source: Sequence[Item], copy: Sequence[Item]) -> list[Difference]:
    # A value that the writer wrote twice is one value here.
    return compare(list(dict.fromkeys(_values(source))), _values(copy))


COPIES: Final[Mapping[str, Copy]] = {
    "again": Copy(_at_least_once, AT_LEAST_ONCE),
    "once": Copy(_each_once, EXACTLY_ONCE),
    "files": Copy(compare, EXACTLY_ONCE),
}


def settled(records: Records) -> Records:
    """A snapshot while records are written, without what came to a copy before it was read here.

    That is at the end of a partition, and not yet in the source.
    """
    copies = {name: _snapshot(records[name]) for name in COPIES}
    source = _snapshot(records["source"])
    known = {partition: set(_values(items)) for partition, items in source.items()}
    return {"source": source} | {
        name: {
            partition: _without_newest(known.get(partition, set()), items)
            for partition, items in of_copy.items()
        }
        for name, of_copy in copies.items()
    }


def _snapshot(records: Mapping[int, list[Item]]) -> dict[int, list[Item]]:
    return {partition: list(items) for partition, items in dict(records).items()}


def _without_newest(known: Collection[str], copy: list[Item]) -> list[Item]:
    """The copy without unknown values at its end."""
    end = len(copy)
    while end and copy[end - 1][1] not in known:
        end -= 1
    return copy[:end]


def differences(records: Records) -> AllDifferences:
    """How each copy differs from the source."""
    source = records["source"]
    return {name: compare_all(source, records[name], each.compare) for name, each in COPIES.items()}


def complaints(found: AllDifferences, *, is_end: bool) -> list[str]:
    """A sentence for each thing that must not be; what is missing at the end only at the end."""
    return [
        sentence
        for name, by_partition in found.items()
        for sentence in complaints_of(
            f"copy `{name}`", by_partition, COPIES[name].allowed | (set() if is_end else SO_FAR)
        )
    ]


def aborted_but_seen(records: Records) -> list[str]:
    """A sentence for each place with values of aborted transactions."""
    texts = []
    for name in ("source", *COPIES):
        values = [value for items in records[name].values() for value in _values(items)]
        seen = [value for value in values if value.startswith(ABORTED)]
        if seen:
            texts.append(f"`{name}`: {len(seen)} records of aborted transactions, as {seen[0]}")
    return texts


def written_back(records: Records) -> list[str]:
    """A sentence if the source has values twice: rows of a copy that nobody addressed to it."""
    values = [value for items in records["source"].values() for value in _values(items)]
    return sentences("the source", compare(list(dict.fromkeys(values)), values))


def lost_by_brokers(records: Records, acknowledged: list[Record]) -> list[str]:
    """A sentence for each partition that lacks records which its brokers acknowledged."""
    written: dict[int, list[Item]] = {}
    for each in sorted(acknowledged):
        written.setdefault(each.partition, []).append((each.offset, each.value))
    found = compare_all(written, records["source"])
    # Those of transactions are not in the journal.
    return complaints_of("the source", found, allowed={"unknown"})
