"""Marks parameters for the tiers of the suite (`slow` and `core`, see CONTRIBUTING.md)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pytest

_Marks = tuple[pytest.MarkDecorator, ...]

ONE: Final = (pytest.mark.slow, pytest.mark.core, pytest.mark.older)
"""For one kill: in `make test-all`, on the oldest PySpark."""
MANY: Final = (pytest.mark.slow, pytest.mark.newest)
"""For many kills in a row: in `make test-all`, on the newest PySpark."""


def first_are_core(cases: Iterable[Any], count: int = 1) -> list[Any]:
    """Parameters of which the first `count` also run in `make test`, the others in `make test-all`.

    A case is one value or one tuple of values.
    """
    return _marked(cases, count, first=(pytest.mark.core,), others=())


def first_are_quick(cases: Iterable[Any], count: int = 1) -> list[Any]:
    """Parameters of which only the first `count` run in `make test`, and all in `make test-all`.

    A case is one value or one tuple of values.
    """
    return _marked(cases, count, first=(), others=(pytest.mark.slow,))


def _marked(cases: Iterable[Any], count: int, first: _Marks, others: _Marks) -> list[Any]:
    return [
        pytest.param(
            *(case if type(case) is tuple else (case,)), marks=first if number < count else others
        )
        for number, case in enumerate(cases)
    ]
