"""Shows on a terminal which server a command waits for, once that takes two seconds.

A series of waits counts as one: a retry after an error, or a request to each of many brokers. Work
between them, or a person who is asked, ends the series.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kafka_protocol.client.clock import monotonic_ms
from kafka_protocol.client.wait_observer import observed_by

if TYPE_CHECKING:
    from kafka_spark_source.cli.terminal.status_line import StatusLine

_SHOWN_AFTER_MS: Final = 2_000
_LOOK_SECONDS: Final = 0.2


class Waits:
    """The waits of the client, and since when they last."""

    def __init__(self) -> None:
        self._what = ""
        self._is_waiting = self._has_waited = False
        self._since_ms: float | None = None

    def __call__(self, what: str | None) -> None:
        """Take note: a wait begins, or ends. Called by the thread that waits."""
        self._is_waiting = what is not None
        if what is not None:
            self._what, self._has_waited = what, True

    def look(self, now_ms: float) -> str | None:
        """The text to show, or None. Called again and again, by one other thread."""
        is_going_on = self._is_waiting or self._has_waited
        self._has_waited = False
        if not is_going_on:
            self._since_ms = None
            return None
        if self._since_ms is None:
            self._since_ms = now_ms
        waited_ms = now_ms - self._since_ms
        if waited_ms < _SHOWN_AFTER_MS:
            return None
        return f"{waited_ms // 1000:.0f} s: waiting for {self._what}"


@contextmanager
def shown_waits(line: StatusLine) -> Iterator[None]:
    """Show the waits of the block in a line of the terminal."""
    if not line.is_possible:
        yield
        return
    waits, ended = Waits(), threading.Event()

    def show() -> None:
        while not ended.wait(_LOOK_SECONDS):
            line.show(waits.look(monotonic_ms()))

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        with observed_by(waits):
            yield
    finally:
        ended.set()
        thread.join()
        line.show(None)
