"""Faults of delivery are found and named; results can be saved and drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from tests.endurance.soak import report
from tests.endurance.soak.delivery import faults_of, written
from tests.endurance.soak.slopes import Series, judge_all
from tests.stream_records import Record


def test_what_was_written_is_in_the_order_of_offsets() -> None:
    records = [Record("t", 0, 10, "c"), Record("t", 0, 9, "b"), Record("t", 1, 0, "a")]
    assert written(records) == {0: ["b", "c"], 1: ["a"], 2: []}


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (["a", "b"], None),
        (["a"], "1 missing at the end, as 'b'"),
        (["b"], "1 lost, as 'a'"),
        (["a", "b", "b"], "1 twice, as 'b'"),
        (["a", "b", "x"], "1 unknown, as 'x'"),
    ],
)
def test_faults(found: list[str], fault: str | None) -> None:
    expected = [] if fault is None else [f"copy, partition 0: {fault}"]
    assert faults_of("copy", {0: found}, {0: ["a", "b"]}) == expected


def test_a_report(tmp_path: Path) -> None:
    series: dict[tuple[str, str], Series] = {
        ("jvm", "rss"): [(10.0 * each, 500 + each) for each in range(100)],
        ("driver", "threads"): [(10.0 * each, 4) for each in range(100)],
    }
    verdicts = judge_all(series, 1000)
    console = Console(width=120, record=True, file=(tmp_path / "printed").open("w"))
    console.print(report.table(verdicts))
    text = console.export_text()
    console.file.close()
    assert "jvm rss (MiB)" in text
    assert "GROWS" in text
    assert "stays" in text
    report.save(tmp_path / "soak.json", 1000, series, verdicts, {"records": 7})
    saved = json.loads((tmp_path / "soak.json").read_text())
    assert saved["records"] == 7
    assert saved["verdicts"]["jvm rss"]["grows"] is True
    assert saved["samples"]["driver threads"][1] == [10, 4]
    pytest.importorskip("matplotlib", reason="it is installed by `make soak`")
    report.plot(tmp_path / "soak.png", 1000, series)
    assert (tmp_path / "soak.png").read_bytes().startswith(b"\x89PNG")
