"""Runs the notebooks of `examples/notebooks`. As a command it also keeps their outputs.

python -m tests.notebooks
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.own_process import ENVIRONMENT, ROOT

FOLDER = ROOT / "examples" / "notebooks"
_LIMIT_SECONDS = 900


def executed(notebook: Path, folder: Path, **environment: str) -> nbformat.NotebookNode:
    """The notebook with the outputs of a run in a folder.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell failed.
    """
    found = nbformat.read(notebook, as_version=4)
    for cell in found.cells:
        cell.metadata.pop("execution", None)  # when it ran
    client = NotebookClient(
        found,
        timeout=_LIMIT_SECONDS,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    java = {"JAVA_TOOL_OPTIONS": ENVIRONMENT["JAVA_TOOL_OPTIONS"]}
    client.execute(env={**os.environ, **java, **environment})
    for cell in found.cells:
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if not _is_log(each)]
    return found


def text_of(notebook: Path, folder: Path, **environment: str) -> str:
    """All that the cells of a notebook print, run in a folder."""
    outputs = [
        output
        for cell in executed(notebook, folder, **environment).cells
        for output in cell.get("outputs", [])
    ]
    return "".join(output.get("text", "") for output in outputs)


def _is_log(output: nbformat.NotebookNode) -> bool:
    return bool(output.output_type == "stream" and output.name == "stderr")


def main(names: list[str]) -> None:
    for notebook in [FOLDER / name for name in names] or sorted(FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(notebook, Path(folder)), notebook)


if __name__ == "__main__":
    main(sys.argv[1:])
