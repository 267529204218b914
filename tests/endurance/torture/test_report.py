from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from tests.endurance.command import save
from tests.endurance.torture.copies.checks import COPIES
from tests.endurance.torture.copies.run import CopiesResult, RoundResult
from tests.endurance.torture.fault_rounds import FaultEvent, Round
from tests.endurance.torture.faults import FAULTS
from tests.endurance.torture.report import report_of, report_of_case
from tests.endurance.torture.results import Result, RunResult, Status
from tests.truth.delivery import KINDS
from tests.truth.progress import Sample

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
    faults=[FaultEvent("broker killed", 19.0, 25.0)],
    copies=[],
    problems=["round 1, query 1: missing row"],
)
ROUND = Round(1, FAULTS[:1], 0.0, 3.0, 5)
COPIED = CopiesResult(
    [RoundResult(ROUND, 100.0, 105.0, 107.5, 4.0, 2.0, ["again: lost"])],
    {name: Counter(twice=2) for name in COPIES},
    dict.fromkeys(("source", *COPIES), 700),
    [
        Sample(100.0, 650, dict.fromkeys(COPIES, 640)),
        Sample(107.5, 700, dict.fromkeys(COPIES, 700)),
    ],
    [],
)


def lines_of(run: RunResult) -> list[list[str]]:
    """The cells of the tables, and the other lines."""
    out = io.StringIO()
    Console(file=out, width=140).print(*report_of(run).shown, sep="\n")
    rows = [[*map(str.strip, line.split("│"))] for line in out.getvalue().splitlines()]
    return [row[1:-1] if len(row) > 1 else row for row in rows]


def test_the_tables() -> None:
    lines = lines_of(RUN)
    assert ["spark batch", "2", "150", "1.0", "1.5", "1", "1", "0"] in lines
    assert ["all", "3", "157", "1.5", "3.0", "2", "1", "1"] in lines
    assert ["broker killed", "1", "2", "1", "3.0", "1"] in lines
    assert ["none", "-", "1", "0", "0.5", "0"] in lines
    assert any("3 queries in 1.0 minutes, 3.0 a minute" in each[0] for each in lines if each)
    assert report_of(RUN).problems == RUN.problems


def test_the_tables_of_copies() -> None:
    lines = lines_of(RUN._replace(results=[], copies=[COPIED, COPIED]))
    assert ["broker killed", "2", "4.0", "2.0", "2.5", "2"] in lines
    assert ["once", "1,400", *("4" if kind == "twice" else "0" for kind in KINDS)] in lines
    assert not any("spark batch" in each for each in lines)


def test_the_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="it is installed by `make torture`")
    save(report_of(RUN._replace(copies=[COPIED])), tmp_path, "torture")
    figures = json.loads((tmp_path / "torture.json").read_text())
    assert figures["by_way"]["sail"]["problems"] == 1
    assert figures["by_fault"]["broker killed"]["queries"] == 2
    assert figures["ran_again"] == [{"round": 1, "way": "spark batch", "error": "lost"}]
    (copies,) = figures["copies"]
    assert copies["rounds"][0]["faults"] == "broker killed"
    assert copies["findings"]["again"] == {"twice": 2}
    assert (tmp_path / "torture.png").read_bytes().startswith(b"\x89PNG")


def test_a_case() -> None:
    assert report_of_case(differs=False).problems == []
    assert report_of_case(differs=True).problems == ["it still differs"]
