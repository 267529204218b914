"""The mark of a commit; `tests/change_data` reads it from tables."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables.commits import BATCH, QUERY, Marker


def planned(count: int) -> list[PlannedRange]:
    return [
        PlannedRange(OffsetRange(TopicPartition("t", number), 1, 9), uuid.UUID(int=7))
        for number in range(count)
    ]


def test_a_mark_is_read_back() -> None:
    marker = Marker.of("q", 3, planned(2))
    assert Marker.read(marker.properties()) == Marker.read(json.loads(marker.json())) == marker
    assert marker.planned() == planned(2)


def test_very_many_ranges_are_compared_by_a_digest() -> None:
    marker = Marker.of("q", 3, planned(2_000))
    assert len(marker.json()) < 300
    assert marker == Marker.of("q", 3, planned(2_000)) != Marker.of("q", 3, planned(1_999))
    assert marker.planned() is None


@pytest.mark.parametrize("given", [{}, {QUERY: "q"}, {QUERY: "q", BATCH: "x"}])
def test_metadata_of_others_is_no_mark(given: dict[str, Any]) -> None:
    assert Marker.read(given) is None
