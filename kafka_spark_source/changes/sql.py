"""Names, texts and expressions that fail, as SQL spells them. Pure."""

from __future__ import annotations


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    return f"`{name.replace('`', '``')}`"


def text(value: str) -> str:
    """A literal of SQL."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def message(about: str, reason: str, place: str, *more: str) -> str:
    """An expression for the text of an error, with the place of the change.

    `more` are expressions that come after the reason.
    """
    parts = [text(about), place, text(f": {reason}"), *more]
    return f"concat({', '.join(parts)})"


def failure(about: str, reason: str, place: str, *more: str) -> str:
    """An expression that fails with the text of `message`."""
    return f"raise_error({message(about, reason, place, *more)})"
