"""Errors of Spark on a machine that is too busy."""

from __future__ import annotations

from typing import Final

_OVERLOADED: Final = ("Python worker failed to connect back", "[CANNOT_OPEN_SOCKET]")


def is_overload(error: str) -> bool:
    """Whether Spark found no time to start a Python process: it waits for ten seconds."""
    return any(text in error for text in _OVERLOADED)
