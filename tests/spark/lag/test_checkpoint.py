"""The lag of a checkpoint on fake brokers."""

from __future__ import annotations

from contextlib import closing

import pytest

from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.lag.checkpoint import QueryLag, checkpoint_lag
from kafka_spark_source.lag.measured import MeasuredLag
from kafka_spark_source.tools.positions.checkpoints import Checkpoint, MicroBatch
from tests.fakes.cluster import FakeCluster
from tests.times import shorten

FIRST, SECOND, THIRD = (TopicPartition("t", number) for number in range(3))


@pytest.fixture(autouse=True)
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, topic_grace_ms=10)


def lag(cluster: FakeCluster, *batches: MicroBatch) -> QueryLag:
    with closing(cluster.client()) as client:
        checkpoint = Checkpoint("here", "id", batches, is_stateful=False)
        return checkpoint_lag(checkpoint, client, Deadline.after(30_000))


def batch(number: int, ends: dict[TopicPartition, int], *, is_committed: bool = True) -> MicroBatch:
    return MicroBatch(number, {"0": ends}, 1000, is_committed)


def test_records_and_age_behind() -> None:
    with FakeCluster(nodes=2) as cluster:
        cluster.add_topic("t", partitions=3)
        for each in (FIRST, SECOND, THIRD):
            cluster.append(each, b"a", b"b", b"c")
        found = lag(
            cluster,
            batch(3, {FIRST: 1, SECOND: 3}),
            batch(4, {FIRST: 2, SECOND: 3, THIRD: 1}, is_committed=False),
        )
    assert (found.micro_batch, found.is_unfinished, found.planned_at_ms) == (4, True, 1000)
    first, second, third = found.partitions
    assert (first.planned, first.committed, first.latest, first.records) == (2, 1, 3, 2)
    # Fake brokers write records of long ago.
    assert first.behind_ms is not None
    assert 0 < first.behind_ms < now_ms()
    assert (second.records, second.behind_ms) == (0, 0)
    assert (third.committed, third.records) == (None, 3)
    assert [each.lost for each in found.partitions] == [0, 0, 0]


def test_a_topic_that_is_gone() -> None:
    with FakeCluster() as cluster:
        found = lag(cluster, batch(0, {FIRST: 5}))
    (gone,) = found.partitions
    assert gone == MeasuredLag("0", "t", 0, 5, 5, None, None, None)
    assert (gone.records, gone.lost, gone.is_gone) == (None, None, True)
