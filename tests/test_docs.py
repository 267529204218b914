"""The docs are true: tables are fresh, paths and functions exist, the file map is the tree."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    ROOT / "kafka_spark_source",
    ROOT / "protocol" / "kafka_formats",
    ROOT / "protocol" / "kafka_protocol",
)
PROSE = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


def test_made_tables_are_fresh() -> None:
    spec = importlib.util.spec_from_file_location("make_tables", ROOT / "docs" / "make_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for path, make in module.PAGES.items():
        assert path.read_text() == make(), f"{path.name} is stale: run `make docs`"


@pytest.mark.parametrize("page", PROSE, ids=lambda path: path.name)
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", text)
    assert [link for link in links if not (page.parent / link).exists()] == []
    # A path in backquotes, from the root or from one of the packages.
    paths = re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|md|toml|yml))[`:]", text)
    roots = (ROOT, *PACKAGES)
    assert [path for path in paths if not any((root / path).exists() for root in roots)] == []


def test_cells_of_the_readme_are_short() -> None:
    rows = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("|")]
    cells = [cell.strip() for row in rows for cell in row.split("|")]
    assert rows, "the README has a table of speed"
    assert [cell for cell in cells if len(cell.split()) > 25] == []


def test_the_file_map_is_the_tree() -> None:
    text = (ROOT / "docs" / "design.md").read_text()
    file_map = text.split("## File map\n")[1].split("\n## ")[0]
    listed = [
        folder + name
        for folder, table in re.findall(
            r"^### `([^`]+/)`\n(.*?)(?=^### |\Z)", file_map, re.M | re.S
        )
        for name in re.findall(r"^\| `([^`]+)` \|", table, re.M)
    ]
    modules = [
        path.relative_to(ROOT).as_posix()
        for package in ("kafka_spark_source", "protocol/kafka_formats", "protocol/kafka_protocol")
        for path in (ROOT / package).rglob("*.py")
        if path.name != "__init__.py" and path.parent.name != "messages"
    ]
    assert sorted(listed) == sorted([*modules, "protocol/kafka_protocol/messages/"])


def test_steps_name_functions_of_their_files() -> None:
    text = (ROOT / "docs" / "design.md").read_text()
    steps = re.findall(r"`([\w/]+\.py): ([\w.]+)`", text)
    assert len(steps) > 20
    assert [f"{path}: {name}" for path, name in steps if not _is_defined(path, name)] == []


def _is_defined(path: str, name: str) -> bool:
    """Whether a file of one of the packages defines `function` or `Class.method`."""
    source = next(root / path for root in PACKAGES if (root / path).exists()).read_text()
    return all(re.search(rf"^ *(?:def|class) {part}\b", source, re.M) for part in name.split("."))
