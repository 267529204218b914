"""Spark's workers import no library that they have no use for."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.own_process import run_module


def test_records_are_read_and_written_without_pandas(tmp_path: Path) -> None:
    """pyarrow imports it where it converts values of Python or numpy; Spark's workers do not."""
    if find_spec("pandas") is None:
        pytest.skip("pandas is not installed")
    imported = run_module(tmp_path, "tests.jobs.worker_work")
    assert imported
    assert [work for work, has_pandas in imported.items() if has_pandas] == []
