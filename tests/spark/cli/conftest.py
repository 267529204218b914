"""Runs the command with a runtime folder of its own; afterwards stops what it started."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark.cli.processes import COMMAND, COMMAND_SECONDS, Pykafka


@pytest.fixture(autouse=True)
def _own_runtime_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runtime").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))


@pytest.fixture
def pykafka() -> Iterator[Pykafka]:
    """Runs the command in a process, and stops all servers at the end."""

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*COMMAND, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
        )

    yield run
    run("broker", "stop", "--all")
    run("registry", "stop", "--all")
