"""What the copies have, held against the source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from tests.chaos.delivery import Findings, compare, numbered
from tests.chaos.sinks import Item
from tests.chaos.transactions import ABORTED
from tests.stream_records import Record

Records = Mapping[str, Mapping[int, list[Item]]]
"""Of the source and of each copy, by partition."""

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


def found(records: Records) -> dict[str, Findings]:
    """The findings about each copy, of all partitions together."""
    return {name: _found(name, records) for name in COPIES}


def _found(name: str, records: Records) -> Findings:
    source, copy = records["source"], records[name]
    partitions = [(source.get(each, []), copy.get(each, [])) for each in {*source, *copy}]
    return sum((_COMPARE[name](*each) for each in partitions), Findings())


def _compare_again(source: list[Item], copy: list[Item]) -> Findings:
    # A value that the writer wrote twice is one value here.
    return compare(list(dict.fromkeys(_values(source))), _values(copy))


def _compare_once(source: list[Item], copy: list[Item]) -> Findings:
    findings = compare(numbered(_values(source)), numbered(_values(copy)))
    twice = (Counter(_values(copy)) - Counter(_values(source))).total()
    unknown = len(set(_values(copy)) - set(_values(source)))
    return findings._replace(twice=twice - unknown, unknown=unknown)


def _compare_files(source: list[Item], copy: list[Item]) -> Findings:
    return compare(source, copy)


_COMPARE = {"again": _compare_again, "once": _compare_once, "files": _compare_files}


def _values(items: list[Item]) -> list[str]:
    return [value for _, value in items]


def complaints(findings: Mapping[str, Findings]) -> list[str]:
    """A sentence for each thing that must not be. At least once allows duplicates."""
    texts = []
    for name, found in findings.items():
        forbidden = {"lost": found.lost, "reordered": found.reordered, "unknown": found.unknown}
        if name != "again":
            forbidden["twice"] = found.twice
        texts += [f"copy `{name}`: {count} {what}" for what, count in forbidden.items() if count]
    return texts


def aborted_but_seen(records: Records) -> list[str]:
    """A sentence for each place with values of aborted transactions."""
    texts = []
    for name in ("source", *COPIES):
        values = [value for items in records[name].values() for value in _values(items)]
        seen = [value for value in values if value.startswith(ABORTED)]
        if seen:
            texts.append(f"`{name}`: {len(seen)} records of aborted transactions, as {seen[0]}")
    return texts


def lost_by_brokers(records: Records, acknowledged: list[Record]) -> list[str]:
    """A sentence if the source lacks records that the brokers acknowledged to its writer."""
    there = {(partition, item) for partition, items in records["source"].items() for item in items}
    lost = [
        record
        for record in acknowledged
        if (record.partition, (record.offset, record.value)) not in there
    ]
    return [f"the source lacks {len(lost)} acknowledged records, as {lost[0]}"] if lost else []
