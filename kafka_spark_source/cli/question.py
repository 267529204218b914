"""The question before a change that cannot be undone."""

from __future__ import annotations

import sys


def is_sure(question: str, expected: str) -> bool:
    """Whether the user answers a question with the expected word; never without a terminal."""
    if not sys.stdin.isatty():
        return False
    return input(f"{question} ({expected}): ").strip() == expected
