"""Results can be shown, saved and drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from tests.endurance.command import save
from tests.endurance.soak.report import report_of
from tests.endurance.soak.run import Findings


def test_a_report(tmp_path: Path) -> None:
    series: dict[tuple[str, str], list[tuple[float, float]]] = {
        ("jvm", "rss"): [(10.0 * each, 500 + each) for each in range(100)],
        ("driver", "threads"): [(10.0 * each, 4) for each in range(100)],
    }
    report = report_of(Findings(1000, series, records=7, notes=["there is no jcmd"]))
    with (tmp_path / "printed").open("w") as file:
        console = Console(width=120, record=True, file=file)
        console.print(*report.shown, sep="\n")
        text = console.export_text()
    assert "jvm rss (MiB)" in text
    assert "GROWS" in text
    assert "stays" in text
    assert "Note: there is no jcmd." in text
    assert report.problems == ["jvm rss grows"]
    pytest.importorskip("matplotlib", reason="it is installed by `make soak`")
    save(report, tmp_path, "soak")
    saved = json.loads((tmp_path / "soak.json").read_text())
    assert saved["records"] == 7
    assert saved["verdicts"]["jvm rss"]["grows"] is True
    assert saved["samples"]["driver threads"][1] == [10, 4]
    assert (tmp_path / "soak.png").read_bytes().startswith(b"\x89PNG")
