"""Names, texts and expressions that fail, as SQL spells them. Pure."""

from __future__ import annotations


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    return f"`{name.replace('`', '``')}`"


def text(value: str) -> str:
    """A literal of SQL."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def failure(about: str, reason: str, place: str, *more: str) -> str:
    """An expression that fails, with the place of the change in the error.

    `more` are expressions that come behind the reason.
    """
    parts = [text(about), place, text(f": {reason}"), *more]
    return f"raise_error(concat({', '.join(parts)}))"
