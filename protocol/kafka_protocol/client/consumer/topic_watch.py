"""Decides from responses whether a topic is still there and still the same.

Brokers learn of created and deleted topics at different times, so one response proves nothing. The
tables below hold all decisions about it; docs/design.md shows them. Pure: no request, no clock, no
error; the callers send requests, wait, and raise.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple


class Event(Enum):
    """A statement of a response about the topic. UNKNOWN_TO_ALL: each broker has said UNKNOWN."""

    CONFIRMED = "a leader responds for it"
    SAME_ID = "metadata has it"
    UNKNOWN = "a broker does not know it"
    UNKNOWN_TO_ALL = "no broker knows it"
    ANOTHER_ID = "metadata has another id"


class State(Enum):
    """The state of the topic by all responses so far."""

    EXPECTED = "it is there, as far as responses say"
    UNKNOWN = "it may be deleted, or not known yet"
    UNKNOWN_TO_ALL = "it is deleted, unless brokers have yet to learn of it"
    REPLACED = "it is re-created, unless a broker's metadata is old"


class Verdict(Enum):
    """The consequence for the reader."""

    GO_ON = "go on"
    WAIT = "ask again later"
    UNKNOWN_TOO_LONG = "deleted: unknown for too long"
    DELETED = "deleted: unknown to every broker"
    RECREATED = "re-created"


NEXT: Final[Mapping[State, Mapping[Event, State]]] = {
    State.EXPECTED: {
        Event.CONFIRMED: State.EXPECTED,
        Event.SAME_ID: State.EXPECTED,
        Event.UNKNOWN: State.UNKNOWN,
        Event.UNKNOWN_TO_ALL: State.UNKNOWN_TO_ALL,
        Event.ANOTHER_ID: State.REPLACED,
    },
    # Metadata alone does not confirm a topic: its leader may not know it yet.
    State.UNKNOWN: {
        Event.CONFIRMED: State.EXPECTED,
        Event.SAME_ID: State.UNKNOWN,
        Event.UNKNOWN: State.UNKNOWN,
        Event.UNKNOWN_TO_ALL: State.UNKNOWN_TO_ALL,
        Event.ANOTHER_ID: State.REPLACED,
    },
    State.UNKNOWN_TO_ALL: {
        Event.CONFIRMED: State.EXPECTED,
        Event.SAME_ID: State.UNKNOWN,
        Event.UNKNOWN: State.UNKNOWN,
        Event.UNKNOWN_TO_ALL: State.UNKNOWN_TO_ALL,
        Event.ANOTHER_ID: State.REPLACED,
    },
    # A broker that has not heard of the new topic does not prove the old one.
    State.REPLACED: {
        Event.CONFIRMED: State.EXPECTED,
        Event.SAME_ID: State.UNKNOWN,
        Event.UNKNOWN: State.REPLACED,
        Event.UNKNOWN_TO_ALL: State.UNKNOWN_TO_ALL,
        Event.ANOTHER_ID: State.REPLACED,
    },
}


class Belief(NamedTuple):
    """When a state is believed: after so many of its events, the last some time after the first."""

    event: Event
    events: int
    verdict: Verdict


# A cache, or one broker for a moment, may be older than the topic: several have to say it.
BELIEFS: Final[Mapping[State, Belief]] = {
    State.UNKNOWN_TO_ALL: Belief(Event.UNKNOWN_TO_ALL, 1, Verdict.DELETED),
    State.REPLACED: Belief(Event.ANOTHER_ID, 3, Verdict.RECREATED),  # point: stale-topic-id
}


class TopicWatch:
    """The statements of responses about one topic of a read.

    Args:
        believed_after_ms: How long they must say that it is deleted or re-created.
        unknown_ms: How long a broker may say that it does not know the topic. One more try follows
            when the time is up: a process that stood still has sent no request.
    """

    def __init__(self, *, believed_after_ms: float, unknown_ms: float) -> None:
        self._believed_after_ms = believed_after_ms
        self._unknown_ms = unknown_ms
        self.state = State.EXPECTED
        self._go_on()

    def __repr__(self) -> str:
        return f"<TopicWatch: {self.state.value}>"

    def note(self, event: Event, now_ms: float) -> Verdict:
        """Note a response; `now_ms` never goes back. A verdict may be followed by another one."""
        before, self.state = self.state, NEXT[self.state][event]
        if self.state is State.EXPECTED:
            self._go_on()
            return Verdict.GO_ON
        if before is State.EXPECTED:
            self._doubted_from_ms = now_ms
        if before is not self.state:
            self._events, self._state_from_ms = 0, now_ms
        if event is Event.SAME_ID:
            return Verdict.WAIT  # only a response that speaks against the topic ends it
        return self._believed(event, now_ms) or self._late(now_ms)

    def _go_on(self) -> None:
        self._events = 0  # of the state's belief
        self._state_from_ms = 0.0
        self._doubted_from_ms = 0.0  # since the state EXPECTED was left
        self._is_last_try = False

    def _believed(self, event: Event, now_ms: float) -> Verdict | None:
        belief = BELIEFS.get(self.state)
        if belief is None or belief.event is not event:
            return None
        self._events += 1
        is_old = now_ms - self._state_from_ms >= self._believed_after_ms
        return belief.verdict if is_old and self._events >= belief.events else None

    def _late(self, now_ms: float) -> Verdict:
        if now_ms - self._doubted_from_ms < self._unknown_ms:
            return Verdict.WAIT
        if self._is_last_try:
            return Verdict.UNKNOWN_TOO_LONG
        self._is_last_try = True
        return Verdict.WAIT
