from __future__ import annotations

from typing import NamedTuple, cast

import pytest
from confluent_kafka import Message

from tests import stream_records
from tests.stream_records import Journal, Record


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


def test_offsets_that_a_broker_does_not_tell_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    there = [(0, "a"), (1, "b"), (3, "b"), (4, "c")]
    monkeypatch.setattr(stream_records, "records_of", lambda servers, topic, partition: there)
    journal = Journal("nowhere:1")
    for value, offset in [(b"a", 0), (b"b", None), (b"c", 4)]:
        journal._keep(None, cast(Message, Acknowledged(value, offset)))
    journal._find_offsets()
    assert sorted(journal.records) == [
        Record("t", 0, *each) for each in [(0, "a"), (1, "b"), (4, "c")]
    ]


def test_an_acknowledged_record_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_records, "records_of", lambda *_: [(7, "a"), (8, "c")])
    journal = Journal("nowhere:1")
    journal._keep(None, cast(Message, Acknowledged(b"b", None)))
    with pytest.raises(
        AssertionError, match=r"'b', and are not in .*2 records from \[\(7, 'a'\)\]"
    ):
        journal._find_offsets()
