"""The docs are true: fresh tables; paths, options and functions that exist; the right file map."""

from __future__ import annotations

import ast
import functools
import html
import importlib.util
import re
from pathlib import Path

import pytest

from benchmarks.figures import FIGURES
from benchmarks.tables import RESULTS, results_of
from docs import make_site

ROOT = Path(__file__).parents[1]
PACKAGES = (
    ROOT / "kafka_spark_source",
    ROOT / "protocol" / "kafka_formats",
    ROOT / "protocol" / "kafka_protocol",
)
PAGES = sorted((ROOT / "docs").rglob("*.md"))
PROSE = [*ROOT.glob("*.md"), *PAGES]
# Pages of the site that are not in docs/: docs/make_site.py copies them.
OTHER_PAGES = {*make_site.OTHER_PAGES.values(), *make_site.NOTEBOOKS.values()}


def test_made_tables_are_fresh() -> None:
    spec = importlib.util.spec_from_file_location("make_tables", ROOT / "docs" / "make_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for path, make in module.PAGES.items():
        assert path.read_text() == make(), f"{path.name} is stale: run `make docs`"


@pytest.mark.parametrize("name", FIGURES)
def test_drawn_figures_are_fresh(name: str) -> None:
    results, figure = FIGURES[name]
    drawn = html.unescape((RESULTS / f"{name}.svg").read_text())
    for line in figure(results_of(results)).statement.split("\n"):
        assert f">{line}<" in drawn, f"{name}.svg is stale: run `make docs`"


@pytest.mark.parametrize("page", PROSE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    links = re.findall(r"(?:\]\(|src=\")(?!https?://|#)([^)#\"]+)", text)
    assert [link for link in links if not (page.parent / link).exists()] == []
    # A path in backquotes, from the root or from one of the packages.
    paths = re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|md|toml|yml))[`:]", text)
    roots = (ROOT, *PACKAGES)
    assert [path for path in paths if not any((root / path).exists() for root in roots)] == []


@pytest.mark.parametrize(
    "page",
    [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_the_text_of_a_link_is_not_the_name_of_a_file(page: Path) -> None:
    texts = re.findall(r"(?<!!)\[([^\]\[]+)\]\((?!\w+:)[^)]+\)", page.read_text())
    assert [
        text
        for text in texts
        if re.fullmatch(r"`?[\w./-]+\.(?:md|py|ipynb|toml|yml|json|txt)`?", text)
    ] == []


@pytest.mark.parametrize("page", PROSE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_anchors_are_headings(page: Path) -> None:
    links = re.findall(r"\]\((?!\w+:)([^()#\s]*)#([^()\s]+)\)", page.read_text())
    targets = {(link, anchor): page.parent / link if link else page for link, anchor in links}
    missing = [key for key, target in targets.items() if key[1] not in _anchors(target)]
    assert missing == []


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site's builder make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {*re.findall(r'<a id="([^"]+)">', text)} | {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings
    }


def test_cells_of_the_readme_are_short() -> None:
    rows = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("|")]
    cells = [cell.strip() for row in rows for cell in row.split("|")]
    assert rows, "the README has a table of speed"
    assert [cell for cell in cells if len(cell.split()) > 25] == []


def test_the_file_map_is_the_tree() -> None:
    file_map = (ROOT / "docs" / "design-files.md").read_text()
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
    text = "".join(page.read_text() for page in (ROOT / "docs").glob("design*.md"))
    steps = re.findall(r"`([\w/]+\.py): ([\w.]+)`", text)
    assert len(steps) > 20
    assert [f"{path}: {name}" for path, name in steps if not _is_defined(path, name)] == []


def _is_defined(path: str, name: str) -> bool:
    """Whether a file of one of the packages defines `function` or `Class.method`."""
    source = next(root / path for root in PACKAGES if (root / path).exists()).read_text()
    return all(re.search(rf"^ *(?:def|class) {part}\b", source, re.M) for part in name.split("."))


def test_each_page_is_once_in_the_navigation() -> None:
    listed = re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in PAGES}
    assert sorted(listed) == sorted(pages | OTHER_PAGES)


PLATFORMS = [page for page in PAGES if page.parent.name == "platforms"]


@pytest.mark.parametrize("page", PLATFORMS, ids=lambda path: path.name)
def test_options_for_platforms_exist(page: Path) -> None:
    options = (ROOT / "docs" / "options.md").read_text()
    named = re.findall(r"[`\"]((?:kafka|schema\.registry)\.[a-z.]+)[`\"=]", page.read_text())
    assert [name for name in named if f"`{name}`" not in options] == []


def test_error_conditions_are_those_of_the_code() -> None:
    listed = {
        name.removeprefix("KAFKA_DATA_LOSS.")
        for name in re.findall(
            r"^\| `([A-Z_.]+)` \|", (ROOT / "docs" / "errors.md").read_text(), re.M
        )
    }
    # A condition is either in brackets at the beginning of a text, or a string of its own.
    loss_rooms = ("planning/", "client/consumer/errors.py")
    raised = {
        name
        for path, text in _texts_in_the_code()
        for name in (
            *re.findall(r"\[(KAFKA_[A-Z_]+)\]", text),
            *re.findall(r"^[A-Z]+(?:_[A-Z]+)+$", text if _is_in(path, loss_rooms) else ""),
        )
    }
    assert len(raised) > 10
    assert sorted(raised) == sorted(listed)


def test_troubleshooting_quotes_texts_of_the_code() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    symptoms = re.findall(r"^\| ([^|]+) \|", page, re.M)
    quotes = [quote for symptom in symptoms for quote in re.findall(r"`([^`]+)`", symptom)]
    # What is between "..." and the letter for a number; the rest are names, checked elsewhere.
    parts = [
        part.strip(" ,")
        for quote in quotes
        for part in re.split(r"\.\.\.| N ", quote)
        if part.count(" ") > 1 and part[0].islower() | part[0].isupper()
    ]
    texts = [text for _, text in _texts_in_the_code()]
    assert len(parts) > 8
    assert [part for part in parts if not any(part in text for text in texts)] == []


def _is_in(path: Path, rooms: tuple[str, ...]) -> bool:
    return any(room in path.as_posix() for room in rooms)


@functools.cache
def _texts_in_the_code() -> list[tuple[Path, str]]:
    """The strings of all modules; those with fields as their pieces."""
    return [
        (path, node.value)
        for package in PACKAGES
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
