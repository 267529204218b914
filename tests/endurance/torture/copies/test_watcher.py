from __future__ import annotations

import json
from pathlib import Path

from tests.endurance.torture.copies.watcher import _FileSink


def log(folder: Path, name: str, *batches: str) -> None:
    """A log of Spark's file sink that lists one file for each of the batches."""
    entries = []
    for batch in batches:
        file = folder / f"part of {batch}.json"
        row = {"topic": "t", "partition": 1, "offset": int(batch), "value": f"v{batch}"}
        file.write_text(json.dumps(row) + "\n")
        entries.append(json.dumps({"path": file.as_uri(), "action": "add"}))
    (folder / "_spark_metadata").mkdir(exist_ok=True)
    (folder / "_spark_metadata" / name).write_text("\n".join(["v1", *entries]))


def test_each_logged_row_comes_once(tmp_path: Path) -> None:
    sink = _FileSink(tmp_path)
    assert list(sink.new()) == []
    log(tmp_path, "0", "0")
    log(tmp_path, "1", "1")
    log(tmp_path, ".2.tmp", "2")
    assert list(sink.new()) == [(1, (0, "v0")), (1, (1, "v1"))]
    log(tmp_path, "2.compact", "0", "1", "2")
    assert list(sink.new()) == [(1, (2, "v2"))]
    assert list(sink.new()) == []
