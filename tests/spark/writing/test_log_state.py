"""The state of a commit log: the last decisions, with and without a snapshot."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.client.producer.transactions import Transaction
from kafka_protocol.records.record import Record
from kafka_spark_source.writing.decision_format import (
    CommitLogError,
    Decision,
    MicroBatch,
    TaskWrite,
)
from kafka_spark_source.writing.log_state import (
    SNAPSHOT_KEY,
    LoggedDecision,
    LogState,
    Snapshot,
    decided_key,
    done_key,
    newest_snapshot,
    part_key,
)

NAMES = ("p", "p 1", "snapshot", "decided p")
FOREVER = 10**15


def record_of(offset: int, what: str, name: str, number: int) -> Record:
    """A record about the micro-batch `number`, whose claim has that epoch."""
    claim = Transaction(f"{name}-driver", 5, number, 0)
    if what == "done":
        return Record(offset, offset, done_key(name), f"[5,{number}]".encode())
    if what == "part":
        return Record(offset, offset, part_key(name, 0), b"[]")
    (value,) = Decision(claim, MicroBatch("q", number), (TaskWrite(0, 1),)).to_json()
    return Record(offset, offset, decided_key(name), value)


def state_after(records: Iterable[Record], begin: LogState | None = None) -> LogState:
    state = begin or LogState({})
    for record in records:
        state.fold(record)
    return state


def log_of(rows: Iterable[tuple[str, str, int]]) -> list[Record]:
    """The records, but for notes about a prefix without a decision, which nobody writes."""
    decided: set[str] = set()
    records: list[Record] = []
    for what, name, number in rows:
        if what == "decided":
            decided.add(name)
        if what != "done" or name in decided:
            records.append(record_of(len(records), what, name, number))
    return records


logs = st.lists(
    st.tuples(
        st.sampled_from(["decided", "done", "part"]), st.sampled_from(NAMES), st.integers(0, 3)
    ),
    max_size=20,
).map(log_of)


def decisions_in(state: LogState) -> list[LoggedDecision | None]:
    return [state.decision(name, "it") for name in NAMES]


@given(logs, st.integers(0, 20), st.integers(0, 20))
def test_a_snapshot_leads_to_the_same_state(records: list[Record], cut: int, back: int) -> None:
    """Records before the snapshot may be folded again; a decision's parts are not cut off."""
    before = state_after(records[:cut])
    snapshot = Snapshot.from_json(before.snapshot(cut, FOREVER, FOREVER).to_json())
    assert snapshot is not None
    again = state_after(records[max(0, cut - back) :], LogState(snapshot.prefixes))
    expected = decisions_in(state_after(records))
    found = decisions_in(again)
    assert [each and each._replace(first_offset=0) for each in found] == [
        each and each._replace(first_offset=0) for each in expected
    ]


def test_the_last_decision_and_its_records() -> None:
    state = state_after(
        [
            record_of(3, "decided", "p", 1),
            record_of(4, "done", "p", 1),
            record_of(7, "part", "p", 2),
            record_of(9, "decided", "p", 2),
        ]
    )
    found = state.decision("p", "it")
    assert found == LoggedDecision((5, 2), MicroBatch("q", 2), 1, 7, 9, 9, done=(5, 1))
    assert not found.is_done
    state.fold(record_of(10, "done", "p", 2))
    found = state.decision("p", "it")
    assert found is not None
    assert found.is_done
    assert state.decision("another", "it") is None


def test_a_note_before_the_marker_of_its_decision_counts() -> None:
    """Brokers write the marker after they have confirmed the commit."""
    state = state_after([record_of(1, "done", "p", 1), record_of(0, "decided", "p", 1)])
    found = state.decision("p", "it")
    assert found is not None
    assert found.is_done


def test_a_deleted_decision_is_none() -> None:
    state = state_after([record_of(0, "decided", "p", 1), Record(1, 1, decided_key("p"), None)])
    assert state.decision("p", "it") is None


@pytest.mark.parametrize("number", [2, None], ids=["not done", "done"])
def test_only_what_is_done_is_forgotten(number: int | None) -> None:
    state = state_after([record_of(10, "decided", "old", 1), record_of(11, "decided", "new", 1)])
    state.fold(record_of(12, "done", "old", number or 1))
    state.fold(record_of(13, "done", "new", 1))
    kept = state.snapshot(14, now_ms=20, retention_ms=9).prefixes
    assert [*kept] == (["new", "old"] if number else ["new"])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"x"),
        (b"", b"x"),
        (b"\xff\xfe", b"x"),
        (b"done p", b"garbage"),
        (b"done p", None),
        (b"part", b"x"),
        (SNAPSHOT_KEY, b"x"),
    ],
)
def test_records_of_others_are_ignored(key: bytes | None, value: bytes | None) -> None:
    state = state_after([record_of(0, "decided", "p", 1), Record(1, 1, key, value)])
    found = state.decision("p", "it")
    assert found is not None
    assert not found.is_done


def test_an_invalid_decision_is_an_error_of_its_prefix() -> None:
    state = state_after([Record(0, 0, b"decided p", b"x"), record_of(1, "decided", "q", 1)])
    assert state.decision("q", "it") is not None
    with pytest.raises(CommitLogError, match="about 'p' is not a decision"):
        state.snapshot(2, FOREVER, FOREVER)


@pytest.mark.parametrize(
    "value",
    [None, b"", b"[]", b'{"version":2}', b'{"version":1,"until":1,"prefixes":{"p":[[1,2]]}}'],
)
def test_an_unusable_snapshot_is_ignored(value: bytes | None) -> None:
    good = Record(0, 0, SNAPSHOT_KEY, Snapshot(7, {}).to_json())
    older = Record(1, 1, SNAPSHOT_KEY, Snapshot(5, {}).to_json())
    assert newest_snapshot([good, older, Record(2, 2, SNAPSHOT_KEY, value)]) == Snapshot(7, {})
    assert newest_snapshot([Record(2, 2, SNAPSHOT_KEY, value)]) is None
