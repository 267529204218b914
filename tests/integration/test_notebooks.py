"""The notebooks run, each with a broker of its own; that about moving is in `tests.conformance`."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import nbformat
import pytest

from tests.notebooks import FOLDER, text_of
from tests.own_process import ROOT

# They are written for the newest release.
pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.newest,
    pytest.mark.slow,
    pytest.mark.timeout(1_200),
]

_MAX_BYTES = 150_000
_OURS = {"kafka_formats", "kafka_protocol", "kafka_spark_source"}


def test_ten_minutes() -> None:
    text = text_of(FOLDER / "ten_minutes.ipynb")
    assert "20000 records" in text


def test_exactly_once() -> None:
    text = text_of(FOLDER / "exactly_once.ipynb")
    assert "4 kills, 6,000 records in the copy" in text
    assert "lost: 0  twice: 0" in text


def test_without_spark() -> None:
    text = text_of(FOLDER / "without_spark.ipynb")
    assert "3750 of 3750 offsets" in text
    assert "6150 records copied" in text


def test_topic_to_duckdb() -> None:
    text = text_of(FOLDER / "topic_to_duckdb.ipynb")
    assert "lost: 0  twice: 0" in text


@pytest.mark.parametrize("notebook", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_is_small_and_has_been_run(notebook: Path) -> None:
    text = notebook.read_text()
    assert len(text) < _MAX_BYTES
    assert "image/png" in text


@pytest.mark.parametrize("notebook", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.name)
def test_the_first_cell_names_what_a_notebook_needs(notebook: Path) -> None:
    first, *cells = nbformat.read(notebook, as_version=4).cells
    line = re.search(r'Java 17.* in a clone, `pip install -e "\.\[(.*)\]"', first.source, re.DOTALL)
    assert line is not None
    installed = {"pyarrow", *_packages_of(*line[1].split(","))}
    assert _imports(cells) - installed - _OURS - sys.stdlib_module_names == set()


def _packages_of(*extras: str) -> set[str]:
    """The names of the packages of some extras in pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text()
    lists = [re.search(rf"^{extra} = (\[.*?\])$", text, re.M | re.S) for extra in extras]
    requirements = [each for found in lists if found for each in ast.literal_eval(found[1])]
    return {re.split(r"[<>=]", each)[0] for each in requirements}


def _imports(cells: list[nbformat.NotebookNode]) -> set[str]:
    """The packages that the code of cells imports."""
    code = "\n".join(each.source for each in cells if each.cell_type == "code")
    nodes = [*ast.walk(ast.parse(re.sub(r"^%%.*$", "", code, flags=re.MULTILINE)))]
    names = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}
