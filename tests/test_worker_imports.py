"""Spark's workers import no library that they have no use for."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.own_process import run_command, run_module
from tests.pages.tour import Tour

needs_pandas = pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed")


@needs_pandas
def test_records_are_read_and_written_without_pandas(tmp_path: Path) -> None:
    """pyarrow imports it where it converts values of Python or numpy; Spark's workers do not."""
    imported = run_module(tmp_path, "tests.jobs.worker_work")
    assert imported
    assert [work for work, has_pandas in imported.items() if has_pandas] == []


@needs_pandas
def test_arrow_imports_pandas_as_its_report_says(tmp_path: Path) -> None:
    with Tour("docs/upstream/arrow-pandas.md") as tour:
        run_command(tmp_path, [sys.executable, "-c", tour.take()])
