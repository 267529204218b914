"""The coverage that the simulation reaches: what is summed up and shown."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from tests.simulation.reach import ROOMS, WITHIN, rooms_of, show

SUMMARY = {"covered_lines": 6, "num_statements": 8, "covered_branches": 1, "num_branches": 2}


def function(
    executed: list[int], missing: list[int], jumps: list[tuple[int, int]] | None = None
) -> dict[str, Any]:
    return {"executed_lines": executed, "missing_lines": missing, "missing_branches": jumps or []}


REPORT = {
    "files": {
        f"{ROOMS['client']}/pool.py": {
            "summary": SUMMARY,
            "functions": {
                "": function([1, 2], []),
                "whole": function([3], []),
                "part": function([4], [5, 6, 8], [(4, 5), (4, -1)]),
                "never": function([], [9]),
            },
        },
        f"{ROOMS['client']}/network/tls.py": {"summary": SUMMARY, "functions": {}},
        f"{ROOMS['planning']}/batch.py": {"summary": SUMMARY, "functions": {}},
    }
}


def test_rooms_are_summed_up() -> None:
    rooms = rooms_of(REPORT)
    assert (rooms["client"].covered, rooms["client"].total, rooms["client"].percent) == (14, 20, 70)
    assert rooms[WITHIN].total == 10
    assert rooms["planning"].total == 10
    assert rooms["writing"].percent == 100
    part, never = rooms["client"].missed
    assert (part.function, part.lines, part.is_whole) == ("part", ("5-6", "8", "4->exit"), False)
    assert (never.function, never.is_whole) == ("never", True)


def test_what_is_shown() -> None:
    console = Console(record=True, width=120)
    show(rooms_of(REPORT), console)
    lines = console.export_text().splitlines()
    assert any("pool.py" in each and "never" in each and "all" in each for each in lines)
    assert any("client" in each and "70.0 %" in each and "20" in each for each in lines)
    assert any(each.startswith("│ all") and "70.0 %" in each for each in lines)
