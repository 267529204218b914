"""The copies of the pages lead to files of the site, and to none outside of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs import make_site


@pytest.fixture
def staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(make_site, "STAGED", tmp_path / "site")
    make_site.stage()
    return tmp_path / "site"


def test_each_link_leads_to_a_file_of_the_site(staged: Path) -> None:
    pages = sorted(staged.rglob("*.md"))
    links = [
        (page.relative_to(staged).as_posix(), link)
        for page in pages
        for link in re.findall(r"\]\((?!\w+:|#)([^()#\s]+)[)#]", page.read_text())
    ]
    assert len(pages) > 30
    assert len(links) > 200
    targets = {(page, link): (staged / page).parent / link for page, link in links}
    assert [key for key, target in targets.items() if not target.exists()] == []
    outside = [key for key, path in targets.items() if not path.resolve().is_relative_to(staged)]
    assert outside == []


def test_sources_are_copied_as_text_and_pages_as_pages(staged: Path) -> None:
    assert (staged / "files/examples/streaming_orders.py.txt").is_file()
    assert (staged / "files/benchmarks/results/index.md").is_file()
    assert "](changelog.md)" in (staged / "reliability.md").read_text()
    assert "](index.md)" in (staged / "arrow.md").read_text()
    assert list(staged.glob("*.py")) == []
