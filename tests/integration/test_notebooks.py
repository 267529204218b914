"""The notebooks run, each with a broker of its own; that about moving is in `tests.conformance`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notebooks import FOLDER, text_of

# They are written for the newest release.
pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.newest,
    pytest.mark.slow,
    pytest.mark.timeout(1_200),
]

_MAX_BYTES = 150_000


def test_ten_minutes(tmp_path: Path) -> None:
    text = text_of(FOLDER / "ten_minutes.ipynb", tmp_path)
    assert "20000 records" in text


def test_exactly_once(tmp_path: Path) -> None:
    text = text_of(FOLDER / "exactly_once.ipynb", tmp_path)
    assert "4 kills, 6,000 records in the copy" in text
    assert "lost: 0  twice: 0" in text


def test_without_spark(tmp_path: Path) -> None:
    text = text_of(FOLDER / "without_spark.ipynb", tmp_path)
    assert "3750 of 3750 offsets" in text
    assert "6150 records copied" in text


def test_topic_to_duckdb(tmp_path: Path) -> None:
    text = text_of(FOLDER / "topic_to_duckdb.ipynb", tmp_path)
    assert "lost: 0  twice: 0" in text


@pytest.mark.parametrize("notebook", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_is_small_and_has_been_run(notebook: Path) -> None:
    text = notebook.read_text()
    assert len(text) < _MAX_BYTES
    assert "image/png" in text
