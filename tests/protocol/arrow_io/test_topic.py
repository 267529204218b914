"""Ranges that `read_topic` plans and refuses, on scripted brokers.

tests/integration/test_topic reads from real ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kafka_protocol.arrow_io.topic import offsets_for_times, read_topic
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes.cluster import ScriptedCluster

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FIRST = TopicPartition("t", 0)
VALUES = [b"a", b"b", b"c"]


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    with ScriptedCluster() as cluster:
        cluster.add_topic("t")
        cluster.append(FIRST, *VALUES)
        yield cluster


@pytest.fixture
def options(cluster: ScriptedCluster) -> dict[str, str]:
    return {"bootstrap.servers": ",".join(map(str, cluster.bootstrap_servers))}


def values_of(options: dict[str, str], **given: Any) -> list[bytes]:
    return read_topic("t", options, columns=["value"], **given).read_all()["value"].to_pylist()


@pytest.mark.parametrize("ms", [1, 2, 3, 4, 5, 6, 7, 10**12])
def test_all_records_are_after_a_time_before_1970(options: dict[str, str], ms: int) -> None:
    """Though -1 is the end of the log for brokers, and -3 its largest timestamp."""
    before = EPOCH - timedelta(milliseconds=ms)
    assert values_of(options, start=before) == VALUES
    assert values_of(options, end=before) == []
    assert offsets_for_times("t", options, before) == {0: 0}
