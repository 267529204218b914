"""The time line of a run."""

from __future__ import annotations

from rich.console import Console

from tests.simulation.timeline import render
from tests.simulation.trace import Event


def shown(*events: Event, most: int = 10) -> str:
    console = Console(width=120, no_color=True)
    with console.capture() as capture:
        render(events, console, most)
    return capture.get()


def test_who_did_what_when() -> None:
    text = shown(
        Event(1.5, "driver 1", "sends", ("FETCH", 12, "to 2")),
        Event(2_000, "fault", "kill broker", (("node", 2),)),
    )
    lines = [line.split() for line in text.splitlines()]
    assert ["1.5", "driver", "1", "sends", "FETCH", "12", "to", "2"] in lines
    assert ["2,000.0", "fault", "kill", "broker", "node=2"] in lines


def test_only_the_last_events_are_shown() -> None:
    text = shown(*(Event(each, "a", "b", ()) for each in range(15)))
    assert "(5 earlier events are left out)" in text
    assert "14.0" in text
    assert " 4.0" not in text
