"""The state machines of docs/design.md, drawn from the tables in the code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TypeVar

from kafka_protocol.client.consumer import fetch_position, topic_watch
from kafka_spark_source.streaming import micro_batch_rules
from kafka_spark_source.writing import claimed_prefix

State = TypeVar("State", bound=Enum)
Event = TypeVar("Event", bound=Enum)
Next = TypeVar("Next", bound=Enum)

BEGINS, ENDS = "<!-- states -->\n", "<!-- /states -->\n"


def state_tables() -> str:
    """All tables, in Markdown."""
    return f"""
### A topic of a read

`client/consumer/topic_watch.py`: the next state, by the statement of a response about the topic.

{_transitions(topic_watch.NEXT, topic_watch.Event)}
{_beliefs()}

### The position of a read

`client/consumer/fetch_position.py`: the read believes a loss when a second response confirms it.
A dash marks an event that must not happen in the state.

{_transitions(fetch_position.NEXT, fetch_position.Event)}
### The end of a micro-batch

`streaming/micro_batch_rules.py`: the rules that apply, by the turn of the micro-batch in its query
and by the end of the run.

{_rules()}
### A task of an exactly-once write

`writing/claimed_prefix.py`: the action of a task, by the micro-batch of the last decision and the
task's records in it.

{_transitions(claimed_prefix.ACTIONS, claimed_prefix.Records)}"""


def _transitions(table: Mapping[State, Mapping[Event, Next]], events: Iterable[Event]) -> str:
    """A row for each state, with the next one for each event; empty where it stays."""
    columns = [*events]
    rows = [
        [f"**{state.name}**: {state.value}", *(_next(row.get(event), state) for event in columns)]
        for state, row in table.items()
    ]
    head = ["state", *(f"{event.name}: {event.value}" for event in columns)]
    return "".join(map(_row, [head, ["---"] * len(head), *rows]))


def _rules() -> str:
    """A row for each rule, with the cases where it applies."""
    table = micro_batch_rules.RULES
    cases = [(turn, run) for turn, row in table.items() for run in row]
    head = ["rule", *(f"{turn.name}, {run.name}" for turn, run in cases)]
    rows = [
        [
            f"**{rule.name}**: {rule.value}",
            *("yes" if rule in table[turn][run] else "" for turn, run in cases),
        ]
        for rule in micro_batch_rules.Rule
    ]
    named = [
        f"{each.name}: {each.value}." for each in (*micro_batch_rules.Turn, *micro_batch_rules.Run)
    ]
    return "".join(map(_row, [head, ["---"] * len(head), *rows])) + "\n" + " ".join(named) + "\n"


def _next(state: Enum | None, before: Enum) -> str:
    if state is None:
        return "-"
    return "" if state is before else state.name


def _beliefs() -> str:
    rows = [
        f"{belief.events} x {belief.event.name}, and `Times.topic_changed_ms` from the first to "
        f"the last, in {state.name}: **{belief.verdict.value}**."
        for state, belief in topic_watch.BELIEFS.items()
    ]
    late = topic_watch.Verdict.UNKNOWN_TOO_LONG.value
    rows.append(
        "`topic.metadata.propagation.max.ms` without EXPECTED, and one more try: "
        f"**{late}**. Before: {topic_watch.Verdict.WAIT.value}."
    )
    return "".join(f"- {row}\n" for row in rows).rstrip("\n")


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"
