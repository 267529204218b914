"""`make demo-tables` and the example that it runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.change_data.conftest import ONLY_WITH_NEWEST_DELTA
from tests.change_data.jars import find
from tests.change_data.lake import FORMATS
from tests.change_data.shop_demo import EXAMPLE
from tests.own_process import run_command

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    ONLY_WITH_NEWEST_DELTA,
]


def test_the_example_without_brokers(tmp_path: Path) -> None:
    jars = str(find(FORMATS["delta"]))
    shown = run_command(tmp_path, [sys.executable, str(EXAMPLE), "--jars", jars])
    assert "shop.customers │ written" in shown
    assert "name 2" in shown


def test_the_demo(tmp_path: Path) -> None:
    """With half of its records."""
    command = [sys.executable, "-m", "tests.change_data.shop_demo", "--seconds", "20"]
    shown = run_command(tmp_path, command)
    assert "Each table is equal to its topic; everything is stopped again." in shown
    assert "After 5 kills" in shown
