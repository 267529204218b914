"""What the copies have, compared with the source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from tests.endurance.chaos.sinks import Item
from tests.endurance.chaos.transactions import ABORTED
from tests.stream_records import Record
from tests.truth.delivery import (
    AT_LEAST_ONCE,
    EXACTLY_ONCE,
    KINDS,
    SO_FAR,
    Difference,
    compare,
    compare_all,
)
from tests.truth.delivery import complaints as complaints_of

Records = Mapping[str, Mapping[int, list[Item]]]
"""Of the source and of each copy, by partition."""

AllDifferences = Mapping[str, Mapping[int, list[Difference]]]
"""Of each copy, by partition."""

COPIES: Final[Mapping[str, Collection[str]]] = {
    "again": AT_LEAST_ONCE,
    "once": EXACTLY_ONCE,
    "files": EXACTLY_ONCE,
}
"""Each copy, with the kinds of differences that it may have."""


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
    return {name: compare_all(source, records[name], _COMPARE[name]) for name in COPIES}


def _compare_again(source: Sequence[Item], copy: Sequence[Item]) -> list[Difference]:
    # A value that the writer wrote twice is one value here.
    return compare(list(dict.fromkeys(_values(source))), _values(copy))


def _compare_once(source: Sequence[Item], copy: Sequence[Item]) -> list[Difference]:
    return compare(_values(source), _values(copy))


_COMPARE: Mapping[str, Callable[[Sequence[Any], Sequence[Any]], list[Difference]]] = {
    "again": _compare_again,
    "once": _compare_once,
    "files": compare,
}


def _values(items: Sequence[Item]) -> list[str]:
    return [value for _, value in items]


def complaints(found: AllDifferences) -> list[str]:
    """A sentence for each thing that must not be, also while records are written."""
    return _sentences(found, lambda name: SO_FAR | {*COPIES[name]})


def missing(found: AllDifferences) -> list[str]:
    """A sentence for each end of a partition that was not copied."""
    return _sentences(found, lambda _name: KINDS.keys() - SO_FAR)


def _sentences(found: AllDifferences, allowed: Callable[[str], Collection[str]]) -> list[str]:
    return [
        sentence
        for name, by_partition in found.items()
        for sentence in complaints_of(f"copy `{name}`", by_partition, allowed(name))
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
    twice = [value for value, count in Counter(values).items() if count > 1]
    return [f"the source has {len(twice)} values twice, as {twice[0]}"] if twice else []


def lost_by_brokers(records: Records, acknowledged: list[Record]) -> list[str]:
    """A sentence if the source lacks records that the brokers acknowledged to its writer."""
    there = {(partition, item) for partition, items in records["source"].items() for item in items}
    lost = [
        record
        for record in acknowledged
        if (record.partition, (record.offset, record.value)) not in there
    ]
    return [f"the source lacks {len(lost)} acknowledged records, as {lost[0]}"] if lost else []
