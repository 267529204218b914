"""What the copies have, held against the source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from tests.delivery import Differences, Findings, compare, compare_all, numbered
from tests.delivery import complaints as complaints_of
from tests.endurance.chaos.sinks import Item
from tests.endurance.chaos.transactions import ABORTED
from tests.stream_records import Record

Records = Mapping[str, Mapping[int, list[Item]]]
"""Of the source and of each copy, by partition."""

AllDifferences = Mapping[str, Mapping[int, Differences]]
"""Of each copy, by partition."""

COPIES = ("again", "once", "files")


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


def findings_of(found: AllDifferences) -> dict[str, Findings]:
    """How many differences each copy has in all partitions together."""
    return {
        name: sum((each.findings for each in by_partition.values()), Findings())
        for name, by_partition in found.items()
    }


def _compare_again(source: Sequence[Item], copy: Sequence[Item]) -> Differences:
    # A value that the writer wrote twice is one value here.
    return compare(list(dict.fromkeys(_values(source))), _values(copy))


def _compare_once(source: Sequence[Item], copy: Sequence[Item]) -> Differences:
    found = compare(numbered(_values(source)), numbered(_values(copy)))
    known = set(_values(source))
    twice = [(value, number) for value, number in found.unknown if number or value in known]
    unknown = [each for each in found.unknown if each not in twice]
    return found._replace(twice=twice, unknown=unknown)


_COMPARE: Mapping[str, Callable[[Sequence[Any], Sequence[Any]], Differences]] = {
    "again": _compare_again,
    "once": _compare_once,
    "files": compare,
}


def _values(items: Sequence[Item]) -> list[str]:
    return [value for _, value in items]


def complaints(found: AllDifferences) -> list[str]:
    """A sentence for each thing that must not be. At least once allows duplicates."""
    allowed = {"again": ("behind", "twice")}
    return _sentences(found, lambda name: allowed.get(name, ("behind",)))


def missing(found: AllDifferences) -> list[str]:
    """A sentence for each end of a partition that was not copied."""
    return _sentences(found, lambda _name: ("lost", "twice", "reordered", "unknown"))


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
