"""What the simulation alone reaches of the product: branch coverage of the rooms that it is for.

`python -m tests.simulation --coverage`. Each job is a process of its own with seeds of its own,
measured by coverage.py; the results are combined. Nothing here runs a scenario.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import coverage
from rich.console import Console
from rich.table import Table

ROOMS: Final = {
    "client": "protocol/kafka_protocol/client",
    "streaming": "kafka_spark_source/streaming",
    "writing": "kafka_spark_source/writing",
    "reading": "kafka_spark_source/reading",
    "planning": "kafka_spark_source/planning",
}
# A simulated connection has neither sockets nor TLS nor SASL: counted in `client`, and by itself.
OUTSIDE: Final = tuple(
    f"{ROOMS['client']}/{each}"
    for each in (
        "broker/authenticate.py",
        "broker/credentials.py",
        "broker/listener.py",
        "broker/oauth.py",
        "config/security_checks.py",
        "config/security_options.py",
        "network/",
    )
)
WITHIN: Final = "client but for TLS, SASL, sockets"
_SEEDS_OF_A_JOB: Final = 1_000_000

_CONFIG: Final = """
[run]
branch = true
parallel = true
concurrency = greenlet
data_file = {folder}/data
source = {sources}

[report]
exclude_also =
    if TYPE_CHECKING:
    @overload
    raise AssertionError
    \\.\\.\\.$
    def __repr__
"""


@dataclass(frozen=True)
class Missed:
    """What was not reached of a function.

    Attributes:
        is_whole: Whether no line of it was reached.
        lines: The lines that were not; jumps as "from->to".
    """

    file: str
    function: str
    is_whole: bool
    lines: tuple[str, ...]


@dataclass
class Room:
    """A room: covered and all of its statements and branches, and what was missed."""

    covered: int = 0
    total: int = 0
    missed: list[Missed] = field(default_factory=list)

    @property
    def percent(self) -> float:
        """How much of the room was reached."""
        return 100 * self.covered / self.total if self.total else 100.0


def measure(seconds: float, jobs: int, first_seed: int, console: Console) -> int:
    """Run seeds in `jobs` processes, then print what they reached; 1 if a seed failed."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "coveragerc")
        config.write_text(_CONFIG.format(folder=folder, sources=",".join(ROOMS.values())))
        codes = _run(config, seconds, jobs, first_seed)
        show(rooms_of(_report(config, folder)), console)
    return 1 if any(codes) else 0


def _run(config: Path, seconds: float, jobs: int, first_seed: int) -> list[int]:
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    measured = [sys.executable, "-m", "coverage", "run", f"--rcfile={config}"]
    running = []
    for job in range(jobs):
        seed = first_seed + job * _SEEDS_OF_A_JOB
        seeds = ["-m", "tests.simulation", "--seed", str(seed), "--seconds", str(seconds)]
        running.append(subprocess.Popen([*measured, *seeds], env=environment))
    return [each.wait() for each in running]


def _report(config: Path, folder: str) -> dict[str, Any]:
    data = coverage.Coverage(config_file=str(config))
    data.combine()
    target = Path(folder, "report.json")
    data.json_report(outfile=str(target))
    report: dict[str, Any] = json.loads(target.read_text())
    return report


def rooms_of(report: Mapping[str, Any]) -> dict[str, Room]:
    """Sum up the JSON report of coverage.py by room."""
    rooms = {name: Room() for name in (*ROOMS, WITHIN)}
    for file, found in report["files"].items():
        name = next(name for name, path in ROOMS.items() if file.startswith(path))
        summary = found["summary"]
        is_within = name == "client" and not file.startswith(OUTSIDE)
        for room in [rooms[name], *([rooms[WITHIN]] if is_within else [])]:
            room.covered += summary["covered_lines"] + summary["covered_branches"]
            room.total += summary["num_statements"] + summary["num_branches"]
        rooms[name].missed += _missed(file, found["functions"])
    return rooms


def _missed(file: str, functions: Mapping[str, Any]) -> Iterator[Missed]:
    for name, found in functions.items():
        lines = [*_lines(found)]
        if lines:
            yield Missed(file, name or "(module)", not found["executed_lines"], tuple(lines))


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    missing = found["missing_lines"]
    yield from _spans(missing)
    for start, end in found["missing_branches"]:
        if start not in missing and end not in missing:
            yield f"{start}->{'exit' if end < 0 else end}"


def _spans(numbers: Iterable[int]) -> Iterator[str]:
    """Neighbours as one text: 3, 4 and 7 are "3-4" and "7"."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    for first, last in spans:
        yield str(first) if first == last else f"{first}-{last}"


def show(rooms: Mapping[str, Room], console: Console) -> None:
    """Print the functions that were not reached, or not in full, and the percentage per room."""
    functions = Table("package", "file", "function", "not reached")
    for name, room in rooms.items():
        for each in room.missed:
            lines = "all" if each.is_whole else ", ".join(each.lines)
            functions.add_row(name, Path(each.file).name, each.function, lines)
    console.print(functions)
    totals = Table("package", "reached", "lines and branches", "functions never reached")
    for name, room in rooms.items():
        never = "" if name == WITHIN else str(sum(each.is_whole for each in room.missed))
        totals.add_row(name, f"{room.percent:.1f} %", f"{room.total:,}", never)
    counted = [rooms[name] for name in ROOMS]
    every = Room(sum(room.covered for room in counted), sum(room.total for room in counted))
    totals.add_row("all", f"{every.percent:.1f} %", f"{every.total:,}", "")
    console.print(totals)
