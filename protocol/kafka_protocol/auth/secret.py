"""Text that is not to be seen: passwords, keys, tokens. Nothing else belongs here."""

from __future__ import annotations

from typing import Final

_MASK: Final = "***"


class Secret:
    """A text that prints as `***` wherever it turns up: in a repr, a log, an exception.

    It is no `str`, so that nothing shows it by joining or encoding it unawares. A pickle holds the
    text as it is: executors need it.

    Args:
        text: What is to be hidden.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the one place that needs it."""
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
