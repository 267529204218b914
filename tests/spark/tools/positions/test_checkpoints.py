"""Checkpoints as files: both versions of the log, what is unfinished, and what is no checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.tools.positions.checkpoint_folder import CheckpointError
from kafka_spark_source.tools.positions.checkpoints import (
    Moved,
    micro_batch_of,
    moved_between,
    read_checkpoint,
)

FIRST = TopicPartition("orders", 0)
SECOND = TopicPartition("orders", 1)


def write_batch(
    folder: Path,
    number: int,
    *sources: str,
    version: str = "v1",
    is_committed: bool = True,
    planned_at_ms: int = 1000,
) -> None:
    """A micro-batch as Spark logs it, `number` ms after a time."""
    planned_ms = planned_at_ms + number
    metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": planned_ms, "conf": {}})
    for name, lines in (("offsets", [version, metadata, *sources]), ("commits", ["v1", "{}"])):
        if name == "offsets" or is_committed:
            (folder / name).mkdir(exist_ok=True)
            (folder / name / str(number)).write_text("\n".join(lines))
            (folder / name / f".{number}.crc").write_bytes(b"crc")


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    (tmp_path / "metadata").write_text('{"id":"a-b-c"}')
    write_batch(tmp_path, 9, '{"orders":{"0":5}}', '{"rows": 7}')
    write_batch(tmp_path, 10, '{"orders":{"0":8,"1":2}}', "-", is_committed=False)
    return tmp_path


def test_micro_batches(checkpoint: Path) -> None:
    found = read_checkpoint(str(checkpoint))
    assert (found.query_id, found.is_stateful) == ("a-b-c", False)
    before, after = found.micro_batches
    assert (before.number, before.planned_at_ms, before.is_committed) == (9, 1009, True)
    assert before.ends == {"0": {FIRST: 5}}
    assert (after.number, after.is_committed) == (10, False)
    assert found.last_committed == before == micro_batch_of(found, None)
    assert moved_between(before, after) == [
        Moved("0", "orders", 0, 5, 8),
        Moved("0", "orders", 1, None, 2),
    ]
    assert [each.records for each in moved_between(before, after)] == [3, None]


def test_a_uri_and_state(checkpoint: Path) -> None:
    (checkpoint / "state").mkdir()
    assert read_checkpoint(checkpoint.as_uri()).is_stateful


def test_named_sources(tmp_path: Path) -> None:
    write_batch(tmp_path, 0, 'b:{"orders":{"1":3}}', 'a:{"orders":{"0":1}}', version="v2")
    (batch,) = read_checkpoint(str(tmp_path)).micro_batches
    assert batch.ends == {"a": {FIRST: 1}, "b": {SECOND: 3}}


def test_no_micro_batch_has_ended(tmp_path: Path) -> None:
    write_batch(tmp_path, 0, '{"orders":{"0":5}}', is_committed=False)
    found = read_checkpoint(str(tmp_path))
    with pytest.raises(CheckpointError, match="no micro-batch that has ended"):
        micro_batch_of(found, None)
    with pytest.raises(CheckpointError, match="no micro-batch 7: Spark keeps 0 to 0"):
        micro_batch_of(found, 7)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("v3\n{}\n{}", "version 'v3'"),
        ("", "version ''"),
        ("v1\n[]\n-", "is damaged"),
        ('v1\n{"a\n-', "is damaged"),
        ("v2\n{}\nno name", "a source has no name"),
        ("v1\n{}\n-", "reads nothing of Kafka"),
        ('v1\n{}\n{"rows": 7}\n[' + "[" * 100_000, "reads nothing of Kafka"),
        ("v1", "reads nothing of Kafka"),
    ],
)
def test_files_that_are_no_log_of_kafka(tmp_path: Path, lines: str, message: str) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text(lines)
    with pytest.raises(CheckpointError, match=message):
        read_checkpoint(str(tmp_path))


def test_folders_that_are_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is not a checkpoint of a streaming query"):
        read_checkpoint(str(tmp_path))
    (tmp_path / "metadata").write_text("{}")
    with pytest.raises(CheckpointError, match="has not read anything"):
        read_checkpoint(str(tmp_path))
    with pytest.raises(CheckpointError, match="cannot be read"):
        read_checkpoint("nothing://here/orders")
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_bytes(b"v1\n\xff")
    with pytest.raises(CheckpointError, match="is damaged"):
        read_checkpoint(str(tmp_path))


def test_a_file_that_is_too_large(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its beginning is not taken for the whole."""
    monkeypatch.setattr("kafka_spark_source.tools.positions.checkpoint_folder._MAX_FILE_BYTES", 30)
    with pytest.raises(CheckpointError, match="damaged"):
        read_checkpoint(str(checkpoint))
