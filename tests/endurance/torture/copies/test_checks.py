from __future__ import annotations

import pytest

from tests.endurance.torture.copies.checks import (
    COPIES,
    Records,
    aborted_but_seen,
    complaints,
    differences,
    lost_by_brokers,
    settled,
    written_back,
)
from tests.endurance.torture.copies.watcher import Item
from tests.stream_records import Record
from tests.truth.delivery import counts

SOURCE: dict[int, list[Item]] = {0: [(0, "a"), (1, "b"), (4, "c")], 1: [(0, "d")]}


def records(**copies: dict[int, list[Item]]) -> dict[str, dict[int, list[Item]]]:
    """The source, and copies that have all unless given."""
    return {"source": SOURCE, **dict.fromkeys(COPIES, SOURCE), **copies}


def found(records: Records) -> dict[str, dict[str, int]]:
    return {name: dict(counts(of)) for name, of in differences(records).items()}


def test_faultless_copies_have_no_complaints() -> None:
    assert found(records()) == {name: {} for name in COPIES}
    assert complaints(differences(records()), is_end=True) == []


def test_copies_in_topics_have_other_offsets() -> None:
    moved = {0: [(7, "a"), (8, "b"), (9, "c")], 1: [(3, "d")]}
    assert complaints(differences(records(again=moved, once=moved)), is_end=True) == []
    assert found(records(files=moved))["files"] == {"behind": 4, "unknown": 4}


def test_at_least_once_allows_duplicates_only() -> None:
    again: dict[int, list[Item]] = {0: [(0, "a"), (1, "a"), (2, "c"), (3, "b")], 1: []}
    there = differences(records(again=again, once=again))
    findings = found(records(again=again, once=again))
    assert findings["again"] == findings["once"] == {"behind": 1, "twice": 1, "reordered": 1}
    assert complaints(there, is_end=False) == [
        "copy `again`, partition 0: 1 reordered, as 'b'",
        "copy `once`, partition 0: 1 twice, as 'a'",
        "copy `once`, partition 0: 1 reordered, as 'b'",
    ]
    more = {*complaints(there, is_end=True)} - {*complaints(there, is_end=False)}
    assert more == {
        f"copy `{name}`, partition 1: 1 missing at the end, as 'd'" for name in ("again", "once")
    }


def test_another_value_is_lost_and_unknown() -> None:
    files: dict[int, list[Item]] = {0: [(0, "a"), (1, "B"), (4, "c")], 1: [(0, "d")]}
    assert complaints(differences(records(files=files)), is_end=False) == [
        "copy `files`, partition 0: 1 unknown, as (1, 'B')",
        "copy `files`, partition 0: 1 lost, as (1, 'b')",
    ]


def test_a_record_in_another_partition_is_found() -> None:
    moved: dict[int, list[Item]] = {0: SOURCE[0], 2: SOURCE[1]}
    assert found(records(once=moved))["once"] == {"behind": 1, "unknown": 1}


@pytest.mark.parametrize("name", COPIES)
def test_only_unknown_records_at_the_end_can_be_new(name: str) -> None:
    longer: dict[int, list[Item]] = {0: [*SOURCE[0], (4, "c"), (5, "new")], 1: SOURCE[1]}
    there = records(**{name: longer})
    assert found(there)[name] == {"twice": 1, "unknown": 1}
    assert found(settled(there))[name] == {"twice": 1}
    once_more: dict[int, list[Item]] = {0: [*SOURCE[0], (5, "new"), (6, "c")]}
    assert found(settled(records(**{name: once_more})))[name]["unknown"]


def test_what_the_writer_wrote_twice_is_copied_twice() -> None:
    source: dict[int, list[Item]] = {0: [(0, "a"), (1, "a"), (2, "b")]}
    all_of_it = dict.fromkeys(("source", *COPIES), source)
    assert complaints(differences(all_of_it), is_end=True) == []
    one_less: dict[int, list[Item]] = {0: [(0, "a"), (1, "b")]}
    assert found({**all_of_it, "once": one_less})["once"] == {"lost": 1}
    assert found({**all_of_it, "again": one_less})["again"] == {}


def test_aborted_records_are_named() -> None:
    once: dict[int, list[Item]] = {0: [(0, "aborted-7"), (1, "a")]}
    assert aborted_but_seen(records(once=once)) == [
        "`once`: 1 records of aborted transactions, as aborted-7"
    ]
    assert aborted_but_seen(records()) == []


def test_acknowledged_records_must_be_in_the_source() -> None:
    there = Record("t", 0, 4, "c")
    elsewhere = Record("t", 0, 3, "c")
    assert lost_by_brokers(records(), [there]) == []
    assert lost_by_brokers(records(), [there, elsewhere]) == [
        "the source, partition 0: 1 lost, as (3, 'c')"
    ]


def test_a_copy_that_is_written_back_into_the_source() -> None:
    assert written_back(records()) == []
    again = {0: [*SOURCE[0], (5, "d")], 1: SOURCE[1]}
    assert written_back({**records(), "source": again}) == ["the source: 1 twice, as 'd'"]
