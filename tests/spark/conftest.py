"""What several tests of Spark's side begin with: a scripted cluster, and queries on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_protocol.client.config import ClientConfig
from kafka_spark_source import stream_logs
from kafka_spark_source.micro_batches import MicroBatches
from kafka_spark_source.options import parse_stream_options
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.micro_batches import (
    T0,
    T1,
    Query,
    append,
)


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """t-0 with five records, t-1 with two."""
    with ScriptedCluster(nodes=2) as cluster:
        cluster.add_topic("t", partitions=2)
        append(cluster, T0, 5)
        append(cluster, T1, 2)
        yield cluster


@pytest.fixture
def query(cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Query]:
    """Begins queries, or begins them again, that look for partitions at each trigger."""
    monkeypatch.setattr(stream_logs, "_PARTITIONS_ARE_FRESH_MS", 0)
    begun = []

    def begin(**options: str) -> MicroBatches:
        given = {
            "kafka.bootstrap.servers": ",".join(map(str, cluster.bootstrap_servers)),
            "kafka.retry.backoff.ms": "1",
            "kafka.retry.backoff.max.ms": "10",
            "kafka.socket.connection.setup.timeout.ms": "1000",
            "kafka.topic.metadata.propagation.max.ms": "100",
            "kafka.group.id": "g",
            **({} if {"subscribe", "assign"} & options.keys() else {"subscribePattern": "."}),
        }
        parsed = parse_stream_options(given | options)
        begun.append(MicroBatches(parsed, ClientConfig.from_options(parsed.kafka)))
        return begun[-1]

    yield begin
    for batches in begun:
        batches.close()


@pytest.fixture
def soon_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """That a topic which is named does not exist."""
    monkeypatch.setattr("kafka_protocol.client.cluster.TOPIC_GRACE_MS", 20)
