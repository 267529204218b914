"""Freed memory is poisoned in the processes of tests."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.poison import BYTE, ENVIRONMENT, SHOW_FREED_MEMORY

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="glibc only")


def test_the_environment_of_child_processes_has_the_poison() -> None:
    assert os.environ.items() >= ENVIRONMENT.items()
    shown = subprocess.run(
        [sys.executable, "-c", SHOW_FREED_MEMORY], check=True, capture_output=True, text=True
    )
    assert shown.stdout.strip() == str({BYTE})
