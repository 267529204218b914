from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from tests.endurance.command import save
from tests.endurance.torture.faults import FaultEvent
from tests.endurance.torture.report import report_of, report_of_case
from tests.endurance.torture.results import Result, RunResult, Status

RESULTS = [
    Result(0, 0, "spark batch", 1.0, 0.5, (), Status.RIGHT, 100),
    Result(1, 0, "spark batch", 20.0, 1.5, ("broker killed",), Status.AGAIN, 50, "lost\nmore"),
    Result(1, 1, "sail", 21.0, 3.0, ("broker killed",), Status.DIFFERENT, 7, "missing row"),
]
RUN = RunResult(
    seed=7,
    seconds=60.0,
    rounds=2,
    topics=4,
    records=1_000,
    restarts=1,
    results=RESULTS,
    faults=[FaultEvent("broker killed", "2", 19.0, 25.0)],
    problems=["round 1, query 1: missing row"],
)


def test_the_tables() -> None:
    out = io.StringIO()
    report = report_of(RUN)
    Console(file=out, width=140).print(*report.shown, sep="\n")
    lines = [[*map(str.strip, line.split("│"))][1:-1] for line in out.getvalue().splitlines()]
    assert ["spark batch", "2", "150", "1.0", "1.5", "1", "1", "0"] in lines
    assert ["all", "3", "157", "1.5", "3.0", "2", "1", "1"] in lines
    assert ["broker killed", "1", "2", "1", "3.0", "1"] in lines
    assert ["none", "-", "1", "0", "0.5", "0"] in lines
    assert "3 queries in 1.0 minutes, 3.0 a minute" in out.getvalue()
    assert report.problems == RUN.problems


def test_the_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="it is installed by `make torture`")
    save(report_of(RUN), tmp_path, "torture")
    figures = json.loads((tmp_path / "torture.json").read_text())
    assert figures["by_way"]["sail"]["problems"] == 1
    assert figures["by_fault"]["broker killed"]["queries"] == 2
    assert figures["ran_again"] == [{"round": 1, "way": "spark batch", "error": "lost"}]
    assert (tmp_path / "torture.png").read_bytes().startswith(b"\x89PNG")


def test_a_case() -> None:
    assert report_of_case(differs=False).problems == []
    assert report_of_case(differs=True).problems == ["it still differs"]
