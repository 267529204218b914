"""The tables of docs/design-files.md: each module with the first line of its docstring.

Headings, the text below them and the order of rows are written by hand; rows are not.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
_TABLE = re.compile(
    r"^### `(?P<folder>[^`]+/)`\n(?P<text>.*?)(?P<rows>(?:^\|[^\n]*\n)+)", re.M | re.S
)
_NAME = re.compile(r"^\| `([^`]+)` \|", re.M)
# One row for all of them.
_WHOLE = "messages/"


def with_file_map(page: str) -> str:
    """The page with fresh rows below each heading."""
    return _TABLE.sub(_with_rows, page)


def _with_rows(match: re.Match[str]) -> str:
    folder = ROOT / match["folder"]
    listed = _NAME.findall(match["rows"])
    there = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    if (folder / _WHOLE).is_dir():
        there.add(_WHOLE)
    names = [*filter(there.__contains__, listed), *sorted(there - {*listed})]
    rows = [f"| `{name}` | {_first_line(folder / name)} |\n" for name in names]
    head = "| file | job |\n| --- | --- |\n"
    return f"### `{match['folder']}`\n{match['text']}{head}{''.join(rows)}"


def _first_line(path: Path) -> str:
    module = path / "__init__.py" if path.is_dir() else path
    text = ast.get_docstring(ast.parse(module.read_text())) or ""
    return text.split("\n")[0].rstrip(".").replace("|", "\\|")
