"""Copies the pages of the site to build/site-src, for the builder: `make site`.

Pages link to files outside docs/ as GitHub wants it: `../examples/demo.py`. The site has copies of
these files, and the links lead there. A link that leads nowhere is left as it is, and the builder
fails on it. Sequence diagrams are drawn. No page is changed otherwise.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from docs.notebook_pages import write_page
from docs.sequence_diagrams import draw

DOCS = Path(__file__).parent
ROOT = DOCS.parent
STAGED = ROOT / "build" / "site-src"

# Pages of the site that are not in docs/, and the page for the README.
OTHER_PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/README.md": "examples.md",
}
NOTEBOOKS = {
    path.relative_to(ROOT).as_posix(): f"notebooks/{path.stem}.md"
    for path in sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
}
_PLACES = {**OTHER_PAGES, **NOTEBOOKS, "README.md": "index.md"}
# Browsers show these. They would save other files, which are copied as text.
_SHOWN = {".json", ".png", ".svg", ".txt"}
_LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^()#\s]+)(?=[)#])")

_ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
_DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def stage() -> None:
    """Fill build/site-src anew."""
    shutil.rmtree(STAGED, ignore_errors=True)
    shutil.copytree(DOCS, STAGED, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for page in DOCS.rglob("*.md"):
        _stage_page(page, page.relative_to(DOCS).as_posix())
    for name, place in OTHER_PAGES.items():
        _stage_page(ROOT / name, place)
    for name, place in NOTEBOOKS.items():
        write_page(ROOT / name, STAGED / place)


def _stage_page(page: Path, place: str) -> None:
    def rewritten(link: re.Match[str]) -> str:
        target = (page.parent / link[0]).resolve()
        if not target.exists() or not target.is_relative_to(ROOT):
            return link[0]
        return _from_page(place, _place_of(target))

    text = _LINK.sub(rewritten, page.read_text())
    # An anchor of an option also leads to itself, so that one can copy its address.
    text = _ANCHOR.sub(r'<a id="\1" class="anchor" href="#\1" title="Link to it"></a>', text)
    (STAGED / place).write_text(_DIAGRAM.sub(lambda diagram: draw(diagram[1]), text))


def _place_of(target: Path) -> str:
    """Where the site has a file of the repository; copies it there if it is not a page."""
    if target.is_relative_to(DOCS) and target.suffix != ".py":
        return target.relative_to(DOCS).as_posix()
    path = target.relative_to(ROOT).as_posix()
    if path in _PLACES:
        return _PLACES[path]
    if target.is_dir():
        return _listing(path, [_place_of(file) for file in sorted(target.iterdir())])
    place = f"files/{path}" if target.suffix in _SHOWN else f"files/{path}.txt"
    (STAGED / place).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(target, STAGED / place)
    return place


def _listing(path: str, places: Iterable[str]) -> str:
    """A page with links to the files of a folder."""
    names = [PurePosixPath(place).name for place in places]
    place = f"files/{path}/index.md"
    (STAGED / place).write_text(
        "".join([f"# {path}\n\n", *(f"- [{name}]({name})\n" for name in names)])
    )
    return place


def _from_page(place: str, target: str) -> str:
    """The relative link from one place in the site to another."""
    ups = "../" * (len(PurePosixPath(place).parts) - 1)
    return ups + target


if __name__ == "__main__":
    stage()
