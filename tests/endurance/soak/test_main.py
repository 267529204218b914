"""The command's exit code and files, with a scripted run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.endurance.command import execute
from tests.endurance.soak import __main__ as command
from tests.endurance.soak.run import Findings

LEAK = [(10.0 * each, 100.0 + each) for each in range(100)]
FLAT = [(10.0 * each, 100.0) for each in range(100)]


@pytest.mark.parametrize(
    ("samples", "faults", "words"),
    [
        (FLAT, [], "Nothing grew"),
        (LEAK, [], "PROBLEM: reader rss grows"),
        (FLAT, ["copy, partition 0: 1 of 2 values lost"], "PROBLEM: copy, partition 0"),
    ],
)
def test_growth_and_losses_fail(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    samples: list[tuple[float, float]],
    faults: list[str],
    words: str,
) -> None:
    pytest.importorskip("matplotlib", reason="it is installed by `make soak`")
    findings = Findings(1000, {("reader", "rss"): samples}, faults, records=7, jobs=2)
    arguments = ["soak", "--minutes", "3", "--results", str(tmp_path)]
    given: list[float] = []

    def soak(seconds: float, folder: Path, on_sample: object) -> Findings:
        assert folder.is_dir()
        given.append(seconds)
        return findings

    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr(command, "RUNS", {"pykafka": soak})
    assert execute(command.COMMAND) == (words != "Nothing grew")
    assert given == [180]
    assert words in capsys.readouterr().out
    assert json.loads((tmp_path / "soak.json").read_text())["faults"] == faults
    assert (tmp_path / "soak.png").exists()
