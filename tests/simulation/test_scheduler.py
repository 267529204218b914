"""Virtual time."""

from __future__ import annotations

import pytest

from tests.simulation.scheduler import START_MS, EndlessRunError, EventScheduler


def test_events_run_in_the_order_of_their_moments_and_of_their_creation() -> None:
    scheduler = EventScheduler(1)
    ran: list[tuple[str, float]] = []

    def note(name: str) -> None:
        ran.append((name, scheduler.elapsed_ms))

    scheduler.call_after(5, lambda: note("third"))
    scheduler.call_after(2, lambda: note("first"))
    scheduler.call_after(5, lambda: scheduler.call_after(-1, lambda: note("late")))
    scheduler.call_after(2, lambda: note("second"))
    assert not scheduler.run(lambda: False, until_ms=10)
    assert ran == [("first", 2), ("second", 2), ("third", 5), ("late", 5)]
    assert scheduler.now_ms == START_MS + 5


def test_a_run_ends_when_it_is_done_or_at_its_time() -> None:
    scheduler = EventScheduler(1)
    for ms in (1, 2, 30):
        scheduler.call_after(ms, lambda: None)
    assert scheduler.run(lambda: scheduler.elapsed_ms >= 2, until_ms=10)
    assert not scheduler.run(lambda: False, until_ms=10)
    assert scheduler.elapsed_ms == 2


def test_a_run_without_an_end_is_found() -> None:
    scheduler = EventScheduler(1, max_events=100)

    def again() -> None:
        scheduler.call_after(0, again)

    again()
    with pytest.raises(EndlessRunError, match="101 events within 0 ms"):
        scheduler.run(lambda: False, until_ms=1)
