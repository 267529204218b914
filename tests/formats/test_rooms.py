"""The page about the design counts rooms, floors and arrows as they are."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "protocol" / "kafka_formats"


def room_of(module: str) -> str:
    return module.split(".")[1]


def imported_rooms(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    names = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {room_of(name) for name in names if name and name.startswith(f"{PACKAGE.name}.")}


def arrows() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts != ("__init__",):
            found.setdefault(parts[0], set()).update(imported_rooms(path) - {parts[0]})
    return found


def floor_of(room: str, imported: dict[str, set[str]]) -> int:
    return 1 + max((floor_of(each, imported) for each in imported[room]), default=0)


def test_the_page_counts_rooms_floors_and_arrows() -> None:
    imported = arrows()
    floors = max(floor_of(room, imported) for room in imported)
    counted = (
        f"{len(imported)} rooms on {floors} floors, with {sum(map(len, imported.values()))} arrows"
    )
    assert counted in (ROOT / "docs" / "design.md").read_text("utf-8")
