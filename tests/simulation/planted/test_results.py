"""The results of the hunts are those of the page, and each planted fault has one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.own_process import ROOT
from tests.simulation.planted.hunt import Found
from tests.simulation.planted.hunt_tests import FoundByTest
from tests.simulation.planted.results import (
    PAGE,
    RESULTS,
    WING_RESULTS,
    kept,
    read,
    table,
    table_of_wings,
    tables,
    with_table,
    write,
)
from tests.simulation.planted.table import FAULTS
from tests.simulation.planted.wings import WINGS

FOUND = Found(7, 9, 1, 12.5, "rows", "in-0: 1 records are lost")


def test_results_are_of_known_faults_in_their_order() -> None:
    results = read(RESULTS)
    assert [*results] == [each.name for each in FAULTS if each.name in results]


def test_each_fault_of_the_wings_is_found_by_a_test_of_its_judges() -> None:
    results = read(WING_RESULTS)
    assert [*results] == [each.name for each in WINGS]
    for fault in WINGS:
        file, _, name = str(results[fault.name]["test"]).partition("::")
        assert file in fault.judges, fault.name
        function = name.partition("[")[0].rpartition("::")[2]
        assert f"def {function}(" in (ROOT / file).read_text(), "run make test-planted"


def test_what_is_not_found_has_a_reason() -> None:
    missed = {name for name, result in read(RESULTS).items() if result["seed"] is None}
    assert missed <= {each.name for each in FAULTS if each.missed}


def test_the_page_has_the_results() -> None:
    page = PAGE.read_text()
    assert with_table(page, tables(read(RESULTS), read(WING_RESULTS))) == page, (
        "run make test-planted"
    )


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


def test_the_table_of_the_wings(tmp_path: Path) -> None:
    found = FoundByTest("tests/a/test_b.py::Of::test_c[a|b]", 0, 1.0, "assert 1 == 2")
    file = tmp_path / "wings.json"
    write(file, {WINGS[1].name: kept(found._replace(test=None)), WINGS[0].name: kept(found)})
    assert [*read(file)] == [WINGS[0].name, WINGS[1].name]
    text = table_of_wings(read(file))
    assert f"Found by tests: 1 of {len(WINGS)}." in text
    assert f"| {WINGS[0].name} | `{Path(WINGS[0].path).name}` | `test_b.py`: `Of.test_c` |" in text
    assert f"| {WINGS[1].name} | `{Path(WINGS[1].path).name}` | nobody |" in text
    assert "| not hunted for yet |" in text


def test_a_page_without_a_place_for_the_table() -> None:
    with pytest.raises(ValueError, match="no place"):
        with_table("a page", "a table")
