"""The decision whether a topic is gone: its tables, and each sequence of responses."""

from __future__ import annotations

from itertools import product
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.client.consumer.topic_watch import (
    BELIEFS,
    NEXT,
    Event,
    State,
    TopicWatch,
    Verdict,
)

BELIEVED_MS: Final = 1_000
UNKNOWN_MS: Final = 30_000
# The first event brings a new watch into the state.
WAY_TO: Final = {
    State.EXPECTED: Event.SAME_ID,
    State.UNKNOWN: Event.UNKNOWN,
    State.UNKNOWN_TO_ALL: Event.UNKNOWN_TO_ALL,
    State.REPLACED: Event.ANOTHER_ID,
}
ANOTHER_ID, UNKNOWN, TO_ALL = Event.ANOTHER_ID, Event.UNKNOWN, Event.UNKNOWN_TO_ALL
SAME_ID, CONFIRMED = Event.SAME_ID, Event.CONFIRMED


def new_watch() -> TopicWatch:
    return TopicWatch(believed_after_ms=BELIEVED_MS, unknown_ms=UNKNOWN_MS)


def verdicts(*notes: tuple[int, Event]) -> list[Verdict]:
    watch = new_watch()
    return [watch.note(event, ms) for ms, event in notes]


def last(*notes: tuple[int, Event]) -> Verdict:
    *before, verdict = verdicts(*notes)
    assert {*before} <= {Verdict.WAIT, Verdict.GO_ON}, before
    return verdict


def test_the_table_has_each_event_in_each_state() -> None:
    assert NEXT.keys() == {*State}
    assert all(row.keys() == {*Event} for row in NEXT.values())


def test_a_state_is_believed_after_an_event_that_leads_to_it() -> None:
    for state, belief in BELIEFS.items():
        assert {row[belief.event] for row in NEXT.values()} == {state}


@pytest.mark.parametrize(("state", "event"), [*product(State, Event)])
def test_each_event_in_each_state(state: State, event: Event) -> None:
    watch = new_watch()
    watch.note(WAY_TO[state], 0)
    assert watch.state is state
    verdict = watch.note(event, 1)
    assert watch.state is NEXT[state][event]
    assert verdict is (Verdict.GO_ON if watch.state is State.EXPECTED else Verdict.WAIT)
    assert repr(watch) == f"<TopicWatch: {watch.state.value}>"


# --- Deleted -------------------------------------------------------------------------------------


def test_fault_23_no_broker_knows_it_for_a_while() -> None:
    assert last((0, TO_ALL), (999, TO_ALL), (1_000, TO_ALL)) is Verdict.DELETED


def test_fault_22_the_time_begins_again_when_a_broker_knows_it() -> None:
    for event in (UNKNOWN, SAME_ID, CONFIRMED, ANOTHER_ID):
        notes = [(0, TO_ALL), (900, event), (1_100, TO_ALL), (2_000, TO_ALL)]
        assert last(*notes) is Verdict.WAIT
        assert last(*notes, (2_100, TO_ALL)) is Verdict.DELETED


def test_fault_23_it_is_unknown_for_too_long() -> None:
    notes = [(0, UNKNOWN), (29_999, UNKNOWN), (30_000, UNKNOWN)]
    assert last(*notes) is Verdict.WAIT, "one more try"
    assert last(*notes, (30_001, UNKNOWN)) is Verdict.UNKNOWN_TOO_LONG


def test_fault_22_a_process_that_stood_still_asks_once_more() -> None:
    assert last((0, UNKNOWN), (90_000, UNKNOWN)) is Verdict.WAIT
    assert last((0, UNKNOWN), (90_000, UNKNOWN), (90_001, CONFIRMED)) is Verdict.GO_ON


def test_fault_22_metadata_alone_does_not_end_the_time() -> None:
    """Metadata has the topic, and its leader does not know it, for good."""
    notes = [(ms, event) for ms in range(0, 40_001, 10_000) for event in (UNKNOWN, SAME_ID)]
    assert Verdict.UNKNOWN_TOO_LONG in verdicts(*notes)


def test_fault_22_a_leader_that_responds_ends_the_time() -> None:
    notes = [(0, UNKNOWN), (29_000, CONFIRMED), (29_001, UNKNOWN), (59_000, UNKNOWN)]
    assert last(*notes) is Verdict.WAIT


def test_fault_23_without_a_propagation_time() -> None:
    watch = TopicWatch(believed_after_ms=BELIEVED_MS, unknown_ms=0)
    assert watch.note(UNKNOWN, 7) is Verdict.WAIT
    assert watch.note(UNKNOWN, 7) is Verdict.UNKNOWN_TOO_LONG


# --- Re-created ----------------------------------------------------------------------------------


def test_fault_24_several_responses_have_another_id_for_a_while() -> None:
    notes = [(0, ANOTHER_ID), (500, ANOTHER_ID)]
    assert last(*notes, (999, ANOTHER_ID)) is Verdict.WAIT
    assert last(*notes, (1_000, ANOTHER_ID)) is Verdict.RECREATED
    assert last((0, ANOTHER_ID), (1_000, ANOTHER_ID)) is Verdict.WAIT, "two are too few"


def test_fault_24_a_broker_that_does_not_know_it_yet_changes_nothing() -> None:
    notes = [(0, ANOTHER_ID), (1, UNKNOWN), (2, ANOTHER_ID), (1_000, UNKNOWN)]
    assert last(*notes) is Verdict.WAIT
    assert last(*notes, (1_001, ANOTHER_ID)) is Verdict.RECREATED


def test_fault_24_the_same_id_begins_again() -> None:
    for event in (SAME_ID, CONFIRMED, TO_ALL):
        notes = [(0, ANOTHER_ID), (1, ANOTHER_ID), (2, event), (1_000, ANOTHER_ID)]
        assert last(*notes, (1_001, ANOTHER_ID), (1_999, ANOTHER_ID)) is Verdict.WAIT


def test_a_verdict_stands_while_responses_say_so() -> None:
    notes = [(ms, ANOTHER_ID) for ms in range(0, 2_000, 500)]
    assert verdicts(*notes)[-2:] == [Verdict.RECREATED] * 2
    assert verdicts(*notes, (2_000, CONFIRMED))[-1] is Verdict.GO_ON


# --- Any sequence --------------------------------------------------------------------------------

NOTES = st.lists(st.tuples(st.integers(0, 40_000), st.sampled_from(Event)), min_size=1)


@given(NOTES)
def test_verdicts_follow_from_the_last_responses(notes: list[tuple[int, Event]]) -> None:
    """Never gone after a confirmation, nor before the time, nor by the word of one response."""
    notes.sort(key=lambda note: note[0])
    for count, verdict in enumerate(verdicts(*notes), 1):
        said = notes[:count]
        since = max((n for n, (_, event) in enumerate(said) if event is CONFIRMED), default=-1)
        doubts = [(ms, e) for ms, e in said[since + 1 :] if e not in (SAME_ID, CONFIRMED)]
        if verdict is Verdict.GO_ON:
            assert not doubts
        if verdict in (Verdict.DELETED, Verdict.RECREATED, Verdict.UNKNOWN_TOO_LONG):
            patience_ms = UNKNOWN_MS if verdict is Verdict.UNKNOWN_TOO_LONG else BELIEVED_MS
            assert doubts[-1][0] - doubts[0][0] >= patience_ms
            assert len(doubts) >= 2
