from __future__ import annotations

from typing import NamedTuple, cast

import pytest
from confluent_kafka import Message

from tests.stream_records import Journal, Record, expect_each_once


class Acknowledged(NamedTuple):
    """A record as a writer gets it back."""

    written: bytes
    at: int | None

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def value(self) -> bytes:
        return self.written

    def offset(self) -> int | None:
        return self.at


def test_offsets_that_a_broker_does_not_tell_are_looked_up() -> None:
    there = [(0, "a"), (1, "b"), (3, "b"), (4, "c")]
    journal = Journal("nowhere:1", lambda *_: there)
    for value, offset in [(b"a", 0), (b"b", None), (b"c", 4)]:
        journal._keep(None, cast(Message, Acknowledged(value, offset)))
    journal._find_offsets()
    assert sorted(journal.records) == [
        Record("t", 0, *each) for each in [(0, "a"), (1, "b"), (4, "c")]
    ]
    assert journal.values("t", 2) == {0: ["a", "b", "c"], 1: []}


def test_an_acknowledged_record_that_is_not_there_is_named() -> None:
    journal = Journal("nowhere:1", lambda *_: [(7, "a"), (8, "c")])
    journal._keep(None, cast(Message, Acknowledged(b"b", None)))
    with pytest.raises(
        AssertionError, match=r"'b', and are not in .*2 records from \[\(7, 'a'\)\]"
    ):
        journal._find_offsets()


A, B, C = (Record("t", 0, offset, value) for offset, value in enumerate("abc"))


@pytest.mark.parametrize(
    ("found", "start", "problem"),
    [
        ([C, B, A], 0, ""),
        ([B, C], 1, ""),
        ([A, C], 0, "1 lost, as Record"),
        ([A, B], 0, "1 missing at the end"),
        ([A, B, B, C], 0, "1 twice"),
        ([A, B, C], 1, "1 unknown"),
        ([A, B, C, C._replace(partition=1)], 0, r"partition \('t', 1\): 1 unknown"),
    ],
)
def test_a_stream_delivers_each_record_once(found: list[Record], start: int, problem: str) -> None:
    journal = Journal("nowhere:1")
    journal.records = [B, A, C]
    starts = {"t": {0: start}}
    if problem:
        with pytest.raises(AssertionError, match=problem):
            expect_each_once(found, journal, starts)
    else:
        expect_each_once(found, journal, starts)
