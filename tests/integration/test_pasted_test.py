"""The test on the page docs/testing.md, pasted into a file and run as a user runs it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.integration.example_processes import ROOT, python_in
from tests.own_process import run_command
from tests.venvs import new_venv

pytestmark = [pytest.mark.integration, pytest.mark.spark]


def run_pasted(python: Path, folder: Path) -> str:
    test, _imports = python_in((ROOT / "docs" / "testing.md").read_text())
    (folder / "test_orders.py").write_text(test)
    return run_command(folder, [str(python), "-m", "pytest", "-q", "test_orders.py"])


def test_in_this_environment(tmp_path: Path) -> None:
    assert "1 passed" in run_pasted(Path(sys.executable), tmp_path)


@pytest.mark.slow
@pytest.mark.newest
@pytest.mark.timeout(900)
def test_in_an_empty_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    python = new_venv(tmp_path / "venv", f"{ROOT}[spark,cli]", "pytest")
    assert "1 passed" in run_pasted(python, tmp_path)
