"""Each point of the design pages is in docs/points.py, with a mark in the code and a small test."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from docs.points import MEASURED, POINTS, WITHOUT_CODE, Point
from tests.mirror import modules

ROOT: Final = Path(__file__).parents[1]
BY_MARK: Final = [(mark, point) for points in POINTS.values() for mark, point in points.items()]
MOST_LINES: Final = 40
_MARK: Final = re.compile(r"# point: (\S+)$", re.MULTILINE)
_WORDS: Final = re.compile(r"^- \*\*(.+?)\*\*", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", POINTS)
def test_each_point_of_a_page_is_in_the_table_once(page: str) -> None:
    words = _WORDS.findall((ROOT / "docs" / page).read_text())
    listed = [point.words for point in POINTS[page].values()]
    assert Counter(" ".join(each.split()) for each in words) == Counter(
        [*listed, *WITHOUT_CODE.get(page, ())]
    )


def test_each_mark_stands_at_one_place_in_the_code() -> None:
    texts = [(ROOT / module).read_text() for module in modules()]
    marks = Counter(mark for text in texts for mark in _MARK.findall(text))
    assert marks == Counter(mark for mark, _ in BY_MARK)


def test_only_what_is_measured_has_no_test() -> None:
    assert {mark for mark, point in BY_MARK if not point.test} == MEASURED


@pytest.mark.parametrize(
    "point", [point for _, point in BY_MARK if point.test], ids=lambda point: point.words
)
def test_the_test_of_a_point_exists_and_is_small(point: Point) -> None:
    path, _, name = point.test.partition("::")
    assert _lines_of_tests(path)[name] <= MOST_LINES


@cache
def _lines_of_tests(path: str) -> dict[str, int]:
    """How many lines each test of a file has."""
    return {
        each.name: (each.end_lineno or each.lineno) - each.lineno + 1
        for each in ast.parse((ROOT / path).read_text()).body
        if isinstance(each, ast.FunctionDef)
    }
