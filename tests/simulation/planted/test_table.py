"""The planted faults fit the code, and the product is as it was where none is planted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.own_process import ROOT
from tests.simulation.planted.fault import Planted
from tests.simulation.planted.hunt import hunt
from tests.simulation.planted.table import FAULTS


def test_each_name_is_unique() -> None:
    assert len({each.name for each in FAULTS}) == len(FAULTS)
    assert len(FAULTS) >= 25


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
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
