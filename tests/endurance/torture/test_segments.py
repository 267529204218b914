from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_spark_source.testing import KafkaCluster
from tests.endurance.torture.segments import (
    Segment,
    is_compacted,
    is_retained,
    last_first_offset,
    replicas,
    segments_of,
)


@pytest.fixture
def kafka(tmp_path: Path) -> KafkaCluster:
    """The files of two brokers."""
    for node_id in (1, 2):
        (tmp_path / f"{node_id}").mkdir()
    brokers = [SimpleNamespace(node_id=node_id) for node_id in (1, 2)]
    fake: Any = SimpleNamespace(brokers=brokers, log_dir=lambda node_id: tmp_path / f"{node_id}")
    return cast("KafkaCluster", fake)


def add_segments(kafka: KafkaCluster, node_id: int, name: str, sizes: dict[int, int]) -> None:
    folder = kafka.log_dir(node_id) / name
    folder.mkdir()
    for base_offset, size in sizes.items():
        (folder / f"{base_offset:020}.log").write_bytes(b"x" * size)
    (folder / f"{0:020}.log.deleted").write_bytes(b"gone")
    (folder / f"{0:020}.index").write_bytes(b"")


def set_cleaned(kafka: KafkaCluster, node_id: int, *entries: str) -> None:
    text = "\n".join(["0", str(len(entries)), *entries, ""])
    (kafka.log_dir(node_id) / "cleaner-offset-checkpoint").write_text(text)


def test_segments_by_offset(kafka: KafkaCluster) -> None:
    add_segments(kafka, 1, "t-0", {70: 3, 0: 9, 110: 0})
    folder = kafka.log_dir(1) / "t-0"
    assert segments_of(folder) == [Segment(0, 9), Segment(70, 3), Segment(110, 0)]
    assert segments_of(folder / "none") == []


def test_all_replicas_of_all_partitions(kafka: KafkaCluster) -> None:
    add_segments(kafka, 1, "t-0", {0: 1})
    add_segments(kafka, 2, "t-0", {5: 1})
    add_segments(kafka, 2, "t-1", {7: 1})
    add_segments(kafka, 2, "t-1.0123-delete", {9: 1})
    found = [segments[0].base_offset for segments in replicas(kafka, "t", 2)]
    assert found == [0, 5, 7]
    assert last_first_offset(kafka, "t", 0) == 5
    assert last_first_offset(kafka, "t", 3) == 0


@pytest.mark.parametrize(
    ("sizes", "limit", "expected"),
    [
        ({0: 10}, 0, True),
        ({0: 10, 5: 10}, 10, False),
        ({0: 10, 5: 10}, 11, True),
        ({0: 10, 5: 10}, 30, True),
        ({0: 10, 5: 1, 9: 1}, 5, True),
        ({0: 7, 5: 1, 9: 4}, 5, False),
    ],
)
def test_retention_deletes_whole_segments(
    sizes: dict[int, int], limit: int, expected: bool
) -> None:
    assert is_retained([Segment(*each) for each in sizes.items()], limit) is expected


def test_a_topic_is_compacted_up_to_its_active_segments(kafka: KafkaCluster) -> None:
    add_segments(kafka, 1, "t-0", {0: 1, 9: 1})
    add_segments(kafka, 2, "t-0", {0: 1, 6: 1})
    assert not is_compacted(kafka, "t", 1)
    set_cleaned(kafka, 1, "other 0 77", "t 0 9")
    assert not is_compacted(kafka, "t", 1)
    set_cleaned(kafka, 2, "t 0 5")
    assert not is_compacted(kafka, "t", 1)
    set_cleaned(kafka, 2, "t 0 6")
    assert is_compacted(kafka, "t", 1)


def test_one_segment_cannot_be_compacted(kafka: KafkaCluster) -> None:
    add_segments(kafka, 1, "t-0", {0: 1})
    assert is_compacted(kafka, "t", 1)
