"""What several tests of Spark's side begin with: a scripted cluster, and queries on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_protocol.client.cluster import cluster as cluster_module
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer import list_offsets as offsets
from kafka_spark_source.options.read import parse_stream_options
from kafka_spark_source.streaming import logs as stream_logs
from kafka_spark_source.streaming.micro_batches import MicroBatches
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
def each_trigger_looks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What brokers say of partitions is fresh for a second; here for no time at all."""
    monkeypatch.setattr(stream_logs, "_PARTITIONS_ARE_FRESH_MS", 0)


@pytest.fixture
def missing_topics_are_soon_believed(
    each_trigger_looks_anew: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A topic that nobody knows counts as missing after a moment, not after three seconds."""
    for module in (cluster_module, offsets):
        monkeypatch.setattr(module, "TOPIC_GRACE_MS", 50)


@pytest.fixture
def no_trigger_looks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """All triggers of a test are within that second, however slow the machine is."""
    monkeypatch.setattr(stream_logs, "_PARTITIONS_ARE_FRESH_MS", 60_000)


@pytest.fixture
def query(cluster: ScriptedCluster, each_trigger_looks_anew: None) -> Iterator[Query]:
    """Begins queries, or begins them again, that look for partitions at each trigger."""
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
    monkeypatch.setattr("kafka_protocol.client.cluster.cluster.TOPIC_GRACE_MS", 20)
