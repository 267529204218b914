"""What the docs say is so: made tables are fresh, and every path that they name is there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
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
    roots = (ROOT, ROOT / "kafka_spark_source", ROOT / "protocol" / "kafka_protocol")
    assert [path for path in paths if not any((root / path).exists() for root in roots)] == []
