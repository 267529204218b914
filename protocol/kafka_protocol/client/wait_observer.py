"""The waits of this process: an observer, such as a terminal, gets the server that it waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Observer: TypeAlias = Callable[[str | None], None]
"""Gets a text when a wait begins, and None when it ends. Must not raise."""


# None in a process that shows no waits.
_observer: Observer | None = None


@contextmanager
def waiting_for(what: Callable[[], str]) -> Iterator[None]:
    """The observer shows `what()` while the block runs: a server and a request, or a time to retry.

    `what` is called only if there is an observer: most processes wait often, and show nothing.
    """
    observer = _observer
    if observer is None:
        yield
        return
    observer(what())
    try:
        yield
    finally:
        observer(None)


@contextmanager
def observed_by(observer: Observer) -> Iterator[None]:
    """Tell the waits of the whole process to an observer until the block ends."""
    global _observer  # noqa: PLW0603  the one place that replaces it
    previous, _observer = _observer, observer
    try:
        yield
    finally:
        _observer = previous
