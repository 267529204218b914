"""A type for passwords, keys and tokens that keeps them out of logs. Nothing else."""

from __future__ import annotations

from typing import Final

_MASK: Final = "***"


class Secret:
    """A text that prints as `***` in a repr, a log or an exception.

    It is not a `str`, so it cannot be joined or encoded by mistake. A pickle contains the text,
    because executors need it.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself. Call it only where the text is sent."""
        return self._text

    def __repr__(self) -> str:
        return _MASK

    def __format__(self, spec: str) -> str:
        return format(_MASK, spec)

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        return Secret, (self._text,)
