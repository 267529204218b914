"""docs/faults.md and the numbers in test names agree: test_fault_31_... is about fault 31 there."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
# test_fault_31_..., test_fault_29_and_30_..., test_fault_16_17_and_40_...
_TEST = re.compile(r"^ *(?:async )?def test_fault_((?:\d\d_)+(?:and_\d\d_)?)", re.MULTILINE)
_ROW = re.compile(r"^\| (\d+) \| .* \| ([^|]+) \|$", re.MULTILINE)


def _tests() -> dict[int, set[str]]:
    """The files with tests of each fault, by its number."""
    files = defaultdict(set)
    for path in ROOT.glob("tests/**/*.py"):
        for numbers in _TEST.findall(path.read_text()):
            for number in re.findall(r"\d\d", numbers):
                files[int(number)].add(path.relative_to(ROOT).as_posix())
    return files


def _page() -> list[tuple[int, list[str]]]:
    """The number of each row of docs/faults.md, and the files in its last column."""
    rows = _ROW.findall((ROOT / "docs" / "faults.md").read_text())
    return [(int(number), re.findall(r"`([^`]+)`", files)) for number, files in rows]


TESTS = _tests()
PAGE = _page()


def test_rows_are_numbered_from_1_without_a_gap() -> None:
    numbers = [number for number, _ in PAGE]
    assert numbers == list(range(1, len(PAGE) + 1))


def test_each_number_in_a_test_name_is_on_the_page() -> None:
    unknown = {number: TESTS[number] for number in TESTS.keys() - dict(PAGE).keys()}
    assert unknown == {}, "these numbers are in test names, but not in docs/faults.md"


def test_each_fault_on_the_page_has_a_test() -> None:
    untested = [number for number, _ in PAGE if number not in TESTS]
    assert untested == [], "no test is named after these faults"


def test_each_file_on_the_page_tests_its_fault() -> None:
    wrong = [
        f"{number}: {file} has no test of it; files that have: {sorted(TESTS.get(number, ()))}"
        for number, files in PAGE
        for file in files or ["(no file)"]
        if file not in TESTS.get(number, ())
    ]
    assert wrong == []
