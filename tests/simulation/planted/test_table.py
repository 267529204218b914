"""The planted faults fit the code, and the product is as it was where none is planted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.own_process import ROOT
from tests.simulation.planted.fault import Planted
from tests.simulation.planted.hunt import hunt
from tests.simulation.planted.hunt_tests import hunt_by_tests
from tests.simulation.planted.table import FAULTS
from tests.simulation.planted.wings import WINGS

ALL = (*FAULTS, *WINGS)


def test_each_name_is_unique() -> None:
    assert len({each.name for each in ALL}) == len(ALL)
    assert len(FAULTS) >= 25
    assert len(WINGS) >= 30


def test_the_simulation_or_tests_hunt_for_a_fault() -> None:
    assert not any(each.judges for each in FAULTS)
    assert all(each.judges and each.likely is None and not each.missed for each in WINGS)
    files = {file for each in WINGS for file in each.judges}
    assert [file for file in sorted(files) if not (ROOT / file).is_file()] == []


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name)
def test_each_fault_fits_the_code(fault: Planted, tmp_path: Path) -> None:
    (tmp_path / fault.path).parent.mkdir(parents=True)
    shutil.copy(ROOT / fault.path, tmp_path / fault.path)
    fault.apply(tmp_path)
    changed = (tmp_path / fault.path).read_text()
    assert changed != (ROOT / fault.path).read_text()
    compile(changed, fault.path, "exec")


@pytest.mark.slow
def test_a_planted_fault_is_found() -> None:
    fault = next(each for each in FAULTS if each.name == "the last record of a range is dropped")
    found = hunt(fault, 120)
    assert found.seed is not None, found.text


@pytest.mark.slow
def test_a_planted_fault_is_found_by_a_test() -> None:
    name = "a topic may have the name of a folder above"
    found = hunt_by_tests(next(each for each in WINGS if each.name == name), 120)
    assert found.test is not None, found.text
    assert found.test.startswith("tests/protocol/options/test_topic_names.py::")
