"""What the builder of the site does with each page: the names of columns, the weight in the search.

`hooks` in mkdocs.yml names this file. No import of the builder, so that tests need none.
"""

from __future__ import annotations

import html
import re
from typing import Any, Final

# More is found earlier. What people look up comes first, how the project is made comes last.
_BOOSTS: Final = {
    **dict.fromkeys(("options.md", "cli.md", "errors.md", "option-names.md", "api.md"), 3.0),
    **dict.fromkeys(("get-started.md", "troubleshooting.md"), 2.0),
    **dict.fromkeys(("testing.md", "benchmarks.md", "upstream/sail.md"), 0.5),
    **dict.fromkeys(("faults.md", "reliability.md", "apis.md"), 0.3),
    **dict.fromkeys(("design.md", "design-formats.md", "design-kafka.md", "design-spark.md"), 0.3),
    "design-files.md": 0.3,
    **dict.fromkeys(("changelog.md", "contributing.md"), 0.1),
}
_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_HEAD = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
_ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
_CELL = re.compile(r"<td(?=[ >])")
_TAG = re.compile(r"<[^>]+>")


def boost_of(page: str) -> float:
    """How much a page weighs in the search."""
    return 0.1 if page.startswith("files/") else _BOOSTS.get(page, 1.0)


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Set the page's weight in the search."""
    page.meta.setdefault("search", {"boost": boost_of(page.file.src_uri)})
    return markdown


def on_page_content(content: str, **_: object) -> str:
    """Give each cell of a table the name of its column, for screens without room for columns."""
    return _TABLE.sub(lambda table: _with_labels(table[0]), content)


def _with_labels(table: str) -> str:
    names = [html.unescape(_TAG.sub("", each)).strip() for each in _HEAD.findall(table)]
    return _ROW.sub(lambda found: _labelled(found[0], names), table)


def _labelled(row: str, names: list[str]) -> str:
    labels = iter(names)
    return _CELL.sub(lambda _: f'<td data-label="{html.escape(next(labels, ""))}"', row)
