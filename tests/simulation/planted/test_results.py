"""The results of the hunts are those of the page, and each planted fault has one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.planted.hunt import Found
from tests.simulation.planted.results import (
    PAGE,
    RESULTS,
    kept,
    read,
    table,
    with_table,
    write,
)
from tests.simulation.planted.table import FAULTS

FOUND = Found(7, 9, 1, 12.5, "rows", "in-0: 1 records are lost")


def test_results_are_of_known_faults_in_their_order() -> None:
    results = read(RESULTS)
    assert [*results] == [each.name for each in FAULTS if each.name in results]


def test_what_is_not_found_has_a_reason() -> None:
    missed = {name for name, result in read(RESULTS).items() if result["seed"] is None}
    assert missed <= {each.name for each in FAULTS if each.missed}


def test_the_page_has_the_results() -> None:
    page = PAGE.read_text()
    assert with_table(page, table(read(RESULTS))) == page, "run make test-planted"


def test_results_are_kept_in_the_order_of_the_faults(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    assert read(file) == {}
    first, second = (each.name for each in FAULTS[:2])
    write(file, {second: kept(FOUND), first: kept(FOUND._replace(seed=None)), "gone": {}})
    assert [*read(file).items()] == [
        (first, {"seed": None, "seeds": 9}),
        (second, {"seed": 7, "judge": "rows"}),
    ]


def test_the_table() -> None:
    text = table({FAULTS[0].name: kept(FOUND)})
    assert f"| {FAULTS[0].name} | rows | 7 |" in text
    assert f"Found: 1 of {len(FAULTS)}." in text


def test_a_page_without_a_place_for_the_table() -> None:
    with pytest.raises(ValueError, match="no place"):
        with_table("a page", "a table")
