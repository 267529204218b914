"""The events of a run as a time line for people: who sent what to whom, when, what crashed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tests.simulation.trace import Event

_STYLES: Final = {"killed": "bold red", "reset": "red", "ends": "yellow", "starts": "green"}


def render(events: Iterable[Event], console: Console, most: int = 400) -> None:
    """Print the last events, at most `most` of them, one a line."""
    kept = [*events]
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("ms", justify="right", style="dim", no_wrap=True)
    for name in ("who", "what", ""):
        table.add_column(name, overflow="fold")
    for event in kept[-most:]:
        style = "bold magenta" if event.who == "fault" else _STYLES.get(event.what, "")
        detail = " ".join(map(_shown, event.detail))
        table.add_row(f"{event.at_ms:,.1f}", Text(event.who), Text(event.what, style), Text(detail))
    if len(kept) > most:
        console.print(f"({len(kept) - most} earlier events are left out)")
    console.print(table)


def _shown(value: object) -> str:
    if isinstance(value, tuple) and len(value) == 2:
        return f"{value[0]}={value[1]}"
    return str(value)
