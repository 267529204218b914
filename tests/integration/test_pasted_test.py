"""The test on the page docs/testing.md, pasted into a file and run as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.example_processes import ROOT, python_in
from tests.own_process import run_command
from tests.venvs import new_venv

pytestmark = [pytest.mark.integration, pytest.mark.spark]


@pytest.mark.slow
@pytest.mark.newest
@pytest.mark.timeout(900)
def test_in_an_empty_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    python = new_venv(tmp_path / "venv", f"{ROOT}[spark,cli]", "pytest")
    test, _imports = python_in((ROOT / "docs" / "testing.md").read_text())
    (tmp_path / "test_orders.py").write_text(test)
    command = [str(python), "-m", "pytest", "-q", "test_orders.py"]
    assert "1 passed" in run_command(tmp_path, command)
