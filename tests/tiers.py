"""Marks parameters for the tiers of the suite (`slow` and `core`, see CONTRIBUTING.md)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pytest

ONE: Final = (pytest.mark.slow, pytest.mark.core, pytest.mark.older)
"""For one kill: in `make test-all`, on the oldest PySpark."""
MANY: Final = (pytest.mark.slow, pytest.mark.newest)
"""For many kills in a row: in `make test-all`, on the newest PySpark."""


def first_are_core(cases: Iterable[Any], count: int = 1) -> list[Any]:
    """Parameters of which the first `count` also run in `make test`, the others in `make test-all`.

    A case is one value or one tuple of values.
    """
    return [
        pytest.param(
            *(case if type(case) is tuple else (case,)),
            marks=pytest.mark.core if number < count else (),
        )
        for number, case in enumerate(cases)
    ]


def first_are_quick(cases: Iterable[Any], count: int = 1) -> list[Any]:
    """Parameters of which only the first `count` run in `make test`, and all in `make test-all`.

    A case is one value or one tuple of values.
    """
    return [
        pytest.param(
            *(case if type(case) is tuple else (case,)),
            marks=() if number < count else pytest.mark.slow,
        )
        for number, case in enumerate(cases)
    ]
