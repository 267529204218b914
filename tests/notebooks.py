"""Runs the notebooks of `examples/notebooks`. As a command it also keeps their outputs.

python -m tests.notebooks
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.own_process import ENVIRONMENT, ROOT

FOLDER = ROOT / "examples" / "notebooks"
_LIMIT_SECONDS = 900


def executed(notebook: Path, **environment: str) -> nbformat.NotebookNode:
    """The notebook with the outputs of a run in its folder, where it must leave nothing.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell failed.
    """
    there_before = {*FOLDER.iterdir()}
    found = nbformat.read(notebook, as_version=4)
    for cell in found.cells:
        cell.metadata.pop("execution", None)  # when it ran
    client = NotebookClient(
        found,
        timeout=_LIMIT_SECONDS,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(FOLDER)}},
    )
    java = {"JAVA_TOOL_OPTIONS": ENVIRONMENT["JAVA_TOOL_OPTIONS"]}
    client.execute(env={**os.environ, **java, **environment})
    assert {*FOLDER.iterdir()} == there_before
    for cell in found.cells:
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if not _is_log(each)]
    return found


def text_of(notebook: Path, **environment: str) -> str:
    """All that the cells of a notebook print."""
    outputs = [
        output
        for cell in executed(notebook, **environment).cells
        for output in cell.get("outputs", [])
    ]
    return "".join(output.get("text", "") for output in outputs)


def _is_log(output: nbformat.NotebookNode) -> bool:
    return bool(output.output_type == "stream" and output.name == "stderr")


def main(names: list[str]) -> None:
    for notebook in [FOLDER / name for name in names] or sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(executed(notebook), notebook)


if __name__ == "__main__":
    main(sys.argv[1:])
