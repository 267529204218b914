"""What docs/design.md claims of whole packages, where import-linter cannot see it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PROTOCOL: Final = ROOT / "protocol"
SOURCE: Final = ROOT / "kafka_spark_source"
CLOCK: Final = "protocol/kafka_protocol/client/clock.py"
# `date.today` and its like need no import of `time`.
_NOW: Final = frozenset({"now", "utcnow", "today"})


def modules(*folders: Path) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


def imported(tree: ast.Module) -> set[str]:
    """The top packages of what a module imports, early or late."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    return names


def reads_a_clock(tree: ast.Module) -> bool:
    return bool(imported(tree) & {"time", "random"}) or any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _NOW
        for node in ast.walk(tree)
    )


def test_only_clock_reads_a_clock_or_draws_random_numbers() -> None:
    """Spark's side has `testing`, too, which starts brokers and knows no client."""
    readers = {path for path, tree in modules(PROTOCOL, SOURCE) if reads_a_clock(tree)}
    assert {path for path in readers if "/testing/" not in path} == {CLOCK}


def test_numpy_and_arrow_are_in_the_columnar_rooms_only() -> None:
    rooms = ("kafka_protocol/columnar/", "kafka_protocol/arrow_io/")
    users = {
        path
        for path, tree in modules(PROTOCOL / "kafka_protocol")
        if imported(tree) & {"numpy", "pyarrow"} and not any(room in path for room in rooms)
    }
    # For raw snappy, and for large frames, when the first one arrives.
    assert users == {
        "protocol/kafka_protocol/wire/framing.py",
        "protocol/kafka_protocol/records/compression.py",
    }
