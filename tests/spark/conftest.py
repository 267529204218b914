"""Fixtures of several test modules: a fake cluster, and queries on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_protocol.client.config.client import ClientConfig
from kafka_spark_source.options.read import parse_stream_options
from kafka_spark_source.streaming.micro_batches import MicroBatches
from tests.fakes.cluster import FakeCluster
from tests.fakes.micro_batches import T0, T1, Query, append
from tests.times import shorten


def set_default_max_age(monkeypatch: pytest.MonkeyPatch, ms: int) -> None:
    """Change the default of `kafka.metadata.max.age.ms`."""
    defaults = ClientConfig.__init__.__kwdefaults__ or {}
    monkeypatch.setitem(defaults, "metadata_max_age_ms", ms)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """t-0 with five records, t-1 with two."""
    with FakeCluster(nodes=2) as cluster:
        cluster.add_topic("t", partitions=2)
        append(cluster, T0, 5)
        append(cluster, T1, 2)
        yield cluster


@pytest.fixture(autouse=True)
def _changes_of_topics_are_believed_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleted and re-created topics are believed after 50 ms; normally after a second."""
    shorten(monkeypatch, topic_changed_ms=50)


@pytest.fixture
def partitions_are_never_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trigger requests the partitions again; normally only after a second."""
    set_default_max_age(monkeypatch, 0)


@pytest.fixture
def short_topic_grace(partitions_are_never_fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown topic counts as missing after 50 ms, not after three seconds."""
    shorten(monkeypatch, topic_grace_ms=50)


@pytest.fixture
def partitions_stay_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No trigger requests the partitions again, however slow the machine is."""
    set_default_max_age(monkeypatch, 60_000)


@pytest.fixture
def query(cluster: FakeCluster, partitions_are_never_fresh: None) -> Iterator[Query]:
    """Starts or restarts queries that request the partitions at each trigger."""
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
def short_metadata_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """A named topic counts as missing after 20 ms."""
    shorten(monkeypatch, topic_grace_ms=20)
